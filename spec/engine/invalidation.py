"""Decisions taken back: by the shell (S9), or by what comparisons show (S10)."""

from typing import assert_never

from spec.engine.effect import RemoveRecord
from spec.engine.event import Compared, Invalidated
from spec.engine.eviction import excluded, unsettled, with_history, with_incidents
from spec.engine.state import Bypass, Cause, Entry, Exclusion, Held, State, Transition
from spec.errors import InvalidValue
from spec.regression import (
    Ban,
    Degraded,
    Demote,
    Holds,
    Incidents,
    RegressionHistory,
    after_degradation,
    observe,
)


def invalidated(state: State, event: Invalidated) -> Transition:
    """Take a decision back and, if asked to, keep its candidate out. No request is run again."""
    exclusion = None
    if event.ban and event.candidate not in _references(state.entry(event.key), event.reference):
        exclusion = Exclusion(Cause.BANNED, "invalidated", event.reason, None, 0)
    return _taken_back(state, event.key, event.candidate, exclusion)


def compared(state: State, event: Compared) -> Transition:
    """Judge a held decision by one more pair.

    Raises `InvalidValue` for a pair whose outputs were not checked or with a time that is not
    positive: that is no observation, and counting it as one would be a fault of the shell.
    """
    if event.correctness_checked is not True:
        need = "True: only checked pairs count"
        raise InvalidValue("correctness_checked", repr(event.correctness_checked), need, "S10")
    entry = state.entry(event.key)
    history = entry.history or RegressionHistory()
    history, verdict = observe(
        state.policy.regression, history, event.reference_ns, event.selected_ns
    )
    held = entry.settled
    if (
        not isinstance(held, Held)
        or held.record.winner != event.candidate
        or event.candidate in _references(entry, event.reference)
    ):
        return Transition(state.counted("ignored_comparisons"))
    counted = state.counted("comparisons")
    match verdict:
        case Holds():
            return Transition(with_history(counted, event.key, history))
        case Degraded():
            return _degraded(counted, event, verdict)


def _degraded(state: State, event: Compared, verdict: Degraded) -> Transition:
    before = state.entry(event.key).incidents.get(event.candidate, Incidents())
    incidents, consequence = after_degradation(
        state.policy.incidents, before, event.now.monotonic_ns
    )
    following = with_incidents(state.counted("degradations"), event.key, event.candidate, incidents)
    exclusion = None
    match consequence:
        case Demote():
            pass
        case Ban():
            detail = f"median ratio {verdict.ratio} over {verdict.observations} pairs"
            exclusion = Exclusion(Cause.REGRESSED, "degraded", detail, consequence.until_ns, 0)
        case _:
            assert_never(consequence)
    return _taken_back(following, event.key, event.candidate, exclusion)


def _taken_back(state: State, key: str, candidate: str, exclusion: Exclusion | None) -> Transition:
    following = unsettled(state, key).counted("invalidations")
    if exclusion is not None:
        following = excluded(following, key, candidate, exclusion)
    return Transition(following, (RemoveRecord(key),))


def _references(entry: Entry, claimed: str) -> frozenset[str]:
    """Return the names that count as the key's reference: what is held, and what the event says.

    Banning too little costs a search; banning the reference would leave nothing to serve.
    """
    match entry.settled:
        case Held():
            return frozenset({claimed, entry.settled.record.reference})
        case Bypass():
            return frozenset({claimed, entry.settled.reference})
        case None:
            return frozenset({claimed})
