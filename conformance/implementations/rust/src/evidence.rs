//! Rules of evidence: from block ratios to a verdict (E4), and one rate for a search (E5).

use crate::form::{self, Form, words};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::median::{median, spread};
use crate::natural::Natural;
use crate::refusal::{Refusal, need};

#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    MedianMad(MedianMad),
    AnytimeValid(AnytimeValid),
}

#[derive(Clone, PartialEq, Debug)]
pub struct MedianMad {
    pub samples: usize,
    pub max_relative_mad: Fraction,
}

#[derive(Clone, PartialEq, Debug)]
pub struct AnytimeValid {
    pub false_promotion_rate: Fraction,
    pub false_rejection_rate: Fraction,
    pub min_blocks: usize,
    pub max_blocks: usize,
}

words! {
    Verdict {
        Faster = "faster",
        NotFaster = "not-faster",
        TooNoisy = "too-noisy",
        Undecided = "undecided",
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    pub verdict: Verdict,
    pub ratio: Option<Fraction>,
    pub dispersion: Option<Fraction>,
    /// That the verdict rests on.
    pub blocks: usize,
}

/// What the blocks of a candidate are held against.
#[derive(Clone, PartialEq, Debug)]
pub struct Bar {
    pub min_speedup: Fraction,
    /// The ratio at which the best so far would be matched.
    pub to_beat: Option<Fraction>,
}

impl Rule {
    pub fn read(value: &Value) -> Result<Rule, Refusal> {
        let kind = Form::of(value)?.get("type", form::text)?;
        match kind.as_str() {
            Some("median-mad") => Ok(Rule::MedianMad(MedianMad::read(value)?)),
            Some("anytime-valid") => Ok(Rule::AnytimeValid(AnytimeValid::read(value)?)),
            _ => crate::refusal::invalid(format!("no such rule of evidence: {kind}")),
        }
    }

    /// The verdict of the first block at which the rule can end.
    pub fn assess(&self, ratios: &[Fraction], bar: &Bar) -> Assessment {
        let ends = |blocks: &usize| self.verdict(&ratios[..*blocks], bar) != Verdict::Undecided;
        let blocks = (1..ratios.len()).find(ends).unwrap_or(ratios.len());
        self.look(&ratios[..blocks], bar)
    }

    /// What the rule says at the last of these blocks, having been undecided at all before it.
    pub fn look(&self, ratios: &[Fraction], bar: &Bar) -> Assessment {
        let verdict = self.verdict(ratios, bar);
        let (ratio, dispersion) =
            spread(ratios).map(|spread| (spread.median, spread.dispersion)).unzip();
        Assessment { verdict, ratio, dispersion, blocks: ratios.len() }
    }

    fn verdict(&self, ratios: &[Fraction], bar: &Bar) -> Verdict {
        match self {
            Rule::MedianMad(rule) => rule.verdict(ratios, &bar.min_speedup),
            Rule::AnytimeValid(rule) => rule.verdict(ratios, bar),
        }
    }

    /// The rule for each of so many candidates of one search, so that its rate holds for all.
    pub fn shared(&self, candidates: usize) -> Rule {
        match self {
            Rule::MedianMad(_) => self.clone(),
            Rule::AnytimeValid(rule) => Rule::AnytimeValid(rule.shared(candidates)),
        }
    }
}

impl Default for Rule {
    fn default() -> Self {
        Rule::AnytimeValid(AnytimeValid {
            false_promotion_rate: Fraction::of(1, 100),
            false_rejection_rate: Fraction::of(1, 20),
            min_blocks: 5,
            max_blocks: 64,
        })
    }
}

impl MedianMad {
    pub fn read(value: &Value) -> Result<MedianMad, Refusal> {
        let form = Form::closed(value, &["type", "samples", "max_relative_mad"])?;
        Ok(MedianMad {
            samples: form.get_or("samples", 9, form::within(3, 4096))? as usize,
            max_relative_mad: form.get_or("max_relative_mad", Fraction::of(3, 100), rate)?,
        })
    }

    fn verdict(&self, ratios: &[Fraction], min_speedup: &Fraction) -> Verdict {
        if ratios.len() < self.samples {
            return Verdict::Undecided;
        }
        match spread(ratios) {
            Some(spread) if spread.dispersion > self.max_relative_mad => Verdict::TooNoisy,
            Some(spread) if is_enough(&spread.median, min_speedup) => Verdict::Faster,
            _ => Verdict::NotFaster,
        }
    }
}

impl AnytimeValid {
    pub fn read(value: &Value) -> Result<AnytimeValid, Refusal> {
        let form = Form::closed(
            value,
            &["type", "false_promotion_rate", "false_rejection_rate", "min_blocks", "max_blocks"],
        )?;
        let rule = AnytimeValid {
            false_promotion_rate: form.get_or(
                "false_promotion_rate",
                Fraction::of(1, 100),
                rate,
            )?,
            false_rejection_rate: form.get_or("false_rejection_rate", Fraction::of(1, 20), rate)?,
            min_blocks: form.get_or("min_blocks", 5, form::within(1, 4096))? as usize,
            max_blocks: form.get_or("max_blocks", 64, form::within(1, 4096))? as usize,
        };
        need(rule.min_blocks <= rule.max_blocks, "min_blocks of at most max_blocks")?;
        need(
            wealth_reaches(rule.max_blocks, 0, &rule.false_promotion_rate),
            "as many blocks as can promote",
        )?;
        Ok(rule)
    }

    fn verdict(&self, ratios: &[Fraction], bar: &Bar) -> Verdict {
        let blocks = ratios.len();
        if blocks < self.min_blocks {
            return Verdict::Undecided;
        }
        let par = Fraction::one();
        let wins = ratios.iter().filter(|ratio| **ratio < par).count();
        let losses = blocks - wins;
        if wealth_reaches(wins, losses, &self.false_promotion_rate)
            && is_enough(&median(ratios), &bar.min_speedup)
        {
            return Verdict::Faster;
        }
        let mut needed = &par / &bar.min_speedup;
        if let Some(to_beat) = &bar.to_beat {
            needed = needed.min(to_beat.clone());
        }
        let wins_against = ratios.iter().filter(|ratio| **ratio > needed).count();
        if wealth_reaches(wins_against, blocks - wins_against, &self.false_rejection_rate) {
            return Verdict::NotFaster;
        }
        if !wealth_reaches(self.max_blocks - losses, losses, &self.false_promotion_rate) {
            return Verdict::TooNoisy;
        }
        if blocks >= self.max_blocks { Verdict::NotFaster } else { Verdict::Undecided }
    }

    fn shared(&self, candidates: usize) -> AnytimeValid {
        let share = &self.false_promotion_rate / &Fraction::of(candidates as u128, 1);
        let mut max_blocks = self.max_blocks;
        while !wealth_reaches(max_blocks, 0, &share) {
            max_blocks += 1;
        }
        AnytimeValid { false_promotion_rate: share, max_blocks, ..self.clone() }
    }
}

/// Whether a plan of that ratio is as much faster as the policy wants.
pub fn is_enough(ratio: &Fraction, min_speedup: &Fraction) -> bool {
    ratio * min_speedup <= Fraction::one()
}

/// Whether the wealth of so many wins and losses is at least 1 / rate.
///
/// W(w, l) = (6^w 2^l + 7^w + 2·8^w·[l = 0]) / 4^(w + l + 1), so that both sides are compared as
/// whole numbers.
fn wealth_reaches(wins: usize, losses: usize, rate: &Fraction) -> bool {
    let power = |base: u128, exponent: usize| Natural::from(base).pow(exponent as u32);
    let mut wealth = &(&power(6, wins) * &power(2, losses)) + &power(7, wins);
    if losses == 0 {
        wealth = &wealth + &(&Natural::from(2) * &power(8, wins));
    }
    let unit = power(4, wins + losses + 1);
    &wealth * rate.numerator() >= &unit * rate.denominator()
}

/// Strictly between 0 and 1.
fn rate(value: &Value) -> Result<Fraction, Refusal> {
    let rate = form::ratio(value)?;
    need(rate < Fraction::one(), "a rate below 1")?;
    Ok(rate)
}
