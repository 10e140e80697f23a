//! One search: the reference, then a turn for each candidate (S6), and who wins (S7).

mod trial;

use crate::block::{RUNS, Side, order, ratio};
use crate::effect::{Effect, Purpose};
use crate::event::{Failure, FailureKind, Outcome, Validation};
use crate::evidence::{Assessment, Bar, Rule, Verdict};
use crate::fraction::Fraction;
use crate::median::median_time_ns;
use crate::memory::{Exclusion, Memory};
use crate::moment::{Moment, SECOND_NS};
use crate::natural::Natural;
use crate::policy::Policy;
use crate::problem::Question;
use crate::report::{Account, Became};
use trial::{Fate, Trial};

/// What a search is about and what surrounds it at one event.
pub struct Scene<'a> {
    pub request: i128,
    pub asked: Moment,
    pub now: Moment,
    pub question: &'a Question,
    pub policy: &'a Policy,
    pub memory: &'a mut Memory,
}

pub struct Search {
    rule: Rule,
    trials: Vec<Trial>,
    /// Turns that have begun, the reference's included.
    turns: usize,
    /// The first candidate that has neither had its turn nor been passed over.
    next: usize,
    current: usize,
    ends_ns: i128,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Warmup { done: usize },
    Validation,
    Baseline,
    Block { order: [Side; RUNS], done: usize, times_ns: [i128; RUNS], started_ns: i128 },
}

pub enum Progress {
    Awaits(Effect),
    Ends(Ending),
}

pub enum Ending {
    Decided(Box<Choice>),
    Bypassed { expires: bool },
    DeviceFailed(Failure),
}

/// The plan that won, and what it rests on.
pub struct Choice {
    pub index: usize,
    pub validation: Validation,
    pub ratio: Fraction,
    pub dispersion: Fraction,
    pub blocks: usize,
    pub reference_ns: i128,
    pub winner_ns: i128,
    pub complete: bool,
    /// Whether any candidate was measured to a verdict.
    pub measured: bool,
}

impl Search {
    /// The search and the effect that it awaits first.
    pub fn begin(scene: &Scene) -> (Search, Effect) {
        let candidates = scene.question.candidates.len();
        let sharing = (candidates - 1).min(scene.policy.max_candidates - 1).max(1);
        let search = Search {
            rule: scene.policy.evidence.shared(sharing),
            trials: vec![Trial::new(); candidates],
            turns: 1,
            next: 0,
            current: scene.question.reference,
            ends_ns: scene.asked.monotonic_ns + scene.policy.budget_ns,
            step: Step::Warmup { done: 0 },
        };
        let effect = search.effect(scene);
        (search, effect)
    }

    pub fn awaits_validation(&self) -> bool {
        matches!(self.step, Step::Validation)
    }

    pub fn take(&mut self, scene: &mut Scene, outcome: Outcome) -> Progress {
        match outcome {
            Outcome::Measured(latency_ns) => self.measured(scene, latency_ns),
            Outcome::Validated(validation) => self.validated(scene, validation),
            Outcome::Unverifiable if scene.policy.require_validation => {
                self.failed(scene, Failure::new(FailureKind::Unsupported, "unverifiable"))
            }
            Outcome::Unverifiable => self.validated(scene, Validation::WAIVED),
            Outcome::Failed(failure) => self.failed(scene, failure),
        }
    }

    fn measured(&mut self, scene: &mut Scene, latency_ns: i128) -> Progress {
        if self.is_over_time(scene) {
            return self.close(scene, Fate::Cut);
        }
        if let Step::Warmup { done: 0 } = self.step {
            self.trial().first_ns = Some(latency_ns);
            if !self.is_reference(scene) && !self.set_bar(scene, latency_ns) {
                return self.close(scene, Fate::Unpaid);
            }
        }
        match self.step {
            Step::Warmup { done } if done + 1 < scene.policy.warmups => {
                self.step = Step::Warmup { done: done + 1 };
            }
            Step::Warmup { .. } => self.step = Step::Validation,
            Step::Validation => unreachable!("a validation is no measurement"),
            Step::Baseline if latency_ns == 0 => {
                self.trial().fate = Fate::Failed { transient: false };
                return Progress::Ends(Ending::Bypassed { expires: false });
            }
            Step::Baseline => return self.close(scene, Fate::Baseline(latency_ns)),
            Step::Block { .. } if latency_ns == 0 => {
                return self.close(scene, Fate::Failed { transient: false });
            }
            Step::Block { order, done, mut times_ns, started_ns } => {
                times_ns[done] = latency_ns;
                if done + 1 == RUNS {
                    self.trial().started_ns.push(started_ns);
                    return self.finish_block(scene, order, times_ns);
                }
                self.step = Step::Block { order, done: done + 1, times_ns, started_ns };
            }
        }
        Progress::Awaits(self.effect(scene))
    }

    fn validated(&mut self, scene: &mut Scene, validation: Validation) -> Progress {
        self.trial().validation = Some(validation);
        if self.is_over_time(scene) {
            return self.close(scene, Fate::Cut);
        }
        self.step = if self.is_reference(scene) { Step::Baseline } else { self.next_block(scene) };
        Progress::Awaits(self.effect(scene))
    }

    fn failed(&mut self, scene: &mut Scene, failure: Failure) -> Progress {
        if failure.kind == FailureKind::Device {
            self.trial().fate = Fate::Failed { transient: false };
            return Progress::Ends(Ending::DeviceFailed(failure));
        }
        if self.is_reference(scene) {
            let transient = failure.kind == FailureKind::Transient;
            self.trial().fate = Fate::Failed { transient };
            return Progress::Ends(Ending::Bypassed { expires: transient });
        }
        let beside_it = match self.step {
            Step::Block { order, done, .. } => order[done] == Side::Reference,
            _ => false,
        };
        let transient = beside_it || failure.kind == FailureKind::Transient;
        if failure.kind == FailureKind::Transient && self.is_over_time(scene) {
            return self.close(scene, Fate::Cut);
        }
        let exclusion = if transient {
            Exclusion::Until(scene.now.monotonic_ns + scene.policy.retry_after_s * SECOND_NS)
        } else {
            Exclusion::WhileHeld
        };
        let name = &scene.question.candidates[self.current].name;
        scene.memory.entry(&scene.question.key).exclude(name, exclusion);
        self.close(scene, Fate::Failed { transient })
    }

    fn finish_block(
        &mut self,
        scene: &mut Scene,
        order: [Side; RUNS],
        times_ns: [i128; RUNS],
    ) -> Progress {
        let times_of = |side: Side| {
            let mut times = (0..RUNS).filter(|run| order[*run] == side).map(|run| times_ns[run]);
            [(); 2].map(|()| times.next().expect("each side runs twice"))
        };
        let (reference_ns, candidate_ns) = (times_of(Side::Reference), times_of(Side::Candidate));
        let exact = |times_ns: [i128; 2]| times_ns.map(|time_ns| Natural::from(time_ns as u128));
        let trial = &mut self.trials[self.current];
        trial.reference_ns.extend(reference_ns);
        trial.candidate_ns.extend(candidate_ns);
        trial.ratios.push(ratio(&exact(reference_ns), &exact(candidate_ns)));
        let bar = trial.bar.as_ref().expect("a turn's first warm-up sets its bar");
        let assessment = self.rule.look(&trial.ratios, bar);
        if assessment.verdict != Verdict::Undecided {
            return self.close(scene, Fate::Judged(assessment));
        }
        self.step = self.next_block(scene);
        Progress::Awaits(self.effect(scene))
    }

    /// Weigh the first call of the current candidate, and hold its blocks against what is left
    /// below the best so far. Whether anything is.
    fn set_bar(&mut self, scene: &Scene, first_ns: i128) -> bool {
        let reference = &self.trials[scene.question.reference];
        let (Fate::Baseline(baseline_ns), Some(reference_first_ns)) =
            (&reference.fate, reference.first_ns)
        else {
            unreachable!("the reference has had its turn");
        };
        let over_ns = (first_ns - reference_first_ns).max(0) as u128;
        let calls_ns =
            &Natural::from(scene.policy.reuse as u128) * &Natural::from(*baseline_ns as u128);
        let extra = Fraction::new(Natural::from(over_ns), calls_ns).expect("a baseline takes time");
        let needed = &Fraction::one() / &scene.policy.min_speedup;
        let best = self.best(scene).map(|(_, cost)| cost);
        let lowest = best.iter().chain([&needed]).min().expect("there is one");
        if extra >= *lowest {
            return false;
        }
        let bar = Bar {
            min_speedup: &Fraction::one() / &needed.distance(&extra),
            to_beat: best.map(|cost| cost.distance(&extra)),
        };
        let trial = self.trial();
        trial.extra = extra;
        trial.bar = Some(bar);
        true
    }

    /// Who would win now, and what a call of it costs in the long run.
    fn best(&self, scene: &Scene) -> Option<(usize, Fraction)> {
        let (key, now_ns) = (&scene.question.key, scene.now.monotonic_ns);
        let mut best: Option<(usize, Fraction)> = None;
        for (index, trial) in self.trials.iter().enumerate() {
            let name = &scene.question.candidates[index].name;
            if let Some(cost) = trial.qualifying_cost(scene.policy)
                && scene.memory.exclusion(key, name, now_ns).is_none()
                && best.as_ref().is_none_or(|(_, least)| cost < *least)
            {
                best = Some((index, cost));
            }
        }
        best
    }

    /// End the current turn and go on with the next candidate.
    fn close(&mut self, scene: &mut Scene, fate: Fate) -> Progress {
        self.trial().fate = fate;
        while self.next < self.trials.len() {
            let candidate = self.next;
            self.next += 1;
            if candidate == scene.question.reference {
                continue;
            }
            match self.passed_over(scene, candidate) {
                Some(fate) => self.trials[candidate].fate = fate,
                None => {
                    self.begin_turn(scene, candidate);
                    return Progress::Awaits(self.effect(scene));
                }
            }
        }
        Progress::Ends(self.conclude(scene))
    }

    fn passed_over(&self, scene: &Scene, candidate: usize) -> Option<Fate> {
        let now_ns = scene.now.monotonic_ns;
        let plan = &scene.question.candidates[candidate];
        if !plan.fits(scene.policy.max_workspace_bytes) {
            return Some(Fate::Unfit);
        }
        if let Some(excluded) = scene.memory.exclusion(&scene.question.key, &plan.name, now_ns) {
            return Some(Fate::Excluded { expires: excluded.expires });
        }
        if now_ns >= scene.asked.monotonic_ns + scene.policy.budget_ns {
            return Some(Fate::OutOfTime);
        }
        (self.turns >= scene.policy.max_candidates).then_some(Fate::OverLimit)
    }

    fn begin_turn(&mut self, scene: &Scene, candidate: usize) {
        let now_ns = scene.now.monotonic_ns;
        let left_ns = scene.asked.monotonic_ns + scene.policy.budget_ns - now_ns;
        let waiting = (candidate..self.trials.len())
            .filter(|place| *place != scene.question.reference)
            .filter(|place| {
                scene.question.candidates[*place].fits(scene.policy.max_workspace_bytes)
            })
            .count();
        let turns = waiting.min(scene.policy.max_candidates - self.turns);
        self.ends_ns = now_ns + left_ns.min(2 * left_ns / turns as i128);
        self.turns += 1;
        self.current = candidate;
        self.step = Step::Warmup { done: 0 };
    }

    fn next_block(&self, scene: &Scene) -> Step {
        let question = scene.question;
        let name = &question.candidates[self.current].name;
        let block = self.trials[self.current].ratios.len() as i128;
        let order = order(scene.policy.seed, &question.key, name, block);
        let started_ns = scene.now.monotonic_ns;
        Step::Block { order, done: 0, times_ns: [0; RUNS], started_ns }
    }

    fn effect(&self, scene: &Scene) -> Effect {
        let (candidate, purpose) = match self.step {
            Step::Warmup { .. } => (self.current, Purpose::Warmup),
            Step::Baseline => (self.current, Purpose::Baseline),
            Step::Block { order, done, .. } => match order[done] {
                Side::Reference => (scene.question.reference, Purpose::Paired),
                Side::Candidate => (self.current, Purpose::Paired),
            },
            Step::Validation => {
                return Effect::Validate {
                    request: scene.request,
                    reference: scene.question.reference,
                    candidate: self.current,
                    deadline_ns: self.ends_ns,
                };
            }
        };
        Effect::Measure { request: scene.request, candidate, purpose, deadline_ns: self.ends_ns }
    }

    fn conclude(&self, scene: &Scene) -> Ending {
        let judged = |trial: &Trial| matches!(trial.fate, Fate::Judged(_) | Fate::Unpaid);
        let measured = self.trials.iter().any(judged);
        if !measured && self.ran_out_of_time() {
            return Ending::Bypassed { expires: true };
        }
        let complete = self.trials.iter().all(|trial| trial.fate.leaves_complete());
        let index = self.best(scene).map_or(scene.question.reference, |(index, _)| index);
        let trial = &self.trials[index];
        let validation = trial.validation.unwrap_or(Validation::WAIVED);
        let choice = match &trial.fate {
            Fate::Judged(Assessment { dispersion: Some(dispersion), blocks, .. }) => Choice {
                index,
                validation,
                ratio: trial.ratio().expect("a verdict to promote rests on blocks"),
                dispersion: dispersion.clone(),
                blocks: *blocks,
                reference_ns: median_time_ns(&trial.reference_ns),
                winner_ns: median_time_ns(&trial.candidate_ns),
                complete,
                measured,
            },
            Fate::Baseline(baseline_ns) => Choice {
                index,
                validation,
                ratio: Fraction::one(),
                dispersion: Fraction::zero(),
                blocks: 0,
                reference_ns: *baseline_ns,
                winner_ns: *baseline_ns,
                complete,
                measured,
            },
            _ => unreachable!("a search concludes with a measured reference"),
        };
        Ending::Decided(Box::new(choice))
    }

    /// Whether a turn was cut, or a candidate passed over for time.
    pub fn ran_out_of_time(&self) -> bool {
        self.trials.iter().any(|trial| matches!(trial.fate, Fate::Cut | Fate::OutOfTime))
    }

    /// What became of each candidate: the reference first, then in order of the request. A turn
    /// that was under way when the search was given up is told as if it had not begun; so is the
    /// reference's, which then has its place in the request.
    pub fn accounts(&self, question: &Question, policy: &Policy, winner: usize) -> Vec<Account> {
        let mut places: Vec<usize> = (0..self.trials.len()).collect();
        if !matches!(self.trials[question.reference].fate, Fate::Open) {
            places.sort_by_key(|place| *place != question.reference);
        }
        places
            .into_iter()
            .map(|place| {
                let trial = &self.trials[place];
                let name = question.candidates[place].name.clone();
                if matches!(trial.fate, Fate::Open) {
                    return Trial::new().account(name, Became::Skipped);
                }
                let won = place == winner && place != question.reference;
                trial.account(name, trial.became(policy, won))
            })
            .collect()
    }

    fn is_reference(&self, scene: &Scene) -> bool {
        self.current == scene.question.reference
    }

    /// The budget does not cut the reference.
    fn is_over_time(&self, scene: &Scene) -> bool {
        !self.is_reference(scene) && scene.now.monotonic_ns >= self.ends_ns
    }

    fn trial(&mut self) -> &mut Trial {
        &mut self.trials[self.current]
    }
}
