//! Whole numbers from 0 on, without a limit: the wealth of 4096 blocks has twelve thousand bits.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

/// Little-endian digits to the base 2^32, without leading zeros; no digit is zero.
#[derive(Clone, PartialEq, Eq, Debug, Hash)]
pub struct Natural(Vec<u32>);

impl Natural {
    pub fn zero() -> Self {
        Natural(Vec::new())
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Read decimal digits and nothing else.
    pub fn from_decimal(digits: &str) -> Option<Self> {
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return None;
        }
        let mut number = Natural::zero();
        for group in digits.as_bytes().chunks(9) {
            let mut carry = 0u64;
            for digit in group {
                carry = carry * 10 + u64::from(digit - b'0');
            }
            let base = 10u64.pow(group.len() as u32);
            for limb in &mut number.0 {
                let wide = u64::from(*limb) * base + carry;
                *limb = wide as u32;
                carry = wide >> 32;
            }
            if carry > 0 {
                number.0.push(carry as u32);
            }
        }
        Some(number)
    }

    pub fn to_decimal(&self) -> String {
        let mut groups = Vec::new();
        let mut rest = self.clone();
        while !rest.is_zero() {
            groups.push(rest.divide_by_digit(1_000_000_000));
        }
        match groups.pop() {
            None => "0".to_string(),
            Some(first) => groups
                .iter()
                .rev()
                .fold(first.to_string(), |text, group| format!("{text}{group:09}")),
        }
    }

    pub fn to_u128(&self) -> Option<u128> {
        if self.0.len() > 4 {
            return None;
        }
        Some(self.0.iter().rev().fold(0, |number, digit| number << 32 | u128::from(*digit)))
    }

    pub fn pow(&self, exponent: u32) -> Self {
        let mut power = Natural::from(1);
        for place in (0..32 - exponent.leading_zeros()).rev() {
            power = &power * &power;
            if exponent >> place & 1 == 1 {
                power = &power * self;
            }
        }
        power
    }

    /// Quotient, rounded down, and remainder. The divisor is not 0.
    pub fn divide(&self, divisor: &Natural) -> (Natural, Natural) {
        assert!(!divisor.is_zero(), "division by zero");
        if self < divisor {
            return (Natural::zero(), self.clone());
        }
        if let (Some(a), Some(b)) = (self.to_u128(), divisor.to_u128()) {
            return (Natural::from(a / b), Natural::from(a % b));
        }
        if let [digit] = divisor.0[..] {
            let mut quotient = self.clone();
            let rest = quotient.divide_by_digit(digit);
            return (quotient, Natural::from(u128::from(rest)));
        }
        self.divide_long(divisor)
    }

    /// Knuth's algorithm D. The divisor has at least two digits and is not above the dividend.
    fn divide_long(&self, divisor: &Natural) -> (Natural, Natural) {
        const BASE: u64 = 1 << 32;
        let length = divisor.0.len();
        let shift = divisor.0[length - 1].leading_zeros();
        let by = divisor.shifted_left(shift).0;
        let mut rest = self.shifted_left(shift).0;
        rest.resize(self.0.len() + 1, 0);
        let mut quotient = vec![0u32; rest.len() - length];
        let (first, second) = (u64::from(by[length - 1]), u64::from(by[length - 2]));
        for place in (0..quotient.len()).rev() {
            let top = u64::from(rest[place + length]) << 32 | u64::from(rest[place + length - 1]);
            let (mut guess, mut left) = (top / first, top % first);
            while guess >= BASE
                || guess * second > (left << 32 | u64::from(rest[place + length - 2]))
            {
                guess -= 1;
                left += first;
                if left >= BASE {
                    break;
                }
            }
            let (mut borrow, mut carry) = (0i64, 0u64);
            for (digit, by) in rest[place..].iter_mut().zip(by.iter().chain([&0])) {
                let product = guess * u64::from(*by) + carry;
                carry = product >> 32;
                let difference = i64::from(*digit) - (product & (BASE - 1)) as i64 + borrow;
                *digit = difference as u32;
                borrow = difference >> 32;
            }
            if borrow < 0 {
                guess -= 1;
                let mut carry = 0u64;
                for (digit, by) in rest[place..].iter_mut().zip(by.iter().chain([&0])) {
                    let sum = u64::from(*digit) + u64::from(*by) + carry;
                    *digit = sum as u32;
                    carry = sum >> 32;
                }
            }
            quotient[place] = guess as u32;
        }
        (Natural::trimmed(quotient), Natural::trimmed(rest).shifted_right(shift))
    }

    pub fn greatest_common_divisor(&self, other: &Natural) -> Natural {
        let (mut a, mut b) = (self.clone(), other.clone());
        while !b.is_zero() {
            if let (Some(mut x), Some(mut y)) = (a.to_u128(), b.to_u128()) {
                while y != 0 {
                    (x, y) = (y, x % y);
                }
                return Natural::from(x);
            }
            (a, b) = (b.clone(), a.divide(&b).1);
        }
        a
    }

    fn divide_by_digit(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for digit in self.0.iter_mut().rev() {
            let wide = rest << 32 | u64::from(*digit);
            *digit = (wide / u64::from(divisor)) as u32;
            rest = wide % u64::from(divisor);
        }
        self.trim();
        rest as u32
    }

    /// Shift by less than 32 bits.
    fn shifted_left(&self, bits: u32) -> Natural {
        let mut digits = Vec::with_capacity(self.0.len() + 1);
        let mut carry = 0u64;
        for digit in &self.0 {
            let wide = u64::from(*digit) << bits | carry;
            digits.push(wide as u32);
            carry = wide >> 32;
        }
        digits.push(carry as u32);
        Natural::trimmed(digits)
    }

    /// Shift by less than 32 bits.
    fn shifted_right(&self, bits: u32) -> Natural {
        let mut digits = self.0.clone();
        let mut carry = 0u64;
        for digit in digits.iter_mut().rev() {
            let wide = carry << 32 | u64::from(*digit);
            *digit = (wide >> bits) as u32;
            carry = wide & ((1 << bits) - 1);
        }
        Natural::trimmed(digits)
    }

    fn trimmed(digits: Vec<u32>) -> Natural {
        let mut number = Natural(digits);
        number.trim();
        number
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

impl From<u128> for Natural {
    fn from(number: u128) -> Self {
        Natural::trimmed((0..4).map(|place| (number >> (32 * place)) as u32).collect())
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        let lengths = self.0.len().cmp(&other.0.len());
        lengths.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Add for &Natural {
    type Output = Natural;

    fn add(self, other: &Natural) -> Natural {
        let (long, short) =
            if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let mut digits = Vec::with_capacity(long.0.len() + 1);
        let mut carry = 0u64;
        for (place, digit) in long.0.iter().enumerate() {
            let other = short.0.get(place).copied().unwrap_or(0);
            let sum = u64::from(*digit) + u64::from(other) + carry;
            digits.push(sum as u32);
            carry = sum >> 32;
        }
        digits.push(carry as u32);
        Natural::trimmed(digits)
    }
}

impl Sub for &Natural {
    type Output = Natural;

    /// The difference; what is taken away is not above what it is taken from.
    fn sub(self, other: &Natural) -> Natural {
        assert!(self >= other, "the difference would be below 0");
        let mut digits = Vec::with_capacity(self.0.len());
        let mut borrow = 0i64;
        for (place, digit) in self.0.iter().enumerate() {
            let other = other.0.get(place).copied().unwrap_or(0);
            let difference = i64::from(*digit) - i64::from(other) + borrow;
            digits.push(difference as u32);
            borrow = difference >> 32;
        }
        Natural::trimmed(digits)
    }
}

impl Mul for &Natural {
    type Output = Natural;

    fn mul(self, other: &Natural) -> Natural {
        let mut digits = vec![0u32; self.0.len() + other.0.len()];
        for (place, a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (offset, b) in other.0.iter().enumerate() {
                let digit = &mut digits[place + offset];
                let wide = u64::from(*a) * u64::from(*b) + u64::from(*digit) + carry;
                *digit = wide as u32;
                carry = wide >> 32;
            }
            digits[place + other.0.len()] = carry as u32;
        }
        Natural::trimmed(digits)
    }
}
