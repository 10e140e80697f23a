//! What shells report of choices that serve: taken back (S9), or compared with the reference (S10).

use super::Selector;
use crate::effect::Effect;
use crate::event::Choice;
use crate::fraction::Fraction;
use crate::memory::{Entry, Exclusion};
use crate::moment::Moment;
use crate::text::Text;

impl Selector {
    pub(super) fn invalidated(&mut self, choice: Choice, ban: bool) -> Vec<Effect> {
        self.tally.invalidations += 1;
        let entry = self.memory.get_mut(&choice.key);
        let is_reference = choice.candidate == choice.reference
            || entry.as_ref().is_some_and(|entry| is_reference_of(entry, &choice.candidate));
        if let Some(entry) = entry {
            entry.take_back();
        }
        if ban && !is_reference {
            let entry = self.memory.entry(&choice.key);
            entry.exclude(&choice.candidate, Exclusion::WhileHeld);
        }
        vec![Effect::RemoveRecord { key: choice.key }]
    }

    pub(super) fn compared(&mut self, choice: Choice, ratio: Fraction, now: Moment) -> Vec<Effect> {
        let serving = self.memory.get_mut(&choice.key).filter(|entry| {
            entry.held.as_ref().is_some_and(|held| {
                held.winner == choice.candidate
                    && held.winner != held.reference
                    && held.winner != choice.reference
            })
        });
        let Some(entry) = serving else {
            self.tally.ignored_comparisons += 1;
            return Vec::new();
        };
        self.tally.comparisons += 1;
        if entry.history.observe(&self.policy.regression, ratio).is_none() {
            return Vec::new();
        }
        self.tally.degradations += 1;
        self.tally.invalidations += 1;
        entry.take_back();
        entry.degrade(&choice.candidate, now.monotonic_ns, &self.policy.incidents);
        vec![Effect::RemoveRecord { key: choice.key }]
    }
}

/// Whether what is held under the key names the plan as its reference.
fn is_reference_of(entry: &Entry, name: &Text) -> bool {
    let held = entry.held.as_ref().map(|held| &held.reference);
    let bypass = entry.bypass.as_ref().map(|bypass| &bypass.reference);
    held == Some(name) || bypass == Some(name)
}
