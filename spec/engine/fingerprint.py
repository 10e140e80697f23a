"""What a pipeline rests on: one fingerprint of all lower-level decisions (S12)."""

from spec.canonical_json import canonical, digest
from spec.engine.state import Bypass, Entry, Held, State
from spec.moment import Moment
from spec.problem import Scope


def lower_level_fingerprint(state: State, now: Moment) -> str:
    """Return the SHA-256 of the canonical list of [key, name of the plan served], sorted by key.

    It covers every operator and fused graph whose decision is in memory and would be served at
    this moment, whether the pipeline uses it or not, in every environment: that may cost a
    pipeline its record without need, and never hides a changed choice. A bypassed key counts as
    its reference. The cost grows with the number of keys, so it is not part of a step.
    """
    parts = []
    for key, entry in state.entries.items():
        name = _served(state, entry, now.monotonic_ns)
        if name is not None:
            parts.append([key, name])
    return digest(canonical(sorted(parts)))


def _served(state: State, entry: Entry, monotonic_ns: int) -> str | None:
    match entry.settled:
        case Held(record=record) if entry.settled.is_fresh(monotonic_ns):
            waits = state.policy.require_validation and record.provisional
            return None if waits or record.scope is Scope.PIPELINE else record.winner
        case Bypass() if entry.settled.holds(monotonic_ns):
            is_lower = entry.settled.scope is not Scope.PIPELINE
            return entry.settled.reference if is_lower else None
        case _:
            return None
