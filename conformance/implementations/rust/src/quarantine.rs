//! Environments whose device failed: nothing is tried there until a new process (S8, S11).

use std::collections::HashSet;

const MAX_ENVIRONMENTS: usize = 1024;

#[derive(Default)]
pub struct Quarantine {
    lanes: HashSet<String>,
}

impl Quarantine {
    pub fn add(&mut self, lane: &str) {
        if self.lanes.len() < MAX_ENVIRONMENTS {
            self.lanes.insert(lane.to_string());
        }
    }

    /// A full quarantine cannot tell the healthy from the doubtful any more.
    pub fn holds(&self, lane: &str) -> bool {
        self.lanes.len() >= MAX_ENVIRONMENTS || self.lanes.contains(lane)
    }
}
