"""One step of the engine: an event in, the next state and the effects out."""

from typing import TypeAlias, assert_never

from attrs import evolve

from spec.decision import Source
from spec.engine.admission import requested
from spec.engine.answering import ended_with_reference
from spec.engine.effect import LoadRecord, Measure, Validate
from spec.engine.event import (
    Abandoned,
    Compared,
    Event,
    Invalidated,
    Measured,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    Requested,
    StoreFailed,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.engine.exploration import failed, measured, validated
from spec.engine.invalidation import compared, invalidated
from spec.engine.promotion import concluded
from spec.engine.protocol import ProtocolError
from spec.engine.search import Confirming, Exploring, Loading, Search
from spec.engine.setback import TRIAL_KINDS
from spec.engine.state import State, Transition
from spec.engine.stored import absent, confirmed, loaded, not_confirmed, unreadable

Outcome: TypeAlias = (
    RecordLoaded
    | RecordAbsent
    | RecordUnreadable
    | Measured
    | Validated
    | Unverifiable
    | TrialFailed
    | Abandoned
)
"""Events that belong to a request under way."""


def step(state: State, event: Event) -> Transition:
    """Return what an event leads to.

    The caller executes the effects, in order, outside any lock, and reports the outcome of each
    `LoadRecord`, `Measure` and `Validate` as one further event. The cost does not grow with the
    number of keys held.

    Raises `ProtocolError` for an event that answers no outstanding effect and `InvalidValue` for
    one whose values are impossible. `state` is a value, so nothing has happened then.
    """
    match event:
        case Requested():
            return requested(state, event)
        case Invalidated():
            return invalidated(state, event)
        case Compared():
            return compared(state, event)
        case StoreFailed():
            warned = evolve(state.statistics, store_warnings=state.statistics.store_warnings + 1)
            return Transition(evolve(state, statistics=warned))
        case _:
            search = state.searches.get(event.request)
            if search is None:
                got = f"{type(event).__name__} of request {event.request}"
                raise ProtocolError(got, "an outcome of a request under way")
            return _outcome(state, search, event)


def _outcome(state: State, search: Search, event: Outcome) -> Transition:
    if isinstance(event, Abandoned):
        return _abandoned(state, search, event)
    stage = search.stage
    if isinstance(stage, Loading):
        match event:
            case RecordLoaded():
                return loaded(state, search, event)
            case RecordAbsent():
                return absent(state, search, event)
            case RecordUnreadable():
                return unreadable(state, search, event)
            case _:
                raise _unexpected(search, event)
    if isinstance(event, TrialFailed):
        if event.failure.kind not in TRIAL_KINDS:
            kinds = ", ".join(sorted(kind.value for kind in TRIAL_KINDS))
            raise ProtocolError(f"TrialFailed as {event.failure.kind.value}", f"one of {kinds}")
        if isinstance(stage, Confirming):
            return not_confirmed(state, search, stage, event)
        return failed(state, search, stage, event)
    match event, stage.awaits:
        case ((Validated() | Unverifiable()), Validate()):
            if isinstance(stage, Confirming):
                return confirmed(state, search, stage, event)
            return validated(state, search, stage, event)
        case Measured(), Measure() as awaited if isinstance(stage, Exploring):
            return measured(state, search, stage, awaited, event)
        case _:
            raise _unexpected(search, event)


def _abandoned(state: State, search: Search, event: Abandoned) -> Transition:
    """Answer with the reference and forget the search; what failed in it stays known."""
    counted = evolve(
        state, statistics=evolve(state.statistics, abandoned=state.statistics.abandoned + 1)
    )
    if isinstance(search.stage, Exploring):
        counted = concluded(counted, search, search.stage, event.now, f"abandoned: {event.reason}")
    return ended_with_reference(counted, search, Source.BYPASSED, f"abandoned: {event.reason}")


def _unexpected(search: Search, event: Outcome) -> ProtocolError:
    got = f"{type(event).__name__} of request {event.request}"
    awaits: LoadRecord | Measure | Validate = search.stage.awaits
    match awaits:
        case LoadRecord():
            need = "RecordLoaded, RecordAbsent, RecordUnreadable or Abandoned"
        case Measure():
            need = "Measured, TrialFailed or Abandoned"
        case Validate():
            need = "Validated, Unverifiable, TrialFailed or Abandoned"
        case _:
            assert_never(awaits)
    return ProtocolError(got, need)
