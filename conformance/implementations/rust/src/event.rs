//! What a shell reports: requests, what came of effects, and what happens to choices that serve.

use crate::form::{self, Form, words};
use crate::json::Value;
use crate::moment::Moment;
use crate::problem::{Candidate, Problem};
use crate::record::Record;
use crate::refusal::{Refusal, invalid};
use crate::text::Text;

words! {
    FailureKind {
        Invalid = "invalid",
        Unsupported = "unsupported",
        Transient = "transient",
        Rejected = "rejected",
        Crashed = "crashed",
        Device = "device",
        Quarantined = "quarantined",
    }
}

/// Its code is for machines; words for people are not kept.
#[derive(Clone, Debug)]
pub struct Failure {
    pub kind: FailureKind,
    pub code: Text,
}

/// What a validator found, having compared something.
#[derive(Clone, Copy, Debug)]
pub struct Validation {
    pub verified: bool,
    pub feeds: i128,
    pub provisional: bool,
}

impl Validation {
    /// Nobody compared anything, and nobody had to.
    pub const WAIVED: Validation = Validation { verified: false, feeds: 0, provisional: false };
}

#[derive(Debug)]
pub struct Event {
    pub now: Moment,
    pub kind: EventKind,
}

#[derive(Debug)]
pub enum EventKind {
    Requested { request: i128, asked: Box<Asked> },
    LookedUp { request: i128, found: Found },
    Tried { request: i128, outcome: Outcome },
    Abandoned { request: i128 },
    Invalidated { choice: Choice, ban: bool },
    Compared { choice: Choice, reference_ns: i128, selected_ns: i128 },
    StoreFailed,
}

#[derive(Debug)]
pub struct Asked {
    pub problem: Problem,
    pub candidates: Vec<Candidate>,
    pub reference: i128,
    pub nested: bool,
}

/// What the store had.
#[derive(Debug)]
pub enum Found {
    Record(Box<Record>),
    Nothing,
    Unreadable,
}

/// What came of a measurement or a validation.
#[derive(Debug)]
pub enum Outcome {
    Measured(i128),
    Validated(Validation),
    Unverifiable,
    Failed(Failure),
}

/// A choice that serves, as an event names it.
#[derive(Debug)]
pub struct Choice {
    pub key: Text,
    pub candidate: Text,
    pub reference: Text,
}

impl Event {
    pub fn read(value: &Value) -> Result<Event, Refusal> {
        let form = Form::of(value)?;
        let now = form.get("now", Moment::read)?;
        let kind = form.get("type", form::text)?;
        let kind = match kind.as_str() {
            Some("requested") => EventKind::Requested {
                request: form.get("request", form::whole)?,
                asked: Box::new(Asked::read(form)?),
            },
            Some("abandoned") => {
                EventKind::Abandoned { request: form.get("request", form::whole)? }
            }
            Some("invalidated") => EventKind::Invalidated {
                choice: Choice::read(form)?,
                ban: form.get("ban", form::flag)?,
            },
            Some("compared") => {
                if !form.get("correctness_checked", form::flag)? {
                    return invalid("need a pair whose outputs were checked");
                }
                EventKind::Compared {
                    choice: Choice::read(form)?,
                    reference_ns: form.get("reference_ns", form::at_least(1))?,
                    selected_ns: form.get("selected_ns", form::at_least(1))?,
                }
            }
            Some("store-failed") => EventKind::StoreFailed,
            Some(kind) if kind.starts_with("record-") => EventKind::LookedUp {
                request: form.get("request", form::whole)?,
                found: Found::read(kind, form)?,
            },
            _ => EventKind::Tried {
                request: form.get("request", form::whole)?,
                outcome: Outcome::read(kind.as_str().unwrap_or_default(), form)?,
            },
        };
        Ok(Event { now, kind })
    }

    /// A request, from an event or from a call to select.
    pub fn requested(value: &Value) -> Result<Event, Refusal> {
        let form = Form::of(value)?;
        Ok(Event {
            now: form.get("now", Moment::read)?,
            kind: EventKind::Requested {
                request: form.get("request", form::whole)?,
                asked: Box::new(Asked::read(form)?),
            },
        })
    }
}

impl Asked {
    fn read(form: Form) -> Result<Asked, Refusal> {
        Ok(Asked {
            problem: form.get("problem", Problem::read)?,
            candidates: form.get("candidates", |value| form::each(value, Candidate::read))?,
            reference: form.get("reference", form::whole)?,
            nested: form.get_or("nested", false, form::flag)?,
        })
    }
}

impl Found {
    fn read(kind: &str, form: Form) -> Result<Found, Refusal> {
        Ok(match kind {
            "record-loaded" => Found::Record(Box::new(form.get("record", Record::read)?)),
            "record-absent" => Found::Nothing,
            "record-unreadable" => Found::Unreadable,
            _ => return invalid(format!("no such event: {kind}")),
        })
    }
}

impl Outcome {
    fn read(kind: &str, form: Form) -> Result<Outcome, Refusal> {
        Ok(match kind {
            "measured" => Outcome::Measured(form.get("latency_ns", form::at_least(0))?),
            "validated" => Outcome::Validated(Validation {
                verified: true,
                feeds: form.get_or("feeds", 1, form::at_least(1))?,
                provisional: form.get_or("provisional", false, form::flag)?,
            }),
            "unverifiable" => Outcome::Unverifiable,
            "trial-failed" => Outcome::Failed(form.get("failure", Failure::read)?),
            _ => return invalid(format!("no such event: {kind}")),
        })
    }
}

impl Failure {
    pub fn new(kind: FailureKind, code: &str) -> Failure {
        Failure { kind, code: Text::from(code) }
    }

    fn read(value: &Value) -> Result<Failure, Refusal> {
        let form = Form::of(value)?;
        Ok(Failure {
            kind: form.get("kind", FailureKind::read)?,
            code: form.get("code", form::text)?,
        })
    }
}

impl Choice {
    fn read(form: Form) -> Result<Choice, Refusal> {
        Ok(Choice {
            key: form.get("key", form::text)?,
            candidate: form.get("candidate", form::text)?,
            reference: form.get("reference", form::text)?,
        })
    }
}
