//! What is asked: a problem and its candidates, and which rule of inputs is broken first (S1).

use std::collections::HashSet;

use crate::form::{self, Form, words};
use crate::json::Value;
use crate::key;
use crate::policy::Policy;
use crate::refusal::Refusal;
use crate::text::Text;

pub const MAX_CANDIDATES: usize = 4096;
const MAX_NAME_BYTES: usize = 4096;
const MAX_KEY_BYTES: usize = 393_216;

words! {
    Scope { Operator = "operator", FusedGraph = "fused-graph", Pipeline = "pipeline" }
}

#[derive(Clone, Debug)]
pub struct Problem {
    pub scope: Scope,
    pub operation: Text,
    pub workload: Value,
    pub environment: Value,
    pub model: Value,
    pub options: Value,
    pub lower_level: Text,
    pub persistent: bool,
}

impl Problem {
    pub fn read(value: &Value) -> Result<Problem, Refusal> {
        let form = Form::of(value)?;
        let any = |value: &Value| Ok(value.clone());
        Ok(Problem {
            scope: form.get("scope", Scope::read)?,
            operation: form.get("operation", form::text)?,
            workload: form.get("workload", any)?,
            environment: form.get("environment", any)?,
            model: form.get_or("model", Value::text(""), any)?,
            options: form.get_or("options", Value::text(""), any)?,
            lower_level: form.get_or("lower_level", Text::default(), form::text)?,
            persistent: form.get_or("persistent", true, form::flag)?,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Candidate {
    pub name: Text,
    /// None where nobody knows.
    pub workspace_bytes: Option<i128>,
    /// Why it must not be tried; empty where it may.
    pub ineligible: Text,
}

impl Candidate {
    pub fn read(value: &Value) -> Result<Candidate, Refusal> {
        let form = Form::of(value)?;
        Ok(Candidate {
            name: form.get("name", form::text)?,
            workspace_bytes: form.get_or(
                "workspace_bytes",
                Some(0),
                form::optional(form::at_least(0)),
            )?,
            ineligible: form.get_or("ineligible", Text::default(), form::text)?,
        })
    }

    pub fn fits(&self, max_workspace_bytes: Option<i128>) -> bool {
        let has_room = match (max_workspace_bytes, self.workspace_bytes) {
            (None, _) => true,
            (Some(limit), Some(need)) => need <= limit,
            (Some(_), None) => false,
        };
        has_room && self.ineligible.is_empty()
    }
}

/// A problem that may be asked, with its key.
#[derive(Clone, Debug)]
pub struct Question {
    pub problem: Problem,
    pub candidates: Vec<Candidate>,
    pub reference: usize,
    pub key: Text,
    /// Canonical text of the environment.
    pub lane: String,
}

impl Question {
    /// The question, or the code of the first rule that it breaks.
    pub fn new(
        problem: Problem,
        candidates: Vec<Candidate>,
        reference: i128,
        policy: &Policy,
    ) -> Result<Question, &'static str> {
        if candidates.is_empty() {
            return Err("no-candidates");
        }
        if candidates.len() > MAX_CANDIDATES {
            return Err("too-many-candidates");
        }
        let reference = usize::try_from(reference)
            .ok()
            .filter(|place| *place < candidates.len())
            .ok_or("reference-index")?;
        if problem.operation.is_empty() {
            return Err("empty-operation");
        }
        if is_empty(&problem.environment) {
            return Err("empty-environment");
        }
        if is_empty(&problem.workload) {
            return Err("empty-workload");
        }
        for candidate in &candidates {
            if candidate.name.is_empty() {
                return Err("empty-name");
            }
            if candidate.name.length_in_bytes() > MAX_NAME_BYTES {
                return Err("name-too-long");
            }
        }
        let names: HashSet<&Text> = candidates.iter().map(|candidate| &candidate.name).collect();
        if names.len() < candidates.len() {
            return Err("duplicate-name");
        }
        if !candidates[reference].fits(policy.max_workspace_bytes) {
            return Err("reference-unfit");
        }
        let parts =
            key::parts(&problem, &candidates, reference, policy).map_err(|_| "not-canonical")?;
        if parts.text.len() > MAX_KEY_BYTES {
            return Err("key-too-long");
        }
        let key = Text::from(crate::canonical::digest(&parts.text));
        Ok(Question { problem, candidates, reference, key, lane: parts.lane })
    }

    pub fn reference_name(&self) -> &Text {
        &self.candidates[self.reference].name
    }

    pub fn place_of(&self, name: &Text) -> Option<usize> {
        self.candidates.iter().position(|candidate| candidate.name == *name)
    }
}

/// null, "", [] and {} are; 0 and false are not.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Text(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
