//! What a store remembers of a decision (K5).

use crate::form::{self, Form, from_fraction, words};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::problem::Scope;
use crate::refusal::Refusal;
use crate::text::Text;

/// A record that is dated further in the future was made by another clock.
pub const CLOCK_SKEW_S: i128 = 300;

const MEMBERS: [&str; 15] = [
    "key",
    "scope",
    "winner",
    "reference",
    "created_s",
    "reference_ns",
    "winner_ns",
    "ratio",
    "dispersion",
    "blocks",
    "verified",
    "feeds",
    "provisional",
    "complete",
    "origin",
];

words! {
    Origin { Local = "local", Imported = "imported" }
}

#[derive(Clone, Debug)]
pub struct Record {
    pub key: Text,
    pub scope: Scope,
    pub winner: Text,
    pub reference: Text,
    pub created_s: i128,
    pub reference_ns: i128,
    pub winner_ns: i128,
    pub ratio: Fraction,
    pub dispersion: Fraction,
    pub blocks: i128,
    pub verified: bool,
    pub feeds: i128,
    pub provisional: bool,
    pub complete: bool,
    pub origin: Origin,
}

impl Record {
    pub fn read(value: &Value) -> Result<Record, Refusal> {
        let form = Form::closed(value, &MEMBERS)?;
        Ok(Record {
            key: form.get("key", form::filled_text)?,
            scope: form.get("scope", Scope::read)?,
            winner: form.get("winner", form::filled_text)?,
            reference: form.get("reference", form::filled_text)?,
            created_s: form.get("created_s", form::at_least(0))?,
            reference_ns: form.get("reference_ns", form::at_least(1))?,
            winner_ns: form.get("winner_ns", form::at_least(1))?,
            ratio: form.get("ratio", form::ratio)?,
            dispersion: form.get("dispersion", form::fraction)?,
            blocks: form.get("blocks", form::at_least(0))?,
            verified: form.get("verified", form::flag)?,
            feeds: form.get_or("feeds", 0, form::at_least(0))?,
            provisional: form.get_or("provisional", false, form::flag)?,
            complete: form.get_or("complete", true, form::flag)?,
            origin: form.get_or("origin", Origin::Local, Origin::read)?,
        })
    }

    pub fn to_value(&self) -> Value {
        Value::object([
            ("key", Value::Text(self.key.clone())),
            ("scope", Value::text(self.scope.word())),
            ("winner", Value::Text(self.winner.clone())),
            ("reference", Value::Text(self.reference.clone())),
            ("created_s", Value::integer(self.created_s)),
            ("reference_ns", Value::integer(self.reference_ns)),
            ("winner_ns", Value::integer(self.winner_ns)),
            ("ratio", from_fraction(&self.ratio)),
            ("dispersion", from_fraction(&self.dispersion)),
            ("blocks", Value::integer(self.blocks)),
            ("verified", Value::Bool(self.verified)),
            ("feeds", Value::integer(self.feeds)),
            ("provisional", Value::Bool(self.provisional)),
            ("complete", Value::Bool(self.complete)),
            ("origin", Value::text(self.origin.word())),
        ])
    }

    /// Negative where it is dated in the future.
    pub fn age_s(&self, wall_s: i128) -> i128 {
        wall_s - self.created_s
    }

    pub fn lifetime_s(&self, ttl_s: i128, retry_after_s: i128) -> i128 {
        lifetime_s(self.complete, ttl_s, retry_after_s)
    }
}

pub fn lifetime_s(complete: bool, ttl_s: i128, retry_after_s: i128) -> i128 {
    if complete { ttl_s } else { ttl_s.min(retry_after_s) }
}
