//! JSON values, read from text and written to it.
//!
//! Numbers that no rule has a use for (with a fraction or an exponent, or beyond 128 bits) are read
//! as `Number::Other` and refused by whoever meets them, not by the reader: a request that holds
//! one is to be answered.

use crate::natural::Natural;
use crate::text::Text;

#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    Null,
    Bool(bool),
    Number(Number),
    Text(Text),
    Array(Vec<Value>),
    Object(Vec<(Text, Value)>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Number {
    Integer(i128),
    Other(String),
}

/// Magnitudes from here on are written as decimal text where a number is meant.
pub const EXACT_LIMIT: i128 = 1 << 53;

/// Deeper text is not read: each level takes room on the stack.
const MAX_DEPTH: usize = 100_000;

#[derive(Debug)]
pub struct Malformed {
    pub what: &'static str,
    pub at_byte: usize,
}

impl Value {
    pub fn object<const N: usize>(members: [(&str, Value); N]) -> Value {
        Value::Object(members.map(|(name, value)| (Text::from(name), value)).into())
    }

    pub fn array<T>(items: impl IntoIterator<Item = T>, to_value: impl Fn(T) -> Value) -> Value {
        Value::Array(items.into_iter().map(to_value).collect())
    }

    pub fn optional<T>(item: Option<T>, to_value: impl Fn(T) -> Value) -> Value {
        item.map_or(Value::Null, to_value)
    }

    pub fn integer(number: i128) -> Value {
        if number.abs() < EXACT_LIMIT {
            return Value::Number(Number::Integer(number));
        }
        Value::text(number.to_string())
    }

    pub fn natural(number: &Natural) -> Value {
        match number.to_u128() {
            Some(small) if small < EXACT_LIMIT as u128 => Value::integer(small as i128),
            _ => Value::text(number.to_decimal()),
        }
    }

    pub fn text(text: impl Into<Text>) -> Value {
        Value::Text(text.into())
    }

    /// The member of that name, where this is an object that has it.
    pub fn member(&self, name: &str) -> Option<&Value> {
        let Value::Object(members) = self else { return None };
        members.iter().find(|(one, _)| *one == *name).map(|(_, value)| value)
    }

    /// One line of JSON.
    pub fn to_line(&self) -> String {
        let mut line = String::new();
        self.write(&mut line);
        line
    }

    fn write(&self, line: &mut String) {
        match self {
            Value::Null => line.push_str("null"),
            Value::Bool(true) => line.push_str("true"),
            Value::Bool(false) => line.push_str("false"),
            Value::Number(Number::Integer(number)) => line.push_str(&number.to_string()),
            Value::Number(Number::Other(digits)) => line.push_str(digits),
            Value::Text(text) => write_text(text, line),
            Value::Array(items) => {
                line.push('[');
                for (place, item) in items.iter().enumerate() {
                    if place > 0 {
                        line.push(',');
                    }
                    item.write(line);
                }
                line.push(']');
            }
            Value::Object(members) => {
                line.push('{');
                for (place, (name, value)) in members.iter().enumerate() {
                    if place > 0 {
                        line.push(',');
                    }
                    write_text(name, line);
                    line.push(':');
                    value.write(line);
                }
                line.push('}');
            }
        }
    }
}

/// Write a string with the escapes of RFC 8785. A lone surrogate is written as U+FFFD: none is ever
/// part of an answer.
pub fn write_text(text: &Text, line: &mut String) {
    line.push('"');
    for character in text.to_string().chars() {
        match character {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            '\u{8}' => line.push_str("\\b"),
            '\u{c}' => line.push_str("\\f"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            '\0'..='\u{1f}' => line.push_str(&format!("\\u{:04x}", character as u32)),
            _ => line.push(character),
        }
    }
    line.push('"');
}

/// Read one JSON text (RFC 8259). Of members of one name, the last counts.
pub fn parse(text: &str) -> Result<Value, Malformed> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.skip_space();
    if reader.at < text.len() {
        return Err(reader.malformed("nothing may follow the value"));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Value, Malformed> {
        if depth > MAX_DEPTH {
            return Err(self.malformed("nested too deeply"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ if self.takes("null") => Ok(Value::Null),
            _ if self.takes("true") => Ok(Value::Bool(true)),
            _ if self.takes("false") => Ok(Value::Bool(false)),
            _ => Err(self.malformed("need a value")),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.at += 1;
        let mut members: Vec<(Text, Value)> = Vec::new();
        self.skip_space();
        if self.takes("}") {
            return Ok(Value::Object(members));
        }
        loop {
            self.skip_space();
            let name = self.string()?;
            self.skip_space();
            self.need(":")?;
            let value = self.value(depth + 1)?;
            members.push((name, value));
            self.skip_space();
            if self.takes("}") {
                return Ok(Value::Object(last_of_each_name(members)));
            }
            self.need(",")?;
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, Malformed> {
        self.at += 1;
        let mut items = Vec::new();
        self.skip_space();
        if self.takes("]") {
            return Ok(Value::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.skip_space();
            if self.takes("]") {
                return Ok(Value::Array(items));
            }
            self.need(",")?;
        }
    }

    fn number(&mut self) -> Result<Value, Malformed> {
        let start = self.at;
        self.takes("-");
        if !self.takes("0") {
            self.digits()?;
        }
        let whole = self.at;
        if self.takes(".") {
            self.digits()?;
        }
        if self.takes("e") || self.takes("E") {
            let _ = self.takes("+") || self.takes("-");
            self.digits()?;
        }
        let digits = &self.text[start..self.at];
        let number = match digits.parse() {
            Ok(integer) if whole == self.at => Number::Integer(integer),
            _ => Number::Other(digits.to_string()),
        };
        Ok(Value::Number(number))
    }

    fn digits(&mut self) -> Result<(), Malformed> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start {
            return Err(self.malformed("need a digit"));
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Text, Malformed> {
        self.need("\"")?;
        let mut text = Text::default();
        loop {
            let rest = &self.text[self.at..];
            let stop = |byte: u8| byte == b'"' || byte == b'\\' || byte < 0x20;
            let plain = rest
                .bytes()
                .position(stop)
                .ok_or_else(|| self.malformed("the string has no end"))?;
            text.push_str(&rest[..plain]);
            self.at += plain;
            if self.takes("\"") {
                return Ok(text);
            }
            self.need("\\")?;
            self.escape(&mut text)?;
        }
    }

    fn escape(&mut self, text: &mut Text) -> Result<(), Malformed> {
        let kind = self.peek().ok_or_else(|| self.malformed("the string has no end"))?;
        if kind == b'u' {
            self.at += 1;
            return self.code_units(text);
        }
        let character = match kind {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            _ => return Err(self.malformed("no such escape")),
        };
        self.at += 1;
        text.push(character);
        Ok(())
    }

    /// One escaped code unit, or two where they make up a pair of surrogates.
    fn code_units(&mut self, text: &mut Text) -> Result<(), Malformed> {
        let unit = self.code_unit()?;
        if let Some(character) = char::from_u32(u32::from(unit)) {
            text.push(character);
            return Ok(());
        }
        let after = self.at;
        if self.takes("\\u") {
            let second = self.code_unit()?;
            if let Some(Ok(character)) = char::decode_utf16([unit, second]).next() {
                text.push(character);
                return Ok(());
            }
            self.at = after;
        }
        text.push_lone_surrogate(unit);
        Ok(())
    }

    fn code_unit(&mut self) -> Result<u16, Malformed> {
        let unit = self
            .text
            .get(self.at..self.at + 4)
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u16::from_str_radix(digits, 16).ok())
            .ok_or_else(|| self.malformed("need four hexadecimal digits"))?;
        self.at += 4;
        Ok(unit)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.text.as_bytes()[self.at..].starts_with(token.as_bytes());
        if found {
            self.at += token.len();
        }
        found
    }

    fn need(&mut self, token: &'static str) -> Result<(), Malformed> {
        if self.takes(token) { Ok(()) } else { Err(self.malformed(token)) }
    }

    fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { what, at_byte: self.at }
    }
}

fn last_of_each_name(members: Vec<(Text, Value)>) -> Vec<(Text, Value)> {
    let mut kept: Vec<(Text, Value)> = Vec::with_capacity(members.len());
    let mut places = std::collections::HashMap::new();
    for (name, value) in members {
        match places.get(&name) {
            Some(place) => {
                let place: &usize = place;
                kept[*place].1 = value;
            }
            None => {
                places.insert(name.clone(), kept.len());
                kept.push((name, value));
            }
        }
    }
    kept
}
