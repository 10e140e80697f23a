//! What is said to an event or a question that cannot be: nothing happens, and this is why.

#[derive(Debug)]
pub enum Refusal {
    /// Its values are impossible.
    InvalidValue(String),
    /// It answers nothing that is under way.
    OutOfTurn(String),
}

impl Refusal {
    pub fn word(&self) -> &'static str {
        match self {
            Refusal::InvalidValue(_) => "invalid-value",
            Refusal::OutOfTurn(_) => "out-of-turn",
        }
    }

    pub fn reason(&self) -> &str {
        match self {
            Refusal::InvalidValue(reason) | Refusal::OutOfTurn(reason) => reason,
        }
    }
}

pub fn invalid<T>(reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::InvalidValue(reason.into()))
}

/// Refuse unless the value may be.
pub fn need(holds: bool, rule: &str) -> Result<(), Refusal> {
    if holds { Ok(()) } else { invalid(format!("need {rule}")) }
}
