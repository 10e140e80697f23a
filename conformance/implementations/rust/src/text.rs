//! Text as JSON can carry it: a sequence of code points, among which a lone surrogate may stand.
//!
//! Rust's `String` cannot hold a lone surrogate, yet a request that contains one must be answered
//! (S1, *not-canonical*) and not break the reader. The bytes are UTF-8, with a lone surrogate as
//! the three bytes that UTF-8 would give it, so that the order of the bytes is the order of the
//! code points.

use std::fmt;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text(Vec<u8>);

impl Text {
    /// The text, unless it has a lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn length_in_bytes(&self) -> usize {
        self.0.len()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn push(&mut self, character: char) {
        self.0.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    }

    /// Append whole UTF-8 characters.
    pub fn push_str(&mut self, characters: &str) {
        self.0.extend_from_slice(characters.as_bytes());
    }

    pub fn push_lone_surrogate(&mut self, unit: u16) {
        let low = |shift: u16| 0x80 | (unit >> shift & 0x3f) as u8;
        self.0.extend_from_slice(&[0xe0 | (unit >> 12) as u8, low(6), low(0)]);
    }

    /// UTF-16 code units; what RFC 8785 sorts the members of an object by.
    pub fn utf16(&self) -> Vec<u16> {
        String::from_utf8_lossy(&self.0).encode_utf16().collect()
    }
}

impl From<&str> for Text {
    fn from(characters: &str) -> Self {
        Text(characters.as_bytes().to_vec())
    }
}

impl From<String> for Text {
    fn from(characters: String) -> Self {
        Text(characters.into_bytes())
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.0 == other.as_bytes()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}
