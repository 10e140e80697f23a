//! Questions about single rules: an input, and the only right answer.

use crate::block::{self, Side};
use crate::canonical::{canonical, digest};
use crate::evidence::{self, AnytimeValid, Bar, MedianMad};
use crate::form::{self, Form, from_fraction};
use crate::fraction::Fraction;
use crate::incidents::{Incident, IncidentPolicy};
use crate::json::{self, Value};
use crate::key;
use crate::median::spread;
use crate::moment::Moment;
use crate::natural::Natural;
use crate::policy::{self, Policy};
use crate::problem::{Candidate, Problem};
use crate::record::{CLOCK_SKEW_S, Record};
use crate::refusal::{Refusal, invalid, need};
use crate::regression::{self, History};
use crate::text::Text;

/// Answer the question that a call puts.
pub fn answer(function: &str, input: &Value) -> Result<Value, Refusal> {
    let form = Form::of(input)?;
    match function {
        "accepts" => accepts(form),
        "assess" => assess(form),
        "block-order" => block_order(form),
        "block-ratio" => block_ratio(form),
        "cache-key" => cache_key(form),
        "canonical-json" => canonical_json(form),
        "incidents" => incidents(form),
        "record-freshness" => record_freshness(form),
        "spread" => spread_of(form),
        "watch" => watch(form),
        _ => invalid(format!("no such question: {function}")),
    }
}

fn accepts(form: Form) -> Result<Value, Refusal> {
    let kind = form.get("type", form::text)?;
    let value = form.required("value")?;
    let accepted = match kind.as_str() {
        Some("median-mad") => MedianMad::read(value).is_ok(),
        Some("anytime-valid") => AnytimeValid::read(value).is_ok(),
        Some("window-median") => regression::Rule::read_window(value).is_ok(),
        Some("anytime-valid-regression") => regression::Rule::read_anytime_valid(value).is_ok(),
        Some("incident-policy") => IncidentPolicy::read(value).is_ok(),
        Some("policy") => Policy::read(value).is_ok(),
        Some("record") => Record::read(value).is_ok(),
        _ => return invalid(format!("no such type: {kind}")),
    };
    Ok(Value::object([("accepted", Value::Bool(accepted))]))
}

fn assess(form: Form) -> Result<Value, Refusal> {
    let rule = form.get("rule", evidence::Rule::read)?;
    let ratios = form.get("ratios", |value| form::each(value, form::ratio))?;
    let min_speedup = form.get("min_speedup", form::ratio)?;
    need(min_speedup >= Fraction::one(), "a minimum speed-up of at least 1")?;
    let to_beat = form.get_or("to_beat", None, form::optional(&form::ratio))?;
    let assessment = rule.assess(&ratios, &Bar { min_speedup, to_beat });
    Ok(Value::object([
        ("verdict", Value::text(assessment.verdict.word())),
        ("ratio", Value::optional(assessment.ratio.as_ref(), from_fraction)),
        ("dispersion", Value::optional(assessment.dispersion.as_ref(), from_fraction)),
        ("blocks", Value::integer(assessment.blocks as i128)),
    ]))
}

fn block_order(form: Form) -> Result<Value, Refusal> {
    let seed = form.get("seed", form::at_least(0))?;
    let key = form.get("key", form::text)?;
    let candidate = form.get("candidate", form::text)?;
    let block = form.get("block", form::at_least(0))?;
    let is_unicode = |text: &Text| text.as_str().is_some();
    need(is_unicode(&key) && is_unicode(&candidate), "texts without lone surrogates")?;
    let order = block::order(seed, &key, &candidate, block);
    let word = |side| match side {
        Side::Reference => Value::text("reference"),
        Side::Candidate => Value::text("candidate"),
    };
    Ok(Value::object([("order", Value::array(order, word))]))
}

fn block_ratio(form: Form) -> Result<Value, Refusal> {
    form.get("started_ns", form::at_least(0))?;
    let two_times = |value: &Value| {
        let times: Vec<Natural> = form::each(value, form::natural)?;
        match <[Natural; 2]>::try_from(times) {
            Ok(times) if !times.iter().any(Natural::is_zero) => Ok(times),
            _ => invalid("need two times above 0"),
        }
    };
    let reference_ns = form.get("reference_ns", two_times)?;
    let candidate_ns = form.get("candidate_ns", two_times)?;
    let ratio = block::ratio(&reference_ns, &candidate_ns);
    Ok(Value::object([("ratio", from_fraction(&ratio))]))
}

fn cache_key(form: Form) -> Result<Value, Refusal> {
    let policy = form.get("policy", Policy::read)?;
    let problem = form.get("problem", Problem::read)?;
    let candidates = form.get("candidates", |value| form::each(value, Candidate::read))?;
    let reference = form.get("reference", form::within(0, candidates.len() as i128 - 1))?;
    match key::parts(&problem, &candidates, reference as usize, &policy) {
        Ok(parts) => Ok(canonical_and_digest(parts.text)),
        Err(why) => invalid(format!("{why:?}")),
    }
}

fn canonical_json(form: Form) -> Result<Value, Refusal> {
    let text = form.get("text", form::text)?;
    let Some(text) = text.as_str() else { return invalid("need text without lone surrogates") };
    let value = match json::parse(text) {
        Ok(value) => value,
        Err(malformed) => return invalid(format!("{} at {}", malformed.what, malformed.at_byte)),
    };
    match canonical(&value) {
        Ok(canonical) => Ok(canonical_and_digest(canonical)),
        Err(why) => invalid(format!("{why:?}")),
    }
}

fn canonical_and_digest(canonical: String) -> Value {
    let digest = digest(&canonical);
    Value::object([("canonical", Value::text(canonical)), ("digest", Value::text(digest))])
}

fn spread_of(form: Form) -> Result<Value, Refusal> {
    let ratios = form.get("ratios", |value| form::each(value, form::ratio))?;
    let Some(spread) = spread(&ratios) else { return invalid("need at least one ratio") };
    Ok(Value::object([
        ("median", from_fraction(&spread.median)),
        ("relative_mad", from_fraction(&spread.dispersion)),
    ]))
}

fn record_freshness(form: Form) -> Result<Value, Refusal> {
    let record = form.get("record", Record::read)?;
    let now = form.get("now", Moment::read)?;
    let ttl_s = form.get("ttl_s", policy::ttl_s)?;
    let retry_after_s = form.get("retry_after_s", policy::retry_after_s)?;
    let age_s = record.age_s(now.wall_s);
    let lifetime_s = record.lifetime_s(ttl_s, retry_after_s);
    let fresh = (-CLOCK_SKEW_S..lifetime_s).contains(&age_s);
    Ok(Value::object([
        ("age_s", Value::integer(age_s)),
        ("lifetime_s", Value::integer(lifetime_s)),
        ("fresh", Value::Bool(fresh)),
    ]))
}

fn watch(form: Form) -> Result<Value, Refusal> {
    let rule = form.get("rule", regression::Rule::read)?;
    let mut history = History::new();
    let mut verdicts = Vec::new();
    for pair in form::items(form.required("pairs")?)? {
        let pair = Form::of(pair)?;
        let time = |value: &Value| form::at_least(1)(value).map(|time_ns| time_ns as u128);
        let ratio = Fraction::of(pair.get("selected_ns", time)?, pair.get("reference_ns", time)?);
        verdicts.push(match history.observe(&rule, ratio) {
            None => Value::object([("type", Value::text("holds"))]),
            Some(alarm) => Value::object([
                ("type", Value::text("degraded")),
                ("ratio", from_fraction(&alarm.ratio)),
                ("observations", Value::integer(alarm.observations as i128)),
            ]),
        });
    }
    Ok(Value::object([("verdicts", Value::Array(verdicts))]))
}

fn incidents(form: Form) -> Result<Value, Refusal> {
    let policy = form.get("policy", IncidentPolicy::read)?;
    let mut environment = None;
    let mut last: Option<Incident> = None;
    let mut replies = Vec::new();
    for incident in form::items(form.required("incidents")?)? {
        let incident = Form::of(incident)?;
        let kind = incident.get("type", form::text)?;
        replies.push(match kind.as_str() {
            Some("degradation") => {
                let next = Incident::next(last, incident.get("at_ns", form::at_least(0))?, &policy);
                last = Some(next);
                Value::object([
                    ("type", Value::text("following")),
                    ("consequence", consequence(&next)),
                ])
            }
            Some("question") => {
                let at_ns = incident.get("at_ns", form::at_least(0))?;
                let banned = last.is_some_and(|last| last.bans_at(at_ns));
                Value::object([("type", Value::text("banned")), ("banned", Value::Bool(banned))])
            }
            Some("move") => {
                let to = Some(incident.get("environment", form::text)?);
                if environment != to {
                    last = None;
                }
                environment = to;
                let until_ns = last.and_then(|last| last.banned_until_ns);
                Value::object([
                    ("type", Value::text("moved")),
                    ("banned_until_ns", Value::optional(until_ns, Value::integer)),
                ])
            }
            _ => return invalid(format!("no such incident: {kind}")),
        });
    }
    Ok(Value::object([("replies", Value::Array(replies))]))
}

fn consequence(incident: &Incident) -> Value {
    match incident.banned_until_ns {
        None => Value::object([("type", Value::text("demote"))]),
        Some(until_ns) => {
            Value::object([("type", Value::text("ban")), ("until_ns", Value::integer(until_ns))])
        }
    }
}
