//! What is known of one candidate in a search, and what is told of it.

use crate::event::Validation;
use crate::evidence::{Assessment, Bar, Verdict, is_enough};
use crate::fraction::Fraction;
use crate::median::{median_time_ns, spread};
use crate::natural::Natural;
use crate::policy::Policy;
use crate::report::{Account, Became};
use crate::text::Text;

#[derive(Clone)]
pub(super) struct Trial {
    pub(super) fate: Fate,
    pub(super) first_ns: Option<i128>,
    /// A call's share of what the first one costs over the reference's, in reference calls.
    pub(super) extra: Fraction,
    /// Set by the first warm-up.
    pub(super) bar: Option<Bar>,
    pub(super) validation: Option<Validation>,
    pub(super) ratios: Vec<Fraction>,
    pub(super) reference_ns: Vec<i128>,
    pub(super) candidate_ns: Vec<i128>,
    /// When each block began.
    pub(super) started_ns: Vec<i128>,
}

#[derive(Clone)]
pub(super) enum Fate {
    /// Its turn has not begun or is under way.
    Open,
    Unfit,
    Excluded {
        expires: bool,
    },
    OutOfTime,
    OverLimit,
    Cut,
    Failed {
        transient: bool,
    },
    /// The reference was measured.
    Baseline(i128),
    Judged(Assessment),
    /// Given up after its first call, which nothing that follows could repay.
    Unpaid,
}

impl Trial {
    pub(super) fn new() -> Self {
        Trial {
            fate: Fate::Open,
            first_ns: None,
            extra: Fraction::zero(),
            bar: None,
            validation: None,
            ratios: Vec::new(),
            reference_ns: Vec::new(),
            candidate_ns: Vec::new(),
            started_ns: Vec::new(),
        }
    }

    /// What a call costs in the long run, where it may win (S7).
    pub(super) fn qualifying_cost(&self, policy: &Policy) -> Option<Fraction> {
        let Fate::Judged(Assessment { verdict: Verdict::Faster, .. }) = &self.fate else {
            return None;
        };
        let vouched = self.is_verified() || !policy.require_validation;
        let cost = &self.ratio()? + &self.extra;
        let faster = cost < Fraction::one() && is_enough(&cost, &policy.min_speedup);
        (vouched && faster).then_some(cost)
    }

    /// In how many states of the machine the blocks were measured (E9).
    fn states(&self) -> i128 {
        let fall_apart = |times_ns: &[i128]| {
            let mut sums: Vec<i128> = times_ns.chunks(2).map(|pair| pair.iter().sum()).collect();
            sums.sort_unstable();
            let jumps = |low: usize| 2 * sums[low + 1] >= 3 * sums[low];
            (1..sums.len().saturating_sub(2)).any(jumps)
        };
        match (self.ratios.is_empty(), fall_apart(&self.reference_ns)) {
            (true, _) => 0,
            (false, false) if !fall_apart(&self.candidate_ns) => 1,
            _ => 2,
        }
    }

    /// The median of the block ratios, or over two states all time over all time.
    pub(super) fn ratio(&self) -> Option<Fraction> {
        let total = |times_ns: &[i128]| Natural::from(times_ns.iter().sum::<i128>() as u128);
        match self.states() {
            2 => Fraction::new(total(&self.candidate_ns), total(&self.reference_ns)),
            _ => spread(&self.ratios).map(|spread| spread.median),
        }
    }

    pub(super) fn is_verified(&self) -> bool {
        self.validation.is_some_and(|validation| validation.verified)
    }

    pub(super) fn became(&self, policy: &Policy, won: bool) -> Became {
        match &self.fate {
            Fate::Judged(_) if won => Became::Promoted,
            Fate::Judged(_) if self.qualifying_cost(policy).is_some() => Became::Faster,
            Fate::Judged(assessment) if assessment.verdict == Verdict::TooNoisy => Became::Noisy,
            Fate::Judged(_) | Fate::Unpaid => Became::NotFaster,
            Fate::Baseline(_) => Became::Reference,
            Fate::Unfit => Became::Ineligible,
            Fate::Excluded { .. } => Became::Banned,
            Fate::Failed { .. } => Became::Failed,
            Fate::Open | Fate::OutOfTime | Fate::OverLimit | Fate::Cut => Became::Skipped,
        }
    }

    pub(super) fn account(&self, name: Text, outcome: Became) -> Account {
        let (ratio, dispersion) = match &self.fate {
            Fate::Baseline(_) => (Some(Fraction::one()), Some(Fraction::zero())),
            Fate::Failed { .. } => (None, None),
            _ => (self.ratio(), spread(&self.ratios).map(|spread| spread.dispersion)),
        };
        let median_ns = match &self.fate {
            Fate::Baseline(baseline_ns) => Some(*baseline_ns),
            Fate::Judged(_) => Some(median_time_ns(&self.candidate_ns)),
            _ => None,
        };
        Account {
            name,
            outcome,
            blocks: self.ratios.len(),
            ratio,
            dispersion,
            verified: self.is_verified(),
            first_ns: self.first_ns,
            median_ns,
            states: self.states(),
            window_ns: match (self.started_ns.first(), self.started_ns.last()) {
                (Some(first), Some(last)) => last - first,
                _ => 0,
            },
        }
    }
}

impl Fate {
    /// Whether a search in which this happened can still be complete.
    pub(super) fn leaves_complete(&self) -> bool {
        !matches!(
            self,
            Fate::Cut
                | Fate::OutOfTime
                | Fate::OverLimit
                | Fate::Failed { transient: true }
                | Fate::Excluded { expires: true }
        )
    }
}
