//! The conversation with the suite: one line in, one line out, its number repeated.
//!
//! In the *stepping* style every event is answered by its effects. In the *calling* style this side
//! blocks in the middle of a selection and asks for what it needs; since the selector is a function
//! from events to effects, that is a queue of effects of which the first is asked for next.

use std::collections::VecDeque;

use crate::effect::Effect;
use crate::event::Event;
use crate::form::{self, Form};
use crate::json::{self, Value};
use crate::moment::Moment;
use crate::policy::Policy;
use crate::questions;
use crate::refusal::{Refusal, invalid};
use crate::selector::Selector;

const PROTOCOL: i128 = 1;
const LEVELS: [&str; 6] = ["keys", "records", "evidence", "regression", "selection", "cache"];
const CAPABILITIES: [&str; 5] = ["stepping", "calling", "concurrency", "abandoning", "looking"];

pub struct Conversation {
    selector: Selector,
    /// Effects of the call under way that have not been asked for.
    waiting: VecDeque<Effect>,
    pub is_over: bool,
}

/// Why no answer can be given at all: the line is no message of the protocol.
#[derive(Debug)]
pub struct Unanswerable(pub String);

impl Conversation {
    pub fn new(policy: Policy) -> Self {
        Conversation { selector: Selector::new(policy), waiting: VecDeque::new(), is_over: false }
    }

    /// The line that answers a line.
    pub fn answer(&mut self, line: &str) -> Result<String, Unanswerable> {
        let message = json::parse(line)
            .map_err(|found| Unanswerable(format!("{} at {}", found.what, found.at_byte)))?;
        let broken = |refusal: Refusal| Unanswerable(refusal.reason().to_string());
        let form = Form::of(&message).map_err(broken)?;
        let number = form.get("seq", form::whole).map_err(broken)?;
        let (kind, rest) = self.reply(form).unwrap_or_else(|refusal| {
            let words = vec![
                ("refusal", Value::text(refusal.word())),
                ("reason", Value::text(refusal.reason())),
            ];
            ("refused", words)
        });
        let mut members = vec![("type", Value::text(kind)), ("seq", Value::integer(number))];
        members.extend(rest);
        let members = members.into_iter().map(|(name, value)| (name.into(), value)).collect();
        Ok(Value::Object(members).to_line())
    }

    fn reply(&mut self, form: Form) -> Result<Reply, Refusal> {
        let kind = form.get("type", form::text)?;
        match kind.as_str() {
            Some("hello") => Ok(welcome()),
            Some("bye") => {
                self.is_over = true;
                Ok(("goodbye", Vec::new()))
            }
            Some("call") => {
                let function = form.get("function", form::text)?;
                let function = function.as_str().unwrap_or_default();
                let value = questions::answer(function, form.required("input")?)?;
                Ok(("returned", vec![("value", value)]))
            }
            Some("begin") => {
                self.selector = Selector::new(form.get("policy", Policy::read)?);
                self.waiting.clear();
                Ok(("ready", Vec::new()))
            }
            Some("happened") => {
                let effects = self.selector.step(form.get("event", Event::read)?)?;
                Ok(("effects", vec![("effects", Value::array(&effects, Effect::to_value))]))
            }
            Some("select") => {
                let event = form.get("request", Event::requested)?;
                self.call(event)
            }
            Some("tell") => {
                let event = form.get("event", Event::read)?;
                self.call(event)
            }
            Some("outcome") => {
                let outcome = form.required("outcome")?;
                let kind = Form::of(outcome)?.get("type", form::text)?;
                if kind == *"done" {
                    return Ok(self.ask());
                }
                self.call(Event::read(outcome)?)
            }
            Some("look") => Ok(("returned", vec![("value", self.look(form)?)])),
            _ => invalid(format!("no such message: {kind}")),
        }
    }

    fn call(&mut self, event: Event) -> Result<Reply, Refusal> {
        let effects = self.selector.step(event)?;
        self.waiting.extend(effects);
        Ok(self.ask())
    }

    /// Ask for the next effect, or say what came of the call.
    fn ask(&mut self) -> Reply {
        match self.waiting.pop_front() {
            None => ("noted", Vec::new()),
            Some(Effect::Answer { answer, .. }) => ("decided", vec![("result", answer.to_value())]),
            Some(effect) => ("asked", vec![("question", effect.to_value())]),
        }
    }

    fn look(&self, form: Form) -> Result<Value, Refusal> {
        let sight = form.get("sight", form::text)?;
        match sight.as_str() {
            Some("fingerprint") => {
                Ok(Value::text(self.selector.fingerprint(form.get("now", Moment::read)?)))
            }
            Some("statistics") => Ok(self.selector.statistics()),
            Some("reports") => Ok(self.selector.reports()),
            _ => invalid(format!("no such sight: {sight}")),
        }
    }
}

/// The type of a message, and its members besides type and number.
type Reply = (&'static str, Vec<(&'static str, Value)>);

fn welcome() -> Reply {
    let members = vec![
        ("protocol", Value::integer(PROTOCOL)),
        ("name", Value::text("small selector")),
        ("version", Value::text("2.1")),
        ("language", Value::text("Rust")),
        ("levels", Value::array(LEVELS, Value::text)),
        ("capabilities", Value::array(CAPABILITIES, Value::text)),
    ];
    ("welcome", members)
}
