"""One step of the engine: an event in, the next state and the effects out."""

from typing import TypeAlias, assert_never

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
from spec.engine.stored import confirmed, loaded, missed, not_confirmed, unreadable

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
            return Transition(state.counted("store_warnings"))
        case _:
            search = state.searches.get(event.request)
            if search is None:
                got = f"{type(event).__name__} of request {event.request}"
                raise ProtocolError(got, "an outcome of a request under way")
            return _outcome(state, search, event)


def _outcome(state: State, search: Search, event: Outcome) -> Transition:
    if isinstance(event, Abandoned):
        return _abandoned(state, search, event)
    match search.stage:
        case Loading():
            return _while_loading(state, search, event)
        case Confirming():
            return _while_confirming(state, search, search.stage, event)
        case Exploring():
            return _while_exploring(state, search, search.stage, event)
        case _:
            assert_never(search.stage)


def _while_loading(state: State, search: Search, event: Outcome) -> Transition:
    match event:
        case RecordLoaded():
            return loaded(state, search, event)
        case RecordAbsent():
            return missed(state, search)
        case RecordUnreadable():
            return unreadable(state, search)
        case _:
            raise _unexpected(search, event)


def _while_confirming(
    state: State, search: Search, stage: Confirming, event: Outcome
) -> Transition:
    match event:
        case Validated() | Unverifiable():
            return confirmed(state, search, stage, event)
        case TrialFailed():
            return not_confirmed(state, search, stage, _of_a_trial(event))
        case _:
            raise _unexpected(search, event)


def _while_exploring(state: State, search: Search, stage: Exploring, event: Outcome) -> Transition:
    match event, stage.awaits:
        case Measured(), Measure() as awaited:
            return measured(state, search, stage, awaited, event)
        case ((Validated() | Unverifiable()), Validate()):
            return validated(state, search, stage, event)
        case TrialFailed(), _:
            return failed(state, search, stage, _of_a_trial(event))
        case _:
            raise _unexpected(search, event)


def _of_a_trial(event: TrialFailed) -> TrialFailed:
    if event.failure.kind in TRIAL_KINDS:
        return event
    kinds = ", ".join(sorted(kind.value for kind in TRIAL_KINDS))
    got = f"TrialFailed as {event.failure.kind.value}"
    raise ProtocolError(got, f"one of {kinds}")


def _abandoned(state: State, search: Search, event: Abandoned) -> Transition:
    """Answer with the reference and forget the search; what failed in it stays known."""
    counted = state.counted("abandoned")
    if isinstance(search.stage, Exploring):
        reason = f"abandoned: {event.reason}"
        counted = concluded(counted, search, search.stage, event.now, rest=reason)
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
