//! The policy: what a selector may do, and for how long (see *Policy* in the rules).

use crate::evidence;
use crate::form::{self, Form, words};
use crate::fraction::Fraction;
use crate::incidents::IncidentPolicy;
use crate::json::Value;
use crate::moment::SECOND_NS;
use crate::refusal::{Refusal, need};
use crate::regression;
use crate::text::Text;

const DAY_S: i128 = 86_400;

words! {
    Mode { Explore = "explore", CacheOnly = "cache-only", Disabled = "disabled" }
}

#[derive(Clone, Debug)]
pub struct Policy {
    pub mode: Mode,
    pub require_validation: bool,
    pub tolerance: Text,
    pub min_speedup: Fraction,
    pub reuse: i128,
    pub evidence: evidence::Rule,
    pub regression: regression::Rule,
    pub incidents: IncidentPolicy,
    pub warmups: usize,
    pub budget_ns: i128,
    pub max_candidates: usize,
    pub max_parallel: usize,
    pub capacity: usize,
    pub reports: usize,
    pub ttl_s: i128,
    pub retry_after_s: i128,
    pub max_workspace_bytes: Option<i128>,
    pub seed: i128,
}

impl Policy {
    pub fn read(value: &Value) -> Result<Policy, Refusal> {
        let form = Form::of(value)?;
        let count = |name: &str, default: i128, least: i128, most: i128| {
            form.get_or(name, default, form::within(least, most)).map(|count| count as usize)
        };
        let exact = form::within(0, (1 << 53) - 1);
        Ok(Policy {
            mode: form.get_or("mode", Mode::Explore, Mode::read)?,
            require_validation: form.get_or("require_validation", true, form::flag)?,
            tolerance: form.get_or("tolerance", Text::from("by-type"), tolerance)?,
            min_speedup: form.get_or("min_speedup", Fraction::of(103, 100), min_speedup)?,
            reuse: form.get_or("reuse", 10_000, form::within(1, (1 << 53) - 1))?,
            evidence: form.get_or("evidence", evidence::Rule::default(), evidence::Rule::read)?,
            regression: form.get_or(
                "regression",
                regression::Rule::default(),
                regression::Rule::read,
            )?,
            incidents: form.get_or("incidents", IncidentPolicy::default(), IncidentPolicy::read)?,
            warmups: count("warmups", 1, 1, 100)?,
            budget_ns: form.get_or(
                "budget_ns",
                30 * SECOND_NS,
                form::within(1, DAY_S * SECOND_NS),
            )?,
            max_candidates: count("max_candidates", 64, 1, 4096)?,
            max_parallel: count("max_parallel", 1, 1, 1024)?,
            capacity: count("capacity", 1024, 1, 1 << 20)?,
            reports: count("reports", 128, 0, 65_536)?,
            ttl_s: form.get_or("ttl_s", 30 * DAY_S, ttl_s)?,
            retry_after_s: form.get_or("retry_after_s", 3600, retry_after_s)?,
            max_workspace_bytes: form.get_or(
                "max_workspace_bytes",
                None,
                form::optional(&exact),
            )?,
            seed: form.get_or("seed", 0, &exact)?,
        })
    }
}

/// 1 second to 10 years of 366 days.
pub fn ttl_s(value: &Value) -> Result<i128, Refusal> {
    form::within(1, 3660 * DAY_S)(value)
}

/// 1 second to 366 days.
pub fn retry_after_s(value: &Value) -> Result<i128, Refusal> {
    form::within(1, 366 * DAY_S)(value)
}

fn tolerance(value: &Value) -> Result<Text, Refusal> {
    let text = form::text(value)?;
    let printable = text.bytes().iter().all(|byte| (b' '..=b'~').contains(byte));
    need(
        printable && (1..=256).contains(&text.length_in_bytes()),
        "1 to 256 printable ASCII characters",
    )?;
    Ok(text)
}

fn min_speedup(value: &Value) -> Result<Fraction, Refusal> {
    let speedup = form::fraction(value)?;
    need(
        (Fraction::one()..=Fraction::of(1000, 1)).contains(&speedup),
        "a speed-up from 1 to 1000",
    )?;
    Ok(speedup)
}
