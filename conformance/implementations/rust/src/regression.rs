//! Whether a choice that was faster still is: paired observations while it serves (S10).

use std::collections::VecDeque;

use crate::form::{self, Form};
use crate::fraction::Fraction;
use crate::json::Value;
use crate::median::median;
use crate::natural::Natural;
use crate::refusal::{Refusal, invalid, need};

#[derive(Clone, PartialEq, Debug)]
pub enum Rule {
    Window { pairs: usize, ratio: Fraction },
    AnytimeValid { ratio: Fraction, false_alarm_rate: Fraction, horizon: u128 },
}

/// An alarm states the median of so many last ratios under the anytime-valid rule.
const STATED: usize = 9;

/// Stakes in quarters.
const STAKES: [u128; 3] = [2, 3, 4];

const UNIT: u128 = 1 << 32;

/// What has been observed of one choice since it was made or last degraded.
#[derive(Clone, Debug)]
pub struct History {
    last: VecDeque<Fraction>,
    sums: [Natural; 3],
    observations: usize,
}

#[derive(Clone, Debug)]
pub struct Alarm {
    pub ratio: Fraction,
    pub observations: usize,
}

impl Rule {
    pub fn read(value: &Value) -> Result<Rule, Refusal> {
        let kind = Form::of(value)?.get("type", form::text)?;
        match kind.as_str() {
            Some("window-median") => Rule::read_window(value),
            Some("anytime-valid-regression") => Rule::read_anytime_valid(value),
            _ => invalid(format!("no such rule of regression: {kind}")),
        }
    }

    pub fn read_window(value: &Value) -> Result<Rule, Refusal> {
        let form = Form::closed(value, &["type", "pairs", "ratio"])?;
        Ok(Rule::Window {
            pairs: form.get_or("pairs", 9, form::within(1, 4096))? as usize,
            ratio: form.get_or("ratio", Fraction::one(), limit)?,
        })
    }

    pub fn read_anytime_valid(value: &Value) -> Result<Rule, Refusal> {
        let form = Form::closed(value, &["type", "ratio", "false_alarm_rate", "horizon"])?;
        let false_alarm_rate =
            form.get_or("false_alarm_rate", Fraction::of(1, 100), form::ratio)?;
        need(false_alarm_rate < Fraction::one(), "a rate below 1")?;
        Ok(Rule::AnytimeValid {
            ratio: form.get_or("ratio", Fraction::one(), limit)?,
            false_alarm_rate,
            horizon: form.get_or("horizon", 256, form::within(1, 1 << 32))? as u128,
        })
    }
}

impl Default for Rule {
    fn default() -> Self {
        Rule::AnytimeValid {
            ratio: Fraction::one(),
            false_alarm_rate: Fraction::of(1, 100),
            horizon: 256,
        }
    }
}

impl History {
    pub fn new() -> Self {
        History { last: VecDeque::new(), sums: STAKES.map(|_| Natural::zero()), observations: 0 }
    }

    /// Take in a ratio; after an alarm the history starts anew.
    pub fn observe(&mut self, rule: &Rule, observed: Fraction) -> Option<Alarm> {
        let degraded = match rule {
            Rule::Window { pairs, ratio } => {
                self.remember(observed, *pairs);
                self.last.len() == *pairs && median(&self.last) > *ratio
            }
            Rule::AnytimeValid { ratio, false_alarm_rate, horizon } => {
                self.bet(observed > *ratio);
                self.remember(observed, STATED);
                &self.stakes_paid() * false_alarm_rate.numerator()
                    >= &Natural::from(4 * UNIT * horizon) * false_alarm_rate.denominator()
            }
        };
        if !degraded {
            return None;
        }
        let alarm = Alarm { ratio: median(&self.last), observations: self.observations };
        *self = History::new();
        Some(alarm)
    }

    fn remember(&mut self, ratio: Fraction, at_most: usize) {
        self.last.push_back(ratio);
        if self.last.len() > at_most {
            self.last.pop_front();
        }
        self.observations += 1;
    }

    fn bet(&mut self, won: bool) {
        for (sum, stake) in self.sums.iter_mut().zip(STAKES) {
            let factor = if won { 4 + stake } else { 4 - stake };
            let product = &(&*sum + &Natural::from(UNIT)) * &Natural::from(factor);
            *sum = product.divide(&Natural::from(4)).0;
        }
    }

    fn stakes_paid(&self) -> Natural {
        let [two, three, four] = &self.sums;
        &(two + three) + &(four + four)
    }
}

/// Strictly between 1/2 and 100.
fn limit(value: &Value) -> Result<Fraction, Refusal> {
    let limit = form::ratio(value)?;
    need(
        Fraction::of(1, 2) < limit && limit < Fraction::of(100, 1),
        "a ratio between 1/2 and 100",
    )?;
    Ok(limit)
}
