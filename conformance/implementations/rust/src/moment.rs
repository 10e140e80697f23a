//! Moments, and the unit conversions between the two clocks.

use crate::form::{self, Form};
use crate::json::Value;
use crate::refusal::Refusal;

pub const SECOND_NS: i128 = 1_000_000_000;

#[derive(Clone, Copy, Debug)]
pub struct Moment {
    pub monotonic_ns: i128,
    pub wall_s: i128,
}

impl Moment {
    pub fn read(value: &Value) -> Result<Moment, Refusal> {
        let form = Form::of(value)?;
        Ok(Moment {
            monotonic_ns: form.get("monotonic_ns", form::at_least(0))?,
            wall_s: form.get("wall_s", form::at_least(0))?,
        })
    }
}
