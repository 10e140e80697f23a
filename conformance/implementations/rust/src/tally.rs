//! Counts of what was asked and answered.

use crate::effect::{Answer, Source};
use crate::event::FailureKind;
use crate::json::Value;

#[derive(Default, Debug)]
pub struct Tally {
    pub requests: i128,
    pub tuned: i128,
    pub memory_hits: i128,
    pub stored_hits: i128,
    pub disabled: i128,
    pub bypassed: i128,
    pub nested: i128,
    pub busy: i128,
    pub cache_misses: i128,
    pub invalid: i128,
    pub quarantined: i128,
    pub device_failures: i128,
    pub explorations: i128,
    pub abandoned: i128,
    pub saved: i128,
    pub store_warnings: i128,
    pub invalidations: i128,
    pub comparisons: i128,
    pub ignored_comparisons: i128,
    pub degradations: i128,
}

impl Tally {
    pub fn answered(&mut self, answer: &Answer) {
        let count = match answer {
            Answer::Decision(decision) => match decision.source {
                Source::Tuned => &mut self.tuned,
                Source::Memory => &mut self.memory_hits,
                Source::Stored => &mut self.stored_hits,
                Source::Disabled => &mut self.disabled,
                Source::Bypassed => &mut self.bypassed,
                Source::Nested => &mut self.nested,
                Source::Busy => &mut self.busy,
                Source::CacheMiss => &mut self.cache_misses,
            },
            Answer::Failure(failure) => match failure.kind {
                FailureKind::Invalid => &mut self.invalid,
                FailureKind::Quarantined => &mut self.quarantined,
                _ => &mut self.device_failures,
            },
        };
        *count += 1;
    }

    pub fn to_value(&self, evictions: i128) -> Value {
        Value::object([
            ("requests", Value::integer(self.requests)),
            ("tuned", Value::integer(self.tuned)),
            ("memory_hits", Value::integer(self.memory_hits)),
            ("stored_hits", Value::integer(self.stored_hits)),
            ("disabled", Value::integer(self.disabled)),
            ("bypassed", Value::integer(self.bypassed)),
            ("nested", Value::integer(self.nested)),
            ("busy", Value::integer(self.busy)),
            ("cache_misses", Value::integer(self.cache_misses)),
            ("invalid", Value::integer(self.invalid)),
            ("quarantined", Value::integer(self.quarantined)),
            ("device_failures", Value::integer(self.device_failures)),
            ("explorations", Value::integer(self.explorations)),
            ("abandoned", Value::integer(self.abandoned)),
            ("saved", Value::integer(self.saved)),
            ("store_warnings", Value::integer(self.store_warnings)),
            ("invalidations", Value::integer(self.invalidations)),
            ("comparisons", Value::integer(self.comparisons)),
            ("ignored_comparisons", Value::integer(self.ignored_comparisons)),
            ("degradations", Value::integer(self.degradations)),
            ("evictions", Value::integer(evictions)),
        ])
    }
}
