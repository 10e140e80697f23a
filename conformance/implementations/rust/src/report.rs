//! What became of each candidate of a search.

use crate::form::{from_fraction, words};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::problem::Scope;
use crate::text::Text;

words! {
    Became {
        Reference = "reference",
        Promoted = "promoted",
        Faster = "faster",
        NotFaster = "not-faster",
        Noisy = "noisy",
        Ineligible = "ineligible",
        Banned = "banned",
        Skipped = "skipped",
        Failed = "failed",
    }
}

#[derive(Debug)]
pub struct Account {
    pub name: Text,
    pub outcome: Became,
    pub blocks: usize,
    pub ratio: Option<Fraction>,
    pub dispersion: Option<Fraction>,
    pub verified: bool,
    pub first_ns: Option<i128>,
    pub median_ns: Option<i128>,
    pub states: i128,
    pub window_ns: i128,
}

#[derive(Debug)]
pub struct Report {
    pub key: Text,
    pub scope: Scope,
    pub operation: Text,
    pub winner: Text,
    pub elapsed_ns: i128,
    pub budget_exhausted: bool,
    pub candidates: Vec<Account>,
}

impl Account {
    fn to_value(&self) -> Value {
        Value::object([
            ("name", Value::Text(self.name.clone())),
            ("outcome", Value::text(self.outcome.word())),
            ("blocks", Value::integer(self.blocks as i128)),
            ("ratio", Value::optional(self.ratio.as_ref(), from_fraction)),
            ("dispersion", Value::optional(self.dispersion.as_ref(), from_fraction)),
            ("verified", Value::Bool(self.verified)),
            ("first_ns", Value::optional(self.first_ns, Value::integer)),
            ("median_ns", Value::optional(self.median_ns, Value::integer)),
            ("states", Value::integer(self.states)),
            ("window_ns", Value::integer(self.window_ns)),
        ])
    }
}

impl Report {
    pub fn to_value(&self) -> Value {
        Value::object([
            ("key", Value::Text(self.key.clone())),
            ("scope", Value::text(self.scope.word())),
            ("operation", Value::Text(self.operation.clone())),
            ("winner", Value::Text(self.winner.clone())),
            ("elapsed_ns", Value::integer(self.elapsed_ns)),
            ("budget_exhausted", Value::Bool(self.budget_exhausted)),
            ("candidates", Value::array(&self.candidates, Account::to_value)),
        ])
    }
}
