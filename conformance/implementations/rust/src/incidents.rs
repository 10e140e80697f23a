//! What a degradation leads to: the first demotes, one that recurs soon bans for a time (S10).

use crate::form::{self, Form};
use crate::json::Value;
use crate::refusal::Refusal;

pub const DAY_NS: i128 = 86_400_000_000_000;

#[derive(Clone, Debug)]
pub struct IncidentPolicy {
    pub recurrence_ns: i128,
    pub ban_ns: i128,
}

impl IncidentPolicy {
    pub fn read(value: &Value) -> Result<IncidentPolicy, Refusal> {
        let form = Form::closed(value, &["recurrence_ns", "ban_ns"])?;
        let default = IncidentPolicy::default();
        let duration = form::within(1, 366 * DAY_NS);
        Ok(IncidentPolicy {
            recurrence_ns: form.get_or("recurrence_ns", default.recurrence_ns, &duration)?,
            ban_ns: form.get_or("ban_ns", default.ban_ns, &duration)?,
        })
    }
}

impl Default for IncidentPolicy {
    fn default() -> Self {
        IncidentPolicy { recurrence_ns: DAY_NS, ban_ns: 7 * DAY_NS }
    }
}

/// The last degradation of one plan under one key.
#[derive(Clone, Copy, Debug)]
pub struct Incident {
    pub at_ns: i128,
    /// The end of the ban that it led to.
    pub banned_until_ns: Option<i128>,
}

impl Incident {
    /// What one more degradation leads to.
    pub fn next(last: Option<Incident>, now_ns: i128, policy: &IncidentPolicy) -> Incident {
        let bans = last.is_some_and(|last| {
            let elapsed_ns = now_ns - last.at_ns;
            let recurs =
                last.banned_until_ns.is_none() && (0..=policy.recurrence_ns).contains(&elapsed_ns);
            recurs || last.bans_at(now_ns)
        });
        Incident { at_ns: now_ns, banned_until_ns: bans.then(|| now_ns + policy.ban_ns) }
    }

    /// A moment before the incident belongs to another clock, and no ban covers it.
    pub fn bans_at(&self, now_ns: i128) -> bool {
        self.banned_until_ns.is_some_and(|end_ns| (self.at_ns..end_ns).contains(&now_ns))
    }
}
