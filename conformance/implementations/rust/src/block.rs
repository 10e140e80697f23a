//! Blocks of four paired measurements: their order and their ratio (E3).

use crate::fraction::Fraction;
use crate::natural::Natural;
use crate::sha256::sha256;
use crate::text::Text;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    Reference,
    Candidate,
}

pub const RUNS: usize = 4;

/// Which side runs when, drawn anew for each block, counted from 0.
pub fn order(seed: i128, key: &Text, candidate: &Text, block: i128) -> [Side; RUNS] {
    let (seed, block) = (seed.to_string(), block.to_string());
    let parts = [seed.as_bytes(), key.bytes(), candidate.bytes(), block.as_bytes()];
    let mut message = Vec::new();
    for part in parts {
        message.extend_from_slice(&(part.len() as u64).to_be_bytes());
        message.extend_from_slice(part);
    }
    let (outside, inside) = match sha256(&message)[31] & 1 {
        0 => (Side::Reference, Side::Candidate),
        _ => (Side::Candidate, Side::Reference),
    };
    [outside, inside, inside, outside]
}

/// Sum of the candidate's two times over the sum of the reference's two. Every time is above 0.
pub fn ratio(reference_ns: &[Natural; 2], candidate_ns: &[Natural; 2]) -> Fraction {
    let sum = |[first, second]: &[Natural; 2]| first + second;
    Fraction::new(sum(candidate_ns), sum(reference_ns)).expect("every time is above 0")
}
