//! Exact fractions from 0 on, in lowest terms.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul};

use crate::natural::Natural;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fraction {
    numerator: Natural,
    denominator: Natural,
}

impl Fraction {
    /// None where the denominator is 0.
    pub fn new(numerator: Natural, denominator: Natural) -> Option<Self> {
        if denominator.is_zero() {
            return None;
        }
        let common = numerator.greatest_common_divisor(&denominator);
        if common == Natural::from(1) {
            return Some(Fraction { numerator, denominator });
        }
        Some(Fraction {
            numerator: numerator.divide(&common).0,
            denominator: denominator.divide(&common).0,
        })
    }

    /// The ratio of two small numbers; the denominator is not 0.
    pub fn of(numerator: u128, denominator: u128) -> Self {
        Fraction::new(Natural::from(numerator), Natural::from(denominator))
            .expect("the denominator is not 0")
    }

    pub fn zero() -> Self {
        Fraction::of(0, 1)
    }

    pub fn one() -> Self {
        Fraction::of(1, 1)
    }

    pub fn numerator(&self) -> &Natural {
        &self.numerator
    }

    pub fn denominator(&self) -> &Natural {
        &self.denominator
    }

    pub fn is_zero(&self) -> bool {
        self.numerator.is_zero()
    }

    pub fn distance(&self, other: &Fraction) -> Fraction {
        let (a, b) = self.over_common(other);
        let difference = if a >= b { &a - &b } else { &b - &a };
        Fraction::new(difference, &self.denominator * &other.denominator)
            .expect("neither denominator is 0")
    }

    /// Both numerators over the product of the denominators.
    fn over_common(&self, other: &Fraction) -> (Natural, Natural) {
        (&self.numerator * &other.denominator, &other.numerator * &self.denominator)
    }
}

impl Ord for Fraction {
    fn cmp(&self, other: &Self) -> Ordering {
        let (a, b) = self.over_common(other);
        a.cmp(&b)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Add for &Fraction {
    type Output = Fraction;

    fn add(self, other: &Fraction) -> Fraction {
        let (a, b) = self.over_common(other);
        Fraction::new(&a + &b, &self.denominator * &other.denominator)
            .expect("neither denominator is 0")
    }
}

impl Mul for &Fraction {
    type Output = Fraction;

    fn mul(self, other: &Fraction) -> Fraction {
        Fraction::new(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
            .expect("neither denominator is 0")
    }
}

impl Div for &Fraction {
    type Output = Fraction;

    /// The quotient; the divisor is not 0.
    fn div(self, other: &Fraction) -> Fraction {
        Fraction::new(&self.numerator * &other.denominator, &self.denominator * &other.numerator)
            .expect("the divisor is not 0")
    }
}
