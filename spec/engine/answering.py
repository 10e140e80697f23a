"""The one answer to a request, and the end of whatever it held."""

from collections.abc import Sequence

from attrs import evolve

from spec.candidate import Candidate
from spec.decision import Decision, Source
from spec.engine.effect import Answer, Effect
from spec.engine.search import Search, Stage
from spec.engine.state import State, Transition
from spec.engine.statistics import counter
from spec.failure import Failure
from spec.keys import CacheKey


def fallback(
    candidates: Sequence[Candidate], reference: int, key: CacheKey, source: Source, reason: str = ""
) -> Decision:
    """Return the decision for the reference that claims nothing."""
    name = candidates[reference].name
    return Decision(
        reference,
        reference,
        name,
        source,
        verified=False,
        ratio=None,
        key=key.digest,
        reason=reason,
    )


def answered(state: State, request: int, result: Decision | Failure, *also: str) -> Transition:
    """Answer a request that holds nothing, and count it, and whatever else is named."""
    return Transition(state.counted(*also, counter(result)), (Answer(request, result),))


def ended(
    state: State, search: Search, result: Decision | Failure, before: tuple[Effect, ...] = ()
) -> Transition:
    """Answer a request under way and release its key and its lane."""
    released = evolve(
        state,
        searches=state.searches.delete(search.request),
        busy_keys=state.busy_keys.delete(search.key.digest),
        busy_lanes=state.busy_lanes.delete(search.problem.lane),
        statistics=state.statistics.plus(counter(result)),
    )
    return Transition(released, (*before, Answer(search.request, result)))


def ended_with_reference(state: State, search: Search, source: Source, reason: str) -> Transition:
    """Answer a request under way with the reference."""
    result = fallback(search.candidates, search.reference, search.key, source, reason)
    return ended(state, search, result)


def waiting(
    state: State, search: Search, stage: Stage, before: tuple[Effect, ...] = ()
) -> Transition:
    """Go on with a request: emit the effect that its new stage waits for."""
    moved = Search(
        search.request,
        search.key,
        search.problem,
        search.candidates,
        search.reference,
        search.started,
        search.deadline_ns,
        search.evidence,
        stage,
    )
    return Transition(state.with_search(moved), (*before, stage.awaits))
