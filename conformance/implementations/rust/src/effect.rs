//! What a selector wants of its shell, and what it answers.

use crate::event::Failure;
use crate::form::{from_fraction, words};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::record::Record;
use crate::text::Text;

words! {
    Purpose { Warmup = "warmup", Baseline = "baseline", Paired = "paired" }
}

words! {
    Source {
        Tuned = "tuned",
        Memory = "memory",
        Stored = "stored",
        Disabled = "disabled",
        Bypassed = "bypassed",
        Nested = "nested",
        Busy = "busy",
        CacheMiss = "cache-miss",
    }
}

#[derive(Clone, Debug)]
pub enum Effect {
    LoadRecord { request: i128, key: Text },
    Measure { request: i128, candidate: usize, purpose: Purpose, deadline_ns: i128 },
    Validate { request: i128, reference: usize, candidate: usize, deadline_ns: i128 },
    SaveRecord(Box<Record>),
    RemoveRecord { key: Text },
    Answer { request: i128, answer: Answer },
}

#[derive(Clone, Debug)]
pub enum Answer {
    Decision(Decision),
    Failure(Failure),
}

#[derive(Clone, Debug)]
pub struct Decision {
    pub index: usize,
    pub reference_index: usize,
    pub name: Text,
    pub source: Source,
    pub verified: bool,
    pub ratio: Option<Fraction>,
    pub key: Text,
}

impl Effect {
    pub fn to_value(&self) -> Value {
        let place = |place: usize| Value::integer(place as i128);
        match self {
            Effect::LoadRecord { request, key } => Value::object([
                ("type", Value::text("load-record")),
                ("request", Value::integer(*request)),
                ("key", Value::Text(key.clone())),
            ]),
            Effect::Measure { request, candidate, purpose, deadline_ns } => Value::object([
                ("type", Value::text("measure")),
                ("request", Value::integer(*request)),
                ("candidate", place(*candidate)),
                ("purpose", Value::text(purpose.word())),
                ("deadline_ns", Value::integer(*deadline_ns)),
            ]),
            Effect::Validate { request, reference, candidate, deadline_ns } => Value::object([
                ("type", Value::text("validate")),
                ("request", Value::integer(*request)),
                ("reference", place(*reference)),
                ("candidate", place(*candidate)),
                ("deadline_ns", Value::integer(*deadline_ns)),
            ]),
            Effect::SaveRecord(record) => {
                Value::object([("type", Value::text("save-record")), ("record", record.to_value())])
            }
            Effect::RemoveRecord { key } => Value::object([
                ("type", Value::text("remove-record")),
                ("key", Value::Text(key.clone())),
            ]),
            Effect::Answer { request, answer } => Value::object([
                ("type", Value::text("answer")),
                ("request", Value::integer(*request)),
                ("result", answer.to_value()),
            ]),
        }
    }
}

impl Answer {
    pub fn to_value(&self) -> Value {
        match self {
            Answer::Decision(decision) => Value::object([
                ("type", Value::text("decision")),
                ("index", Value::integer(decision.index as i128)),
                ("reference_index", Value::integer(decision.reference_index as i128)),
                ("name", Value::Text(decision.name.clone())),
                ("source", Value::text(decision.source.word())),
                ("verified", Value::Bool(decision.verified)),
                ("ratio", Value::optional(decision.ratio.as_ref(), from_fraction)),
                ("key", Value::Text(decision.key.clone())),
            ]),
            Answer::Failure(failure) => Value::object([
                ("type", Value::text("failure")),
                ("kind", Value::text(failure.kind.word())),
                ("code", Value::Text(failure.code.clone())),
            ]),
        }
    }
}
