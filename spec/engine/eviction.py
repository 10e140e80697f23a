"""Bounded memory: the first key in leaves first, with everything that belongs to it (S11)."""

from attrs import evolve

from spec.engine.state import (
    MAX_EXCLUSIONS,
    Bypass,
    Entry,
    Exclusion,
    Held,
    State,
)
from spec.failure import Failure
from spec.regression import Incidents, RegressionHistory
from spec.report import TrialReport


def with_entry(state: State, key: str, entry: Entry) -> State:
    """Return the state with what is held for a key replaced; a new key may cost the oldest."""
    if key in state.entries:
        return evolve(state, entries=state.entries.set(key, entry))
    entries, keys, statistics = state.entries, state.keys, state.statistics
    while len(entries) >= state.policy.capacity:
        oldest, keys = keys.pop()
        entries = entries.delete(oldest)
        statistics = statistics.plus("evictions")
    return evolve(
        state, entries=entries.set(key, entry), keys=keys.push(key), statistics=statistics
    )


def settled(state: State, key: str, answer: Held | Bypass) -> State:
    """Return the state that answers a key from now on. A new decision starts a new history."""
    return with_entry(state, key, evolve(state.entry(key), settled=answer, history=None))


def unsettled(state: State, key: str) -> State:
    """Return the state without the record, history and bypass of a key.

    Exclusions and incidents stay, and so does the key's place in the queue.
    """
    if key not in state.entries:
        return state
    return with_entry(state, key, evolve(state.entry(key), settled=None, history=None))


def excluded(state: State, key: str, candidate: str, exclusion: Exclusion) -> State:
    """Return the state in which a candidate is out for a key.

    One that ends earlier than what is held changes nothing: a failure that passes does not end a
    ban.
    """
    entry = state.entry(key)
    exclusions = entry.exclusions
    held = exclusions.get(candidate)
    if held is not None and _ends_later(held.until_ns, exclusion.until_ns):
        return state
    number = 1 + max((one.number for one in exclusions.values()), default=0)
    if candidate not in exclusions and len(exclusions) >= MAX_EXCLUSIONS:
        oldest = min(exclusions, key=lambda name: exclusions[name].number)
        exclusions = exclusions.delete(oldest)
    exclusions = exclusions.set(candidate, evolve(exclusion, number=number))
    return with_entry(state, key, evolve(entry, exclusions=exclusions))


def _ends_later(held_ns: int | None, other_ns: int | None) -> bool:
    """Whether the first end is after the second; None never comes."""
    return other_ns is not None and (held_ns is None or held_ns > other_ns)


def with_history(state: State, key: str, history: RegressionHistory) -> State:
    """Return the state with the comparisons of a held winner."""
    return with_entry(state, key, evolve(state.entry(key), history=history))


def with_incidents(state: State, key: str, candidate: str, incidents: Incidents) -> State:
    """Return the state that remembers a degradation.

    At `MAX_EXCLUSIONS` names, the one that degraded first is forgotten.
    """
    entry = state.entry(key)
    held = entry.incidents
    if candidate not in held and len(held) >= MAX_EXCLUSIONS:
        oldest = min(held, key=lambda name: (held[name].degraded_at_ns or 0, name))
        held = held.delete(oldest)
    return with_entry(state, key, evolve(entry, incidents=held.set(candidate, incidents)))


def reported(state: State, report: TrialReport) -> State:
    """Return the state with one more report, the oldest having made room."""
    if state.policy.reports == 0:
        return state
    reports = state.reports
    while len(reports) >= state.policy.reports:
        _, reports = reports.pop()
    return evolve(state, reports=reports.push(report))


def quarantined(state: State, lane: str, failure: Failure) -> State:
    """Return the state in which no plan of an environment runs again.

    Of an environment that fails twice, what happened first is kept.
    """
    if state.is_quarantined(lane):
        return state
    return evolve(state, quarantine=state.quarantine.set(lane, failure))
