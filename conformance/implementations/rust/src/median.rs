//! Medians and the spread of ratios (E3), exact.

use crate::fraction::Fraction;

#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    pub median: Fraction,
    /// Median absolute deviation from the median, over the median.
    pub dispersion: Fraction,
}

/// Of an even count the exact mean of the two middle values. There is at least one.
pub fn median<'a>(values: impl IntoIterator<Item = &'a Fraction>) -> Fraction {
    let mut sorted: Vec<&Fraction> = values.into_iter().collect();
    sorted.sort();
    let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
    if low == high {
        return low.clone();
    }
    &(low + high) * &Fraction::of(1, 2)
}

/// None without ratios. Every ratio is above 0.
pub fn spread(ratios: &[Fraction]) -> Option<Spread> {
    if ratios.is_empty() {
        return None;
    }
    let median = median(ratios);
    let deviations: Vec<Fraction> = ratios.iter().map(|ratio| ratio.distance(&median)).collect();
    let dispersion = &self::median(&deviations) / &median;
    Some(Spread { median, dispersion })
}

/// Rounded down to a whole number (S7). There is at least one time.
pub fn median_time_ns(times_ns: &[i128]) -> i128 {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2
}
