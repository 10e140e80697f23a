"""Engines that hear something else than was told, or say something else than they know."""

from collections.abc import Callable
from typing import Final

from attrs import evolve
from immutables import Map

from conformance.implementations.python.reference_harness import Step
from conformance.zoo.wrong_engine import decision_of
from spec.decision import Source
from spec.engine.effect import Answer, Effect, RemoveRecord, SaveRecord, Validate
from spec.engine.event import (
    Compared,
    Event,
    Invalidated,
    Measured,
    RecordLoaded,
    RecordUnreadable,
    Requested,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.engine.inputs import admitted
from spec.engine.state import NOTHING, Held, State, Transition
from spec.engine.step import step
from spec.failure import FailureKind
from spec.keys import CacheKey

NEVER_NS: Final = 2**62


def stale_hit(state: State, event: Event) -> Transition:
    """Never let a decision expire."""
    if isinstance(event, Requested):
        for key, entry in state.entries.items():
            if isinstance(entry.settled, Held):
                forever = evolve(entry, settled=evolve(entry.settled, fresh_until_ns=NEVER_NS))
                state = evolve(state, entries=state.entries.set(key, forever))
    return step(state, event)


def forgets_bans(state: State, event: Event) -> Transition:
    """Ask for everything as if nothing were out."""
    if isinstance(event, Requested):
        for key, entry in state.entries.items():
            state = evolve(state, entries=state.entries.set(key, evolve(entry, exclusions=Map())))
    return step(state, event)


def forgets_quarantine(state: State, event: Event) -> Transition:
    """Take every device for sound."""
    return step(evolve(state, quarantine=Map()), event)


def ignores_lanes(state: State, event: Event) -> Transition:
    """Look at keys only."""
    if not isinstance(event, Requested):
        return step(state, event)
    transition = step(evolve(state, busy_lanes=Map()), event)
    lanes = state.busy_lanes.update(dict(transition.state.busy_lanes))
    return evolve(transition, state=evolve(transition.state, busy_lanes=lanes))


def zero_counts(state: State, event: Event) -> Event:
    """Take no time for some."""
    del state
    if isinstance(event, Measured) and event.latency_ns == 0:
        return evolve(event, latency_ns=1)
    return event


def never_nested(state: State, event: Event) -> Event:
    """Take every request for an outer one."""
    del state
    return evolve(event, nested=False) if isinstance(event, Requested) else event


def trusts_unverifiable(state: State, event: Event) -> Event:
    """Take what can't be compared for equal."""
    if isinstance(event, Unverifiable) and event.request in state.searches:
        return Validated(event.request, event.now)
    return event


def serves_what_was_rejected(state: State, event: Event) -> Event:
    """Take wrong outputs for right."""
    if isinstance(event, TrialFailed) and event.failure.kind is FailureKind.REJECTED:
        search = state.searches.get(event.request)
        if search is not None and isinstance(search.stage.awaits, Validate):
            return Validated(event.request, event.now)
    return event


def as_kind(kind: FailureKind, other: FailureKind) -> Callable[[State, Event], Event]:
    """Take one kind of failure for another."""

    def change(state: State, event: Event) -> Event:
        del state
        if isinstance(event, TrialFailed) and event.failure.kind is kind:
            return evolve(event, failure=evolve(event.failure, kind=other))
        return event

    return change


def counts_unchecked(state: State, event: Event) -> Event:
    """Take every pair for checked."""
    del state
    return evolve(event, correctness_checked=True) if isinstance(event, Compared) else event


def dates_records_today(state: State, event: Event) -> Event:
    """Take every record for new."""
    del state
    if isinstance(event, RecordLoaded):
        return evolve(event, record=evolve(event.record, created_s=event.now.wall_s))
    return event


def takes_any_record(state: State, event: Event) -> Event:
    """Take every record for one's own."""
    if isinstance(event, RecordLoaded) and event.request in state.searches:
        search = state.searches[event.request]
        own = evolve(event.record, key=search.key.digest, scope=search.problem.scope, verified=True)
        return evolve(event, record=own)
    return event


def ignores_lower_level(state: State, event: Event) -> Event:
    """Take every pipeline for one on the same ground."""
    del state
    if isinstance(event, Requested):
        return evolve(event, problem=evolve(event.problem, lower_level=""))
    return event


def never_bans(state: State, event: Event) -> Event:
    """Take a decision back without a ban."""
    del state
    return evolve(event, ban=False) if isinstance(event, Invalidated) else event


def trusts_the_store(state: State, event: Event) -> Transition:
    """Pass a record's winner unvalidated."""
    transition = step(state, event)
    if (
        isinstance(event, RecordLoaded)
        and transition.effects
        and isinstance(transition.effects[0], Validate)
    ):
        return step(transition.state, Validated(event.request, event.now))
    return transition


def bans_the_reference() -> Step:
    """Keep out whatever a ban names."""
    banned: set[tuple[str, str]] = set()

    def wrong(state: State, event: Event) -> Transition:
        if isinstance(event, Invalidated) and event.ban:
            banned.add((event.key, event.candidate))
        if isinstance(event, Requested):
            key = admitted(state.policy, event)
            if isinstance(key, CacheKey):
                candidates = tuple(
                    evolve(one, ineligible="banned") if (key.digest, one.name) in banned else one
                    for one in event.candidates
                )
                event = evolve(event, candidates=candidates)
        return step(state, event)

    return wrong


def winner_by_index() -> Step:
    """Remember where a winner stood, not what it was called."""
    places: dict[str, int] = {}

    def wrong(state: State, event: Event) -> Transition:
        transition = step(state, event)
        effects: list[Effect] = []
        for effect in transition.effects:
            decision = decision_of(effect)
            if decision is None or not isinstance(effect, Answer):
                effects.append(effect)
                continue
            if decision.source is Source.MEMORY:
                place = places.setdefault(decision.key, decision.index)
                effects.append(evolve(effect, result=evolve(decision, index=place)))
                continue
            places[decision.key] = decision.index
            effects.append(effect)
        return evolve(transition, effects=tuple(effects))

    return wrong


def waits_when_busy(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Say nothing when busy."""
    del state, event
    return tuple(
        effect
        for effect in transition.effects
        if (decision := decision_of(effect)) is None or decision.source is not Source.BUSY
    )


def claims_verified(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Call every fallback verified."""
    del state, event
    return tuple(
        evolve(effect, result=evolve(decision, verified=True))
        if isinstance(effect, Answer)
        and (decision := decision_of(effect)) is not None
        and decision.ratio is None
        else effect
        for effect in transition.effects
    )


def saves_guesses(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Save what no verdict supports."""
    del state, event
    effects = transition.effects
    if len(effects) == 1 and (decision := decision_of(effects[0])) is not None:
        held = transition.state.entries.get(decision.key, NOTHING).settled
        if decision.source is Source.TUNED and isinstance(held, Held):
            return (SaveRecord(held.record), *effects)
    return effects


def never_saves(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Save nothing."""
    del state, event
    return tuple(one for one in transition.effects if not isinstance(one, SaveRecord))


def never_removes(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Remove nothing."""
    del state, event
    return tuple(one for one in transition.effects if not isinstance(one, RemoveRecord))


def removes_unreadable(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Remove what was not understood."""
    if isinstance(event, RecordUnreadable) and event.request in state.searches:
        key = state.searches[event.request].key.digest
        return (RemoveRecord(key), *transition.effects)
    return transition.effects


def answers_twice(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    """Say every answer again."""
    del state, event
    answers = tuple(one for one in transition.effects if isinstance(one, Answer))
    return (*transition.effects, *answers)
