//! What a decision is remembered under (K1), with the part of the policy that belongs to it (K4).

use crate::canonical::{NotCanonical, canonical};
use crate::evidence::Rule;
use crate::form::from_fraction;
use crate::fraction::Fraction;
use crate::json::{EXACT_LIMIT, Number, Value};
use crate::natural::Natural;
use crate::policy::Policy;
use crate::problem::{Candidate, Problem};
use crate::text::Text;

const SCHEMA: &str = "1";

pub struct Parts {
    pub text: String,
    /// Canonical text of the environment.
    pub lane: String,
}

/// The canonical text of the key. The depth of each part is counted on its own, so the object
/// around them is written by hand, its members in their order.
pub fn parts(
    problem: &Problem,
    candidates: &[Candidate],
    reference: usize,
    policy: &Policy,
) -> Result<Parts, NotCanonical> {
    let mut names: Vec<&Text> = candidates.iter().map(|candidate| &candidate.name).collect();
    names.sort();
    let lane = canonical(&problem.environment)?;
    let word = |text: &Text| canonical(&Value::Text(text.clone()));
    let members = [
        ("candidates", canonical(&Value::array(names, |name| Value::Text(name.clone())))?),
        ("environment", lane.clone()),
        ("lower_level", word(&problem.lower_level)?),
        ("model", canonical(&problem.model)?),
        ("operation", word(&problem.operation)?),
        ("options", canonical(&problem.options)?),
        ("policy", canonical(&policy_part(policy)?)?),
        ("reference", word(&candidates[reference].name)?),
        ("schema", SCHEMA.to_string()),
        ("scope", word(&Text::from(problem.scope.word()))?),
        ("workload", canonical(&problem.workload)?),
    ];
    let members: Vec<String> =
        members.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
    Ok(Parts { text: format!("{{{}}}", members.join(",")), lane })
}

fn policy_part(policy: &Policy) -> Result<Value, NotCanonical> {
    Ok(Value::object([
        ("evidence", evidence_part(&policy.evidence)?),
        ("min_speedup", exact_fraction(&policy.min_speedup)?),
        ("require_validation", Value::Bool(policy.require_validation)),
        ("reuse", Value::integer(policy.reuse)),
        ("tolerance", Value::Text(policy.tolerance.clone())),
    ]))
}

fn evidence_part(rule: &Rule) -> Result<Value, NotCanonical> {
    let count = |count: usize| Value::integer(count as i128);
    Ok(match rule {
        Rule::MedianMad(rule) => Value::object([
            ("max_relative_mad", exact_fraction(&rule.max_relative_mad)?),
            ("rule", Value::text("median-mad")),
            ("samples", count(rule.samples)),
        ]),
        Rule::AnytimeValid(rule) => Value::object([
            ("false_promotion_rate", exact_fraction(&rule.false_promotion_rate)?),
            ("false_rejection_rate", exact_fraction(&rule.false_rejection_rate)?),
            ("max_blocks", count(rule.max_blocks)),
            ("min_blocks", count(rule.min_blocks)),
            ("rule", Value::text("anytime-valid")),
        ]),
    })
}

/// Numerator and denominator as numbers, which a key can hold only below 2^53.
fn exact_fraction(fraction: &Fraction) -> Result<Value, NotCanonical> {
    let limit = Natural::from(EXACT_LIMIT as u128);
    if *fraction.numerator() >= limit || *fraction.denominator() >= limit {
        return Err(NotCanonical::LargeInteger);
    }
    let pair = from_fraction(fraction);
    debug_assert!(matches!(&pair, Value::Array(items)
        if items.iter().all(|item| matches!(item, Value::Number(Number::Integer(_))))));
    Ok(pair)
}
