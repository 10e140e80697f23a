//! What is held under each key, and for how many keys (S8, S9, S11).

use std::collections::{HashMap, VecDeque};

use crate::fraction::Fraction;
use crate::incidents::{Incident, IncidentPolicy};
use crate::problem::Scope;
use crate::regression::History;
use crate::text::Text;

const MAX_EXCLUSIONS: usize = 4096;
const MAX_INCIDENTS: usize = 4096;

/// A decision that is served again.
#[derive(Clone, Debug)]
pub struct Held {
    pub winner: Text,
    pub reference: Text,
    pub scope: Scope,
    pub ratio: Fraction,
    pub verified: bool,
    pub provisional: bool,
    pub ends_ns: i128,
}

/// Why the reference is served without a decision.
#[derive(Clone, Debug)]
pub struct Bypass {
    pub reference: Text,
    pub scope: Scope,
    /// None: as long as the key is held.
    pub until_ns: Option<i128>,
}

impl Bypass {
    pub fn is_live(&self, now_ns: i128) -> bool {
        self.until_ns.is_none_or(|end_ns| now_ns < end_ns)
    }
}

/// How long a candidate must not be tried or served.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Exclusion {
    WhileHeld,
    Until(i128),
}

impl Exclusion {
    fn covers(self, now_ns: i128) -> bool {
        match self {
            Exclusion::WhileHeld => true,
            Exclusion::Until(end_ns) => now_ns < end_ns,
        }
    }

    fn longer(self, other: Exclusion) -> Exclusion {
        match (self, other) {
            (Exclusion::Until(a), Exclusion::Until(b)) => Exclusion::Until(a.max(b)),
            _ => Exclusion::WhileHeld,
        }
    }
}

#[derive(Debug)]
pub struct Entry {
    pub held: Option<Held>,
    pub bypass: Option<Bypass>,
    pub history: History,
    /// The one set or renewed longest ago first.
    exclusions: VecDeque<(Text, Exclusion)>,
    incidents: HashMap<Text, Incident>,
}

impl Entry {
    fn new() -> Self {
        Entry {
            held: None,
            bypass: None,
            history: History::new(),
            exclusions: VecDeque::new(),
            incidents: HashMap::new(),
        }
    }

    /// Drop the decision or bypass; what was learned of candidates stays.
    pub fn take_back(&mut self) {
        self.held = None;
        self.bypass = None;
        self.history = History::new();
    }

    pub fn exclude(&mut self, name: &Text, exclusion: Exclusion) {
        let place = self.exclusions.iter().position(|(one, _)| one == name);
        let before = place.and_then(|place| self.exclusions.remove(place));
        let exclusion = before.map_or(exclusion, |(_, old)| old.longer(exclusion));
        self.exclusions.push_back((name.clone(), exclusion));
        if self.exclusions.len() > MAX_EXCLUSIONS {
            self.exclusions.pop_front();
        }
    }

    /// Whether anything excludes the plan now, and if so, whether it is for a time only.
    pub fn exclusion(&self, name: &Text, now_ns: i128) -> Option<Excluded> {
        let excluded = self.exclusions.iter().find(|(one, _)| one == name);
        match excluded {
            Some((_, exclusion)) if exclusion.covers(now_ns) => {
                Some(Excluded { expires: *exclusion != Exclusion::WhileHeld })
            }
            _ => {
                let banned = self.incidents.get(name).is_some_and(|one| one.bans_at(now_ns));
                banned.then_some(Excluded { expires: true })
            }
        }
    }

    /// Take in a degradation of the plan.
    pub fn degrade(&mut self, name: &Text, now_ns: i128, policy: &IncidentPolicy) {
        let last = self.incidents.get(name).copied();
        self.incidents.insert(name.clone(), Incident::next(last, now_ns, policy));
        if self.incidents.len() > MAX_INCIDENTS {
            let oldest = self.incidents.iter().min_by_key(|(name, one)| (one.at_ns, *name));
            if let Some(oldest) = oldest.map(|(name, _)| name.clone()) {
                self.incidents.remove(&oldest);
            }
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Excluded {
    pub expires: bool,
}

pub struct Memory {
    capacity: usize,
    entries: HashMap<Text, Entry>,
    /// Keys by their place: the first in is the first out.
    places: VecDeque<Text>,
    pub evictions: i128,
}

impl Memory {
    pub fn new(capacity: usize) -> Self {
        Memory { capacity, entries: HashMap::new(), places: VecDeque::new(), evictions: 0 }
    }

    pub fn get(&self, key: &Text) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub fn get_mut(&mut self, key: &Text) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// The entry of the key, which takes a place if it has none.
    pub fn entry(&mut self, key: &Text) -> &mut Entry {
        if !self.entries.contains_key(key) {
            if self.places.len() == self.capacity
                && let Some(first) = self.places.pop_front()
            {
                self.entries.remove(&first);
                self.evictions += 1;
            }
            self.places.push_back(key.clone());
        }
        self.entries.entry(key.clone()).or_insert_with(Entry::new)
    }

    /// A new decision starts a new history.
    pub fn hold(&mut self, key: &Text, held: Held) {
        let entry = self.entry(key);
        entry.take_back();
        entry.held = Some(held);
    }

    /// A bypass takes the place of a decision, as a decision takes that of a bypass.
    pub fn bypass(&mut self, key: &Text, bypass: Bypass) {
        let entry = self.entry(key);
        entry.take_back();
        entry.bypass = Some(bypass);
    }

    pub fn exclusion(&self, key: &Text, name: &Text, now_ns: i128) -> Option<Excluded> {
        self.get(key).and_then(|entry| entry.exclusion(name, now_ns))
    }

    pub fn entries(&self) -> impl Iterator<Item = (&Text, &Entry)> {
        self.entries.iter()
    }
}
