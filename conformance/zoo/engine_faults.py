"""Harnesses with an engine that breaks one rule of selection."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Final, TypeAlias

from attrs import evolve
from immutables import Map

from conformance.adapters.harness import serve
from conformance.adapters.in_process import Main
from conformance.implementations.python import ReferenceHarness
from conformance.implementations.python.reference_harness import Step
from conformance.zoo.swapped import swapped
from conformance.zoo.wrong import Wrong
from spec.decision import Decision, Source
from spec.engine import exploration, promotion
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
from spec.engine.fifo import Fifo
from spec.engine.inputs import admitted
from spec.engine.search import Contender, Exploring, Search
from spec.engine.state import NOTHING, Held, State, Transition
from spec.engine.step import step
from spec.evidence.verdict import Faster, NotFaster, TooNoisy
from spec.failure import FailureKind
from spec.keys import CacheKey
from spec.moment import Moment
from spec.policy import Mode, Policy
from spec.regression import IncidentPolicy, WindowMedian
from spec.report import Outcome

Swap: TypeAlias = Callable[[], AbstractContextManager[None]]
NEVER_NS: Final = 2**62


def _engine(new_step: Callable[[], Step], *swaps: Swap) -> Main:
    def main(lines: Iterator[str], write: Callable[[str], object]) -> None:
        with ExitStack() as stack:
            for swap in swaps:
                stack.enter_context(swap())
            serve(ReferenceHarness(new_step), lines, write)

    return main


def _stepping(wrong_step: Step) -> Main:
    return _engine(lambda: wrong_step)


def _hearing(change: Callable[[State, Event], Event]) -> Main:
    """Return an engine that hears another event than was told."""
    return _stepping(lambda state, event: step(state, change(state, event)))


def _under(change: Callable[[Policy], Policy]) -> Main:
    """Return an engine that keeps another policy in a field that is not part of any key."""

    def other(state: State, event: Event) -> Transition:
        transition = step(evolve(state, policy=change(state.policy)), event)
        return evolve(transition, state=evolve(transition.state, policy=state.policy))

    return _stepping(other)


def _saying(change: Callable[[State, Event, Transition], tuple[Effect, ...]]) -> Main:
    """Return an engine that does the right thing and says another."""

    def other(state: State, event: Event) -> Transition:
        transition = step(state, event)
        return evolve(transition, effects=change(state, event, transition))

    return _stepping(other)


def _swapping(*swaps: Swap) -> Main:
    return _engine(lambda: step, *swaps)


def _decision_of(effect: Effect) -> Decision | None:
    if isinstance(effect, Answer) and isinstance(effect.result, Decision):
        return effect.result
    return None


# What is heard


def _stale_hit(state: State, event: Event) -> Transition:
    if isinstance(event, Requested):
        for key, entry in state.entries.items():
            if isinstance(entry.settled, Held):
                forever = evolve(entry, settled=evolve(entry.settled, fresh_until_ns=NEVER_NS))
                state = evolve(state, entries=state.entries.set(key, forever))
    return step(state, event)


def _forgets_bans(state: State, event: Event) -> Transition:
    if isinstance(event, Requested):
        for key, entry in state.entries.items():
            state = evolve(state, entries=state.entries.set(key, evolve(entry, exclusions=Map())))
    return step(state, event)


def _forgets_quarantine(state: State, event: Event) -> Transition:
    return step(evolve(state, quarantine=Map()), event)


def _ignores_lanes(state: State, event: Event) -> Transition:
    if not isinstance(event, Requested):
        return step(state, event)
    transition = step(evolve(state, busy_lanes=Map()), event)
    lanes = state.busy_lanes.update(dict(transition.state.busy_lanes))
    return evolve(transition, state=evolve(transition.state, busy_lanes=lanes))


def _zero_counts(state: State, event: Event) -> Event:
    del state
    if isinstance(event, Measured) and event.latency_ns == 0:
        return evolve(event, latency_ns=1)
    return event


def _never_nested(state: State, event: Event) -> Event:
    del state
    return evolve(event, nested=False) if isinstance(event, Requested) else event


def _trusts_unverifiable(state: State, event: Event) -> Event:
    if isinstance(event, Unverifiable) and event.request in state.searches:
        return Validated(event.request, event.now)
    return event


def _serves_what_was_rejected(state: State, event: Event) -> Event:
    if isinstance(event, TrialFailed) and event.failure.kind is FailureKind.REJECTED:
        search = state.searches.get(event.request)
        if search is not None and isinstance(search.stage.awaits, Validate):
            return Validated(event.request, event.now)
    return event


def _as(kind: FailureKind, other: FailureKind) -> Callable[[State, Event], Event]:
    def change(state: State, event: Event) -> Event:
        del state
        if isinstance(event, TrialFailed) and event.failure.kind is kind:
            return evolve(event, failure=evolve(event.failure, kind=other))
        return event

    return change


def _counts_unchecked(state: State, event: Event) -> Event:
    del state
    return evolve(event, correctness_checked=True) if isinstance(event, Compared) else event


def _dates_records_today(state: State, event: Event) -> Event:
    del state
    if isinstance(event, RecordLoaded):
        return evolve(event, record=evolve(event.record, created_s=event.now.wall_s))
    return event


def _takes_any_record(state: State, event: Event) -> Event:
    if isinstance(event, RecordLoaded) and event.request in state.searches:
        search = state.searches[event.request]
        own = evolve(event.record, key=search.key.digest, scope=search.problem.scope, verified=True)
        return evolve(event, record=own)
    return event


def _ignores_lower_level(state: State, event: Event) -> Event:
    del state
    if isinstance(event, Requested):
        return evolve(event, problem=evolve(event.problem, lower_level=""))
    return event


def _never_bans(state: State, event: Event) -> Event:
    del state
    return evolve(event, ban=False) if isinstance(event, Invalidated) else event


def _trusts_the_store(state: State, event: Event) -> Transition:
    transition = step(state, event)
    if (
        isinstance(event, RecordLoaded)
        and transition.effects
        and isinstance(transition.effects[0], Validate)
    ):
        return step(transition.state, Validated(event.request, event.now))
    return transition


def _bans_the_reference() -> Step:
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


def _winner_by_index() -> Step:
    """Remember where a winner stood, not what it was called."""
    places: dict[str, int] = {}

    def wrong(state: State, event: Event) -> Transition:
        transition = step(state, event)
        effects: list[Effect] = []
        for effect in transition.effects:
            decision = _decision_of(effect)
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


# What is said


def _waits_when_busy(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    return tuple(
        effect
        for effect in transition.effects
        if (decision := _decision_of(effect)) is None or decision.source is not Source.BUSY
    )


def _claims_verified(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    return tuple(
        evolve(effect, result=evolve(decision, verified=True))
        if isinstance(effect, Answer)
        and (decision := _decision_of(effect)) is not None
        and decision.ratio is None
        else effect
        for effect in transition.effects
    )


def _saves_guesses(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    effects = transition.effects
    if len(effects) == 1 and (decision := _decision_of(effects[0])) is not None:
        held = transition.state.entries.get(decision.key, NOTHING).settled
        if decision.source is Source.TUNED and isinstance(held, Held):
            return (SaveRecord(held.record), *effects)
    return effects


def _never_saves(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    return tuple(one for one in transition.effects if not isinstance(one, SaveRecord))


def _never_removes(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    return tuple(one for one in transition.effects if not isinstance(one, RemoveRecord))


def _removes_unreadable(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    if isinstance(event, RecordUnreadable) and event.request in state.searches:
        key = state.searches[event.request].key.digest
        return (RemoveRecord(key), *transition.effects)
    return transition.effects


def _answers_twice(state: State, event: Event, transition: Transition) -> tuple[Effect, ...]:
    del state, event
    answers = tuple(one for one in transition.effects if isinstance(one, Answer))
    return (*transition.effects, *answers)


# What is replaced inside


def _newest_first() -> AbstractContextManager[None]:
    def change(
        real: Callable[["Fifo[str]"], tuple[str, "Fifo[str]"]],
    ) -> Callable[["Fifo[str]"], tuple[str, "Fifo[str]"]]:
        del real

        def pop(queue: "Fifo[str]") -> tuple[str, "Fifo[str]"]:
            *kept, newest = queue
            rest = Fifo[str]()
            for value in kept:
                rest = rest.push(value)
            return newest, rest

        return pop

    return swapped(Fifo, "pop", change)


Judge: TypeAlias = Callable[[Policy, Faster | NotFaster | TooNoisy], tuple[Outcome, str]]
Best: TypeAlias = Callable[[State, Search, Exploring, Moment], Contender]


def _judged_leniently() -> AbstractContextManager[None]:
    def change(real: Judge) -> Judge:
        def judged(policy: Policy, verdict: Faster | NotFaster | TooNoisy) -> tuple[Outcome, str]:
            return (Outcome.FASTER, "") if verdict.ratio <= 1 else real(policy, verdict)

        return judged

    return swapped(promotion, "_judged", change)


def _noise_ignored() -> AbstractContextManager[None]:
    def change(real: Judge) -> Judge:
        def judged(policy: Policy, verdict: Faster | NotFaster | TooNoisy) -> tuple[Outcome, str]:
            if isinstance(verdict, TooNoisy):
                return real(policy, Faster(verdict.ratio, verdict.dispersion, verdict.blocks))
            return real(policy, verdict)

        return judged

    return swapped(promotion, "_judged", change)


def _last_best() -> AbstractContextManager[None]:
    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            found = real(state, search, stage, now)
            equal = [one for one in stage.contenders if one.ratio == found.ratio]
            return equal[-1] if equal else found

        return best

    return swapped(promotion, "_best", change)


def _first_that_qualifies() -> AbstractContextManager[None]:
    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            return real(state, search, evolve(stage, contenders=stage.contenders[:1]), now)

        return best

    return swapped(promotion, "_best", change)


def _banned_meanwhile() -> AbstractContextManager[None]:
    def change(real: Best) -> Best:
        def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
            return real(evolve(state, entries=Map()), search, stage, now)

        return best

    return swapped(promotion, "_best", change)


def _always_one_order() -> AbstractContextManager[None]:
    def change(
        real: Callable[[int, str, str, int], tuple[object, ...]],
    ) -> Callable[[int, str, str, int], tuple[object, ...]]:
        return lambda _seed, _key, _candidate, _block: real(0, "", "", 0)

    return swapped(exploration, "block_order", change)


def _mode(mode: Mode) -> Callable[[Policy], Policy]:
    def change(policy: Policy) -> Policy:
        return evolve(policy, mode=Mode.EXPLORE) if policy.mode is mode else policy

    return change


def _wrong(name: str, what: str, group: str, rules: tuple[str, ...], main: Main) -> Wrong:
    return Wrong(name, what, rules, (f"{group}/*",), main)


ENGINE_FAULTS: Final = (
    _wrong(
        "stale-hit",
        "serves a decision for ever",
        "selection/memory",
        ("S3",),
        _stepping(_stale_hit),
    ),
    _wrong(
        "long-life",
        "keeps decisions a second too long",
        "selection/memory",
        ("S3", "S5"),
        _under(lambda policy: evolve(policy, ttl_s=policy.ttl_s + 1)),
    ),
    _wrong(
        "ban-forgotten", "tries what is out", "cache/bans", ("S8", "S9"), _stepping(_forgets_bans)
    ),
    _wrong(
        "ban-ignored",
        "takes a decision back without its ban",
        "cache/bans",
        ("S9",),
        _hearing(_never_bans),
    ),
    _wrong(
        "bans-reference",
        "lets the reference be banned",
        "cache/bans",
        ("S9",),
        _engine(_bans_the_reference),
    ),
    _wrong(
        "quarantine-ignored",
        "goes on with a device in doubt",
        "selection/failures",
        ("S8", "S2"),
        _stepping(_forgets_quarantine),
    ),
    _wrong(
        "lane-ignored",
        "tunes an environment twice",
        "selection/busy",
        ("S4",),
        _stepping(_ignores_lanes),
    ),
    _wrong(
        "too-many-searches",
        "does not count its searches",
        "selection/busy",
        ("S4",),
        _under(lambda policy: evolve(policy, max_parallel=1024)),
    ),
    _wrong(
        "busy-waits",
        "lets a request wait while busy",
        "selection/busy",
        ("S4",),
        _saying(_waits_when_busy),
    ),
    _wrong(
        "nested-explores",
        "measures inside a trial",
        "selection/order",
        ("S2",),
        _hearing(_never_nested),
    ),
    _wrong(
        "disabled-measures",
        "tunes when disabled",
        "selection/order",
        ("S2",),
        _under(_mode(Mode.DISABLED)),
    ),
    _wrong(
        "cache-only-measures",
        "measures in mode cache-only",
        "selection/order",
        ("S2", "S5"),
        _under(_mode(Mode.CACHE_ONLY)),
    ),
    _wrong(
        "claims-verified",
        "calls a fallback verified",
        "selection/order",
        ("S2",),
        _saying(_claims_verified),
    ),
    _wrong(
        "answers-twice",
        "answers one request twice",
        "selection/order",
        ("S2",),
        _saying(_answers_twice),
    ),
    _wrong(
        "trusts-store",
        "serves a record unvalidated",
        "selection/stored",
        ("S5",),
        _stepping(_trusts_the_store),
    ),
    _wrong(
        "dates-records-today",
        "ignores a record's age",
        "selection/stored",
        ("S5",),
        _hearing(_dates_records_today),
    ),
    _wrong(
        "any-record",
        "takes another key's record",
        "selection/stored",
        ("S5",),
        _hearing(_takes_any_record),
    ),
    _wrong(
        "removes-unreadable",
        "removes what it does not understand",
        "selection/stored",
        ("S5",),
        _saying(_removes_unreadable),
    ),
    _wrong(
        "zero-counts",
        "scores a time of zero",
        "selection/search",
        ("S6", "S8", "S13", "E3"),
        _hearing(_zero_counts),
    ),
    _wrong(
        "warms-up-once-more",
        "warms up more often than told",
        "selection/search",
        ("S6",),
        _under(lambda policy: evolve(policy, warmups=policy.warmups + 1)),
    ),
    _wrong(
        "no-candidate-limit",
        "tries more candidates than allowed",
        "selection/search",
        ("S6",),
        _under(lambda policy: evolve(policy, max_candidates=4096)),
    ),
    _wrong(
        "workspace-ignored",
        "tries what needs too much memory",
        "selection/search",
        ("S1", "S6", "S3"),
        _under(lambda policy: evolve(policy, max_workspace_bytes=None)),
    ),
    _wrong(
        "one-order-engine",
        "measures every block in the same order",
        "selection/search",
        ("E3", "S6"),
        _swapping(_always_one_order),
    ),
    _wrong(
        "no-minimum-speedup",
        "promotes ties",
        "selection/promotion",
        ("S7",),
        _swapping(_judged_leniently),
    ),
    _wrong(
        "noise-ignored",
        "promotes noise",
        "selection/promotion",
        ("S7", "E4", "E5"),
        _swapping(_noise_ignored),
    ),
    _wrong(
        "ties-to-the-last",
        "lets the last of equals win",
        "selection/promotion",
        ("S7",),
        _swapping(_last_best),
    ),
    _wrong(
        "first-that-qualifies",
        "stops comparing winners",
        "selection/promotion",
        ("S7",),
        _swapping(_first_that_qualifies),
    ),
    _wrong(
        "banned-meanwhile",
        "promotes what was banned during the search",
        "selection/promotion",
        ("S9", "S7"),
        _swapping(_banned_meanwhile),
    ),
    _wrong(
        "unverifiable-passes",
        "takes outputs that can't be compared for equal",
        "selection/search",
        ("S6", "S7", "S5", "E7"),
        _hearing(_trusts_unverifiable),
    ),
    _wrong(
        "rejected-passes",
        "takes wrong outputs for right",
        "selection/search",
        ("S6", "S7", "S8", "S5"),
        _hearing(_serves_what_was_rejected),
    ),
    _wrong(
        "transient-for-ever",
        "never tries again after a passing failure",
        "selection/failures",
        ("S8",),
        _hearing(_as(FailureKind.TRANSIENT, FailureKind.UNSUPPORTED)),
    ),
    _wrong(
        "crash-passes",
        "tries a crashed candidate again",
        "selection/failures",
        ("S8",),
        _hearing(_as(FailureKind.CRASHED, FailureKind.TRANSIENT)),
    ),
    _wrong(
        "device-is-one-candidate",
        "takes a device's failure for a candidate's",
        "selection/failures",
        ("S8",),
        _hearing(_as(FailureKind.DEVICE, FailureKind.CRASHED)),
    ),
    _wrong(
        "saves-guesses",
        "stores what was not measured",
        "cache/store",
        ("S8",),
        _saying(_saves_guesses),
    ),
    _wrong(
        "never-saves",
        "keeps decisions to itself",
        "selection/promotion",
        ("S8", "S7", "S6"),
        _saying(_never_saves),
    ),
    _wrong(
        "never-removes",
        "leaves a bad record in the store",
        "cache/bans",
        ("S9", "S5"),
        _saying(_never_removes),
    ),
    _wrong(
        "counts-unchecked",
        "counts pairs nobody checked",
        "regression/watched",
        ("S10",),
        _hearing(_counts_unchecked),
    ),
    _wrong(
        "hasty-regression",
        "judges a served choice by its last pair",
        "regression/watched",
        ("S10",),
        _under(lambda policy: evolve(policy, regression=WindowMedian(1))),
    ),
    _wrong(
        "never-recurs",
        "forgives every degradation",
        "regression/watched",
        ("S10", "S9"),
        _under(lambda policy: evolve(policy, incidents=IncidentPolicy(recurrence_ns=1))),
    ),
    _wrong(
        "last-in-first-out",
        "evicts the newest key",
        "cache/eviction",
        ("S11",),
        _swapping(_newest_first),
    ),
    _wrong(
        "never-evicts",
        "keeps every key",
        "cache/eviction",
        ("S11",),
        _under(lambda policy: evolve(policy, capacity=2**20)),
    ),
    _wrong(
        "lower-level-ignored",
        "serves a pipeline whose ground has moved",
        "cache/scopes",
        ("S12",),
        _hearing(_ignores_lower_level),
    ),
    _wrong(
        "winner-by-index",
        "remembers a winner's place instead of its name",
        "selection/memory",
        ("S3", "S13"),
        _engine(_winner_by_index),
    ),
)
