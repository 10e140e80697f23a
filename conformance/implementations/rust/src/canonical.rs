//! Canonical JSON (K2) and the digest of a text (K3).

use crate::json::{EXACT_LIMIT, Number, Value, write_text};
use crate::sha256::{hexadecimal, sha256};
use crate::text::Text;

const MAX_DEPTH: usize = 64;

#[derive(Debug)]
pub enum NotCanonical {
    FloatingPoint,
    LargeInteger,
    LoneSurrogate,
    TooDeep,
}

pub fn canonical(value: &Value) -> Result<String, NotCanonical> {
    let mut text = String::new();
    write(value, 0, &mut text)?;
    Ok(text)
}

/// Lower-case hexadecimal SHA-256 of the text in UTF-8.
pub fn digest(text: &str) -> String {
    hexadecimal(&sha256(text.as_bytes()))
}

fn write(value: &Value, depth: usize, text: &mut String) -> Result<(), NotCanonical> {
    if depth > MAX_DEPTH {
        return Err(NotCanonical::TooDeep);
    }
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(flag) => text.push_str(if *flag { "true" } else { "false" }),
        Value::Number(Number::Integer(number)) if number.abs() < EXACT_LIMIT => {
            text.push_str(&number.to_string());
        }
        Value::Number(Number::Integer(_)) => return Err(NotCanonical::LargeInteger),
        Value::Number(Number::Other(_)) => return Err(NotCanonical::FloatingPoint),
        Value::Text(string) => write_string(string, text)?,
        Value::Array(items) => {
            text.push('[');
            for (place, item) in items.iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write(item, depth + 1, text)?;
            }
            text.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by_cached_key(|(name, _)| name.utf16());
            text.push('{');
            for (place, (name, member)) in sorted.into_iter().enumerate() {
                if place > 0 {
                    text.push(',');
                }
                write_string(name, text)?;
                text.push(':');
                write(member, depth + 1, text)?;
            }
            text.push('}');
        }
    }
    Ok(())
}

fn write_string(string: &Text, text: &mut String) -> Result<(), NotCanonical> {
    if string.as_str().is_none() {
        return Err(NotCanonical::LoneSurrogate);
    }
    write_text(string, text);
    Ok(())
}
