//! From JSON to values: whole numbers, fractions, words; members with and without a default.

use crate::fraction::Fraction;
use crate::json::{Number, Value};
use crate::natural::Natural;
use crate::refusal::{Refusal, invalid};
use crate::text::Text;

/// Times and counts lie below this, so that sums and products of a few of them fit. In nanoseconds
/// it is ten to the thirteenth years.
const LIMIT: i128 = 1 << 100;

/// An object whose members are asked for by name.
#[derive(Clone, Copy)]
pub struct Form<'a>(&'a Value);

impl<'a> Form<'a> {
    pub fn of(value: &'a Value) -> Result<Self, Refusal> {
        match value {
            Value::Object(_) => Ok(Form(value)),
            _ => invalid(format!("need an object, got {}", value.to_line())),
        }
    }

    /// An object with no members besides these.
    pub fn closed(value: &'a Value, names: &[&str]) -> Result<Self, Refusal> {
        if let Value::Object(members) = value
            && let Some((other, _)) =
                members.iter().find(|(name, _)| !names.iter().any(|known| *name == **known))
        {
            return invalid(format!("no such member: {other}"));
        }
        Form::of(value)
    }

    pub fn required(&self, name: &str) -> Result<&'a Value, Refusal> {
        self.0.member(name).ok_or_else(|| Refusal::InvalidValue(format!("need the member {name}")))
    }

    pub fn get<T>(
        &self,
        name: &str,
        read: impl Fn(&'a Value) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        read(self.required(name)?)
    }

    pub fn get_or<T>(
        &self,
        name: &str,
        default: T,
        read: impl Fn(&'a Value) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        self.0.member(name).map_or(Ok(default), read)
    }
}

/// A whole number; decimal text where its magnitude is 2^53 or more.
pub fn whole(value: &Value) -> Result<i128, Refusal> {
    let number = match value {
        Value::Number(Number::Integer(number)) => Some(*number),
        Value::Text(text) => {
            text.as_str().filter(|text| is_long_decimal(text)).and_then(|text| text.parse().ok())
        }
        _ => None,
    };
    match number {
        Some(number) if number.abs() < LIMIT => Ok(number),
        Some(number) => invalid(format!("need a magnitude below 2^100, got {number}")),
        None => invalid(format!("need a whole number, got {}", value.to_line())),
    }
}

/// A whole number from `least` on.
pub fn at_least(least: i128) -> impl Fn(&Value) -> Result<i128, Refusal> {
    move |value| {
        let number = whole(value)?;
        if number < least {
            return invalid(format!("need at least {least}, got {number}"));
        }
        Ok(number)
    }
}

/// A whole number from `least` to `most`.
pub fn within(least: i128, most: i128) -> impl Fn(&Value) -> Result<i128, Refusal> {
    move |value| {
        let number = whole(value)?;
        if number < least || number > most {
            return invalid(format!("need {least} to {most}, got {number}"));
        }
        Ok(number)
    }
}

/// A whole number from 0 on, however large.
pub fn natural(value: &Value) -> Result<Natural, Refusal> {
    let number = match value {
        Value::Number(Number::Integer(number)) => u128::try_from(*number).ok().map(Natural::from),
        Value::Text(text) => {
            text.as_str().filter(|text| is_long_decimal(text)).and_then(Natural::from_decimal)
        }
        _ => None,
    };
    number.ok_or_else(|| {
        Refusal::InvalidValue(format!("need a whole number from 0 on, got {}", value.to_line()))
    })
}

/// A fraction from 0 on: numerator and denominator in lowest terms.
pub fn fraction(value: &Value) -> Result<Fraction, Refusal> {
    if let Value::Array(pair) = value
        && let [numerator, denominator] = &pair[..]
        && let Some(fraction) = Fraction::new(natural(numerator)?, natural(denominator)?)
        && *fraction.denominator() == natural(denominator)?
    {
        return Ok(fraction);
    }
    invalid(format!("need a numerator and a denominator in lowest terms, got {}", value.to_line()))
}

/// A fraction above 0.
pub fn ratio(value: &Value) -> Result<Fraction, Refusal> {
    let ratio = fraction(value)?;
    if ratio.is_zero() {
        return invalid("need a ratio above 0, got 0");
    }
    Ok(ratio)
}

pub fn text(value: &Value) -> Result<Text, Refusal> {
    match value {
        Value::Text(text) => Ok(text.clone()),
        _ => invalid(format!("need text, got {}", value.to_line())),
    }
}

pub fn filled_text(value: &Value) -> Result<Text, Refusal> {
    let text = text(value)?;
    if text.is_empty() {
        return invalid("need text that is not empty");
    }
    Ok(text)
}

pub fn flag(value: &Value) -> Result<bool, Refusal> {
    match value {
        Value::Bool(flag) => Ok(*flag),
        _ => invalid(format!("need true or false, got {}", value.to_line())),
    }
}

pub fn items(value: &Value) -> Result<&[Value], Refusal> {
    match value {
        Value::Array(items) => Ok(items),
        _ => invalid(format!("need an array, got {}", value.to_line())),
    }
}

pub fn each<T>(
    value: &Value,
    read: impl Fn(&Value) -> Result<T, Refusal>,
) -> Result<Vec<T>, Refusal> {
    items(value)?.iter().map(read).collect()
}

pub fn optional<T>(
    read: impl Fn(&Value) -> Result<T, Refusal>,
) -> impl Fn(&Value) -> Result<Option<T>, Refusal> {
    move |value| if *value == Value::Null { Ok(None) } else { read(value).map(Some) }
}

pub fn from_fraction(fraction: &Fraction) -> Value {
    Value::Array(vec![Value::natural(fraction.numerator()), Value::natural(fraction.denominator())])
}

fn is_long_decimal(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() >= 16 && !digits.starts_with('0') && digits.bytes().all(|d| d.is_ascii_digit())
}

/// An enumeration whose members each have a word on the wire.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($member:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name { $($member),+ }

        // Some words are only read, and some only written.
        #[allow(dead_code)]
        impl $name {
            pub fn word(self) -> &'static str {
                match self { $($name::$member => $word),+ }
            }

            pub fn read(value: &crate::json::Value) -> Result<Self, crate::refusal::Refusal> {
                let word = crate::form::text(value)?;
                match word.as_str() {
                    $(Some($word) => Ok($name::$member),)+
                    _ => crate::refusal::invalid(format!("no such word: {word}")),
                }
            }
        }
    };
}
pub(crate) use words;
