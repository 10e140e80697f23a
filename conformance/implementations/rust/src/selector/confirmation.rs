//! Records and provisional decisions: served after one more validation of their winner (S5).

use super::{Selector, Stage, UnderWay};
use crate::effect::{Effect, Source};
use crate::event::{FailureKind, Found, Outcome, Validation};
use crate::evidence::is_enough;
use crate::fraction::Fraction;
use crate::memory::{Exclusion, Held};
use crate::moment::{Moment, SECOND_NS};
use crate::problem::Question;
use crate::record::{CLOCK_SKEW_S, Record};

/// A decision that is served if its winner passes one more validation (S5).
pub(super) struct Confirmation {
    pub(super) held: Held,
    pub(super) index: usize,
    pub(super) origin: Confirmed,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Confirmed {
    Record,
    Memory,
}

impl Selector {
    pub(super) fn looked_up(&mut self, going: UnderWay, now: Moment, found: Found) -> Vec<Effect> {
        let record = match found {
            Found::Nothing => return self.misses(going, now),
            Found::Unreadable => {
                self.tally.store_warnings += 1;
                return self.misses(going, now);
            }
            Found::Record(record) => record,
        };
        let question = &going.question;
        let age_s = record.age_s(now.wall_s);
        if !self.is_own(&record, question) || age_s < -CLOCK_SKEW_S {
            self.tally.store_warnings += 1;
            return self.misses(going, now);
        }
        let lifetime_s = record.lifetime_s(self.policy.ttl_s, self.policy.retry_after_s);
        let left_s = lifetime_s - age_s.max(0);
        let usable = self.usable(question, &record.winner, now.monotonic_ns);
        let vouched = record.verified || !self.policy.require_validation;
        match usable {
            Some(index) if left_s > 0 && vouched => {
                let held = Held {
                    winner: record.winner,
                    reference: record.reference,
                    scope: record.scope,
                    ratio: record.ratio,
                    verified: false,
                    provisional: false,
                    ends_ns: now.monotonic_ns + left_s * SECOND_NS,
                };
                let origin = Confirmed::Record;
                self.confirms(going, Confirmation { held, index, origin })
            }
            _ => self.misses(going, now),
        }
    }

    /// Whether a record answers this question and its evidence would promote its winner.
    fn is_own(&self, record: &Record, question: &Question) -> bool {
        let promotes = record.winner == record.reference
            || record.blocks > 0
                && record.ratio < Fraction::one()
                && is_enough(&record.ratio, &self.policy.min_speedup);
        record.key == question.key
            && record.scope == question.problem.scope
            && record.reference == *question.reference_name()
            && promotes
    }

    pub(super) fn confirms(
        &mut self,
        mut going: UnderWay,
        confirmation: Confirmation,
    ) -> Vec<Effect> {
        let effect = Effect::Validate {
            request: going.request,
            reference: going.question.reference,
            candidate: confirmation.index,
            deadline_ns: going.asked.monotonic_ns + self.policy.budget_ns,
        };
        going.stage = Stage::Confirming(Box::new(confirmation));
        self.under_way.insert(going.request, going);
        vec![effect]
    }

    pub(super) fn confirmed(
        &mut self,
        going: UnderWay,
        now: Moment,
        confirmation: Confirmation,
        outcome: Outcome,
    ) -> Vec<Effect> {
        let required = self.policy.require_validation;
        let validation = match outcome {
            Outcome::Validated(validation) => validation,
            Outcome::Unverifiable if !required => Validation::WAIVED,
            Outcome::Failed(failure) if failure.kind == FailureKind::Device => {
                self.quarantine.add(&going.question.lane);
                return self.fails(going.request, failure);
            }
            Outcome::Failed(failure) => {
                return self.unconfirmed(going, now, &confirmation, failure.kind);
            }
            Outcome::Unverifiable | Outcome::Measured(_) => {
                return self.unconfirmed(going, now, &confirmation, FailureKind::Unsupported);
            }
        };
        let Confirmation { mut held, index, .. } = confirmation;
        let usable = self.usable(&going.question, &held.winner, now.monotonic_ns).is_some();
        if !usable || now.monotonic_ns >= held.ends_ns {
            return self.misses(going, now);
        }
        held.verified = validation.verified;
        held.provisional = validation.provisional;
        self.memory.hold(&going.question.key, held.clone());
        self.serves(&going, index, &held, Source::Stored)
    }

    /// The winner failed: what was to be served goes, and the winner is excluded.
    fn unconfirmed(
        &mut self,
        going: UnderWay,
        now: Moment,
        confirmation: &Confirmation,
        kind: FailureKind,
    ) -> Vec<Effect> {
        let question = &going.question;
        if confirmation.origin == Confirmed::Memory
            && let Some(entry) = self.memory.get_mut(&question.key)
        {
            entry.take_back();
        }
        if confirmation.index != question.reference {
            let exclusion = match kind {
                FailureKind::Transient => Exclusion::Until(self.retry_at_ns(now)),
                _ => Exclusion::WhileHeld,
            };
            self.memory.entry(&question.key).exclude(&confirmation.held.winner, exclusion);
        }
        let mut effects = Vec::new();
        if question.problem.persistent {
            effects.push(Effect::RemoveRecord { key: question.key.clone() });
        }
        effects.extend(self.misses(going, now));
        effects
    }
}
