//! The selector: a function from state and event to state and effects (S2 to S13).

mod confirmation;
mod taking_back;

use std::collections::{BTreeMap, VecDeque};

use crate::canonical;
use crate::effect::{Answer, Decision, Effect, Source};
use crate::event::{Asked, Event, EventKind, Failure, FailureKind, Outcome};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::memory::{Bypass, Entry, Held, Memory};
use crate::moment::{Moment, SECOND_NS};
use crate::policy::{Mode, Policy};
use crate::problem::{Question, Scope};
use crate::quarantine::Quarantine;
use crate::record::{Origin, Record, lifetime_s};
use crate::refusal::Refusal;
use crate::report::Report;
use crate::search::{Choice, Ending, Progress, Scene, Search};
use crate::tally::Tally;
use crate::text::Text;
use confirmation::{Confirmation, Confirmed};

pub struct Selector {
    policy: Policy,
    memory: Memory,
    quarantine: Quarantine,
    under_way: BTreeMap<i128, UnderWay>,
    tally: Tally,
    reports: VecDeque<Report>,
}

/// A request that has not been answered.
struct UnderWay {
    request: i128,
    asked: Moment,
    question: Question,
    stage: Stage,
}

enum Stage {
    LookingUp,
    Confirming(Box<Confirmation>),
    Searching(Box<Search>),
}

impl Selector {
    pub fn new(policy: Policy) -> Self {
        Selector {
            memory: Memory::new(policy.capacity),
            policy,
            quarantine: Quarantine::default(),
            under_way: BTreeMap::new(),
            tally: Tally::default(),
            reports: VecDeque::new(),
        }
    }

    /// Take in an event; what is refused changes nothing.
    pub fn step(&mut self, event: Event) -> Result<Vec<Effect>, Refusal> {
        let now = event.now;
        match event.kind {
            EventKind::Requested { request, asked } => {
                if self.under_way.contains_key(&request) {
                    return out_of_turn(format!("request {request} is under way already"));
                }
                Ok(self.requested(request, now, *asked))
            }
            EventKind::LookedUp { request, found } => {
                let going = self
                    .take_turn(request, "a look-up", |stage| matches!(stage, Stage::LookingUp))?;
                Ok(self.looked_up(going, now, found))
            }
            EventKind::Tried { request, outcome } => {
                if let Outcome::Failed(failure) = &outcome
                    && matches!(failure.kind, FailureKind::Invalid | FailureKind::Quarantined)
                {
                    return out_of_turn(format!("no trial fails as {}", failure.kind.word()));
                }
                let going =
                    self.take_turn(request, "a trial", |stage| is_awaited(stage, &outcome))?;
                Ok(self.tried(going, now, outcome))
            }
            EventKind::Abandoned { request } => {
                let going = self.take_turn(request, "a request to abandon", |_| true)?;
                Ok(self.abandoned(going, now))
            }
            EventKind::Invalidated { choice, ban } => Ok(self.invalidated(choice, ban)),
            EventKind::Compared { choice, reference_ns, selected_ns } => {
                let ratio = Fraction::of(selected_ns as u128, reference_ns as u128);
                Ok(self.compared(choice, ratio, now))
            }
            EventKind::StoreFailed => {
                self.tally.store_warnings += 1;
                Ok(Vec::new())
            }
        }
    }

    /// What would be served now by operators and fused graphs, as one digest (S12).
    pub fn fingerprint(&self, now: Moment) -> String {
        let mut served: Vec<(&Text, &Text)> = self
            .memory
            .entries()
            .filter_map(|(key, entry)| Some((key, self.served(entry, now.monotonic_ns)?)))
            .collect();
        served.sort();
        let list = Value::array(served, |(key, plan)| {
            Value::Array(vec![Value::Text(key.clone()), Value::Text(plan.clone())])
        });
        canonical::digest(&list.to_line())
    }

    pub fn statistics(&self) -> Value {
        self.tally.to_value(self.memory.evictions)
    }

    pub fn reports(&self) -> Value {
        Value::array(&self.reports, Report::to_value)
    }

    fn served<'a>(&self, entry: &'a Entry, now_ns: i128) -> Option<&'a Text> {
        let waits = |held: &Held| held.provisional && self.policy.require_validation;
        let held = entry.held.as_ref().filter(|held| now_ns < held.ends_ns && !waits(held));
        let bypass = entry.bypass.as_ref().filter(|bypass| bypass.is_live(now_ns));
        let (plan, scope) = match (held, bypass) {
            (Some(held), _) => (&held.winner, held.scope),
            (None, Some(bypass)) => (&bypass.reference, bypass.scope),
            (None, None) => return None,
        };
        (scope != Scope::Pipeline).then_some(plan)
    }

    /// Take the request out of those under way, if this is what it awaits.
    fn take_turn(
        &mut self,
        request: i128,
        what: &str,
        awaits: impl Fn(&Stage) -> bool,
    ) -> Result<UnderWay, Refusal> {
        match self.under_way.remove(&request) {
            Some(going) if awaits(&going.stage) => Ok(going),
            Some(going) => {
                let need = going.stage.awaited();
                self.under_way.insert(request, going);
                out_of_turn(format!("request {request} awaits {need}, got {what}"))
            }
            None => out_of_turn(format!("no request {request} is under way, got {what}")),
        }
    }

    fn requested(&mut self, request: i128, now: Moment, asked: Asked) -> Vec<Effect> {
        self.tally.requests += 1;
        let Asked { problem, candidates, reference, nested } = asked;
        let question = match Question::new(problem, candidates, reference, &self.policy) {
            Ok(question) => question,
            Err(code) => return self.fails(request, Failure::new(FailureKind::Invalid, code)),
        };
        if self.quarantine.holds(&question.lane) {
            let failure = Failure::new(FailureKind::Quarantined, "quarantined");
            return self.fails(request, failure);
        }
        let going = UnderWay { request, asked: now, question, stage: Stage::LookingUp };
        if self.policy.mode == Mode::Disabled {
            return self.falls_back(&going, Source::Disabled);
        }
        let held = self.servable(&going.question, now.monotonic_ns);
        let must_confirm =
            |held: &Held| self.policy.require_validation && (held.provisional || !held.verified);
        if let Some((index, held)) = held.as_ref().filter(|(_, held)| !must_confirm(held)) {
            return self.serves(&going, *index, held, Source::Memory);
        }
        let entry = self.memory.get(&going.question.key);
        let bypass = entry.and_then(|entry| entry.bypass.as_ref());
        if bypass.is_some_and(|bypass| bypass.is_live(now.monotonic_ns)) {
            return self.falls_back(&going, Source::Bypassed);
        }
        if nested {
            return self.falls_back(&going, Source::Nested);
        }
        let same_lane = |other: &UnderWay| other.question.lane == going.question.lane;
        if self.under_way.len() >= self.policy.max_parallel
            || self.under_way.values().any(same_lane)
        {
            return self.falls_back(&going, Source::Busy);
        }
        if let Some((index, held)) = held {
            return self.confirms(going, Confirmation { held, index, origin: Confirmed::Memory });
        }
        if !going.question.problem.persistent {
            return self.misses(going, now);
        }
        let key = going.question.key.clone();
        self.under_way.insert(request, going);
        vec![Effect::LoadRecord { request, key }]
    }

    /// The held decision whose winner this request can be served with, and the winner's place.
    fn servable(&self, question: &Question, now_ns: i128) -> Option<(usize, Held)> {
        let held = self.memory.get(&question.key)?.held.as_ref()?;
        let index = self.usable(question, &held.winner, now_ns)?;
        (now_ns < held.ends_ns).then(|| (index, held.clone()))
    }

    /// The place of a plan that is a candidate, fits and is not excluded.
    fn usable(&self, question: &Question, name: &Text, now_ns: i128) -> Option<usize> {
        let index = question.place_of(name)?;
        let fits = question.candidates[index].fits(self.policy.max_workspace_bytes);
        let excluded = index != question.reference
            && self.memory.exclusion(&question.key, name, now_ns).is_some();
        (fits && !excluded).then_some(index)
    }

    fn misses(&mut self, mut going: UnderWay, now: Moment) -> Vec<Effect> {
        if self.policy.mode == Mode::CacheOnly {
            return self.falls_back(&going, Source::CacheMiss);
        }
        self.tally.explorations += 1;
        let (search, effect) = Search::begin(&Scene {
            request: going.request,
            asked: going.asked,
            now,
            question: &going.question,
            policy: &self.policy,
            memory: &mut self.memory,
        });
        going.stage = Stage::Searching(Box::new(search));
        self.under_way.insert(going.request, going);
        vec![effect]
    }

    fn tried(&mut self, mut going: UnderWay, now: Moment, outcome: Outcome) -> Vec<Effect> {
        match std::mem::replace(&mut going.stage, Stage::LookingUp) {
            Stage::LookingUp => unreachable!("a look-up awaits no trial"),
            Stage::Confirming(confirmation) => self.confirmed(going, now, *confirmation, outcome),
            Stage::Searching(mut search) => {
                let progress = search.take(
                    &mut Scene {
                        request: going.request,
                        asked: going.asked,
                        now,
                        question: &going.question,
                        policy: &self.policy,
                        memory: &mut self.memory,
                    },
                    outcome,
                );
                match progress {
                    Progress::Awaits(effect) => {
                        going.stage = Stage::Searching(search);
                        self.under_way.insert(going.request, going);
                        vec![effect]
                    }
                    Progress::Ends(ending) => self.ends(going, now, &search, ending),
                }
            }
        }
    }

    fn ends(
        &mut self,
        going: UnderWay,
        now: Moment,
        search: &Search,
        ending: Ending,
    ) -> Vec<Effect> {
        let question = &going.question;
        match ending {
            Ending::Decided(choice) => {
                self.report(&going, now, search, choice.index);
                self.decides(&going, now, *choice)
            }
            Ending::Bypassed { expires } => {
                let bypass = Bypass {
                    reference: question.reference_name().clone(),
                    scope: question.problem.scope,
                    until_ns: expires.then(|| self.retry_at_ns(now)),
                };
                self.memory.bypass(&question.key, bypass);
                self.report(&going, now, search, question.reference);
                self.falls_back(&going, Source::Bypassed)
            }
            Ending::DeviceFailed(failure) => {
                self.quarantine.add(&question.lane);
                self.report(&going, now, search, question.reference);
                self.fails(going.request, failure)
            }
        }
    }

    fn decides(&mut self, going: &UnderWay, now: Moment, choice: Choice) -> Vec<Effect> {
        let question = &going.question;
        let lifetime_s = lifetime_s(choice.complete, self.policy.ttl_s, self.policy.retry_after_s);
        let held = Held {
            winner: question.candidates[choice.index].name.clone(),
            reference: question.reference_name().clone(),
            scope: question.problem.scope,
            ratio: choice.ratio.clone(),
            verified: choice.validation.verified,
            provisional: choice.validation.provisional,
            ends_ns: now.monotonic_ns + lifetime_s * SECOND_NS,
        };
        self.memory.hold(&question.key, held.clone());
        let mut effects = Vec::new();
        if choice.measured && question.problem.persistent {
            self.tally.saved += 1;
            effects.push(Effect::SaveRecord(Box::new(Record {
                key: question.key.clone(),
                scope: question.problem.scope,
                winner: held.winner.clone(),
                reference: held.reference.clone(),
                created_s: now.wall_s,
                reference_ns: choice.reference_ns,
                winner_ns: choice.winner_ns,
                ratio: choice.ratio,
                dispersion: choice.dispersion,
                blocks: choice.blocks as i128,
                verified: choice.validation.verified,
                feeds: choice.validation.feeds,
                provisional: choice.validation.provisional,
                complete: choice.complete,
                origin: Origin::Local,
            })));
        }
        effects.extend(self.serves(going, choice.index, &held, Source::Tuned));
        effects
    }

    fn abandoned(&mut self, going: UnderWay, now: Moment) -> Vec<Effect> {
        self.tally.abandoned += 1;
        if let Stage::Searching(search) = &going.stage {
            self.report(&going, now, search, going.question.reference);
        }
        self.falls_back(&going, Source::Bypassed)
    }

    fn report(&mut self, going: &UnderWay, now: Moment, search: &Search, winner: usize) {
        let question = &going.question;
        self.reports.push_back(Report {
            key: question.key.clone(),
            scope: question.problem.scope,
            operation: question.problem.operation.clone(),
            winner: question.candidates[winner].name.clone(),
            elapsed_ns: now.monotonic_ns - going.asked.monotonic_ns,
            budget_exhausted: search.ran_out_of_time(),
            candidates: search.accounts(question, &self.policy, winner),
        });
        if self.reports.len() > self.policy.reports {
            self.reports.pop_front();
        }
    }

    fn serves(
        &mut self,
        going: &UnderWay,
        index: usize,
        held: &Held,
        source: Source,
    ) -> Vec<Effect> {
        let decision = Decision {
            index,
            reference_index: going.question.reference,
            name: held.winner.clone(),
            source,
            verified: held.verified,
            ratio: Some(held.ratio.clone()),
            key: going.question.key.clone(),
        };
        self.answers(going.request, Answer::Decision(decision))
    }

    /// The reference, unverified and without ratio.
    fn falls_back(&mut self, going: &UnderWay, source: Source) -> Vec<Effect> {
        let decision = Decision {
            index: going.question.reference,
            reference_index: going.question.reference,
            name: going.question.reference_name().clone(),
            source,
            verified: false,
            ratio: None,
            key: going.question.key.clone(),
        };
        self.answers(going.request, Answer::Decision(decision))
    }

    fn fails(&mut self, request: i128, failure: Failure) -> Vec<Effect> {
        self.answers(request, Answer::Failure(failure))
    }

    fn answers(&mut self, request: i128, answer: Answer) -> Vec<Effect> {
        self.tally.answered(&answer);
        vec![Effect::Answer { request, answer }]
    }

    fn retry_at_ns(&self, now: Moment) -> i128 {
        now.monotonic_ns + self.policy.retry_after_s * SECOND_NS
    }
}

impl Stage {
    fn awaited(&self) -> &'static str {
        match self {
            Stage::LookingUp => "a record or its absence",
            Stage::Confirming(_) => "a validation",
            Stage::Searching(search) if search.awaits_validation() => "a validation",
            Stage::Searching(_) => "a measurement",
        }
    }
}

fn is_awaited(stage: &Stage, outcome: &Outcome) -> bool {
    let awaits_validation = match stage {
        Stage::LookingUp => return false,
        Stage::Confirming(_) => true,
        Stage::Searching(search) => search.awaits_validation(),
    };
    match outcome {
        Outcome::Measured(_) => !awaits_validation,
        Outcome::Validated(_) | Outcome::Unverifiable => awaits_validation,
        Outcome::Failed(_) => true,
    }
}

fn out_of_turn<T>(reason: String) -> Result<T, Refusal> {
    Err(Refusal::OutOfTurn(reason))
}
