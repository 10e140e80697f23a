"""Engines with one fault each, and the invariant that must notice it."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from attrs import evolve, frozen

from spec import (
    Abandoned,
    Answer,
    CandidateSet,
    Decision,
    Event,
    Invalidated,
    RecordLoaded,
    Requested,
    SaveRecord,
    Source,
    State,
    Statistics,
    Transition,
    Unverifiable,
    Validate,
    Validated,
)
from spec.engine import admission, eviction, exploration, promotion, stored
from spec.engine.fifo import Fifo
from spec.engine.search import Contender, Exploring, Search
from spec.engine.serviceable import serviceable_index
from spec.engine.state import Entry, Held
from spec.engine.step import step
from spec.evidence.block import Side
from spec.evidence.verdict import Faster, NotFaster, TooNoisy
from spec.moment import Moment
from spec.policy import Policy
from spec.report import Outcome
from tests.spec.engine.invariants import Invariant
from tests.spec.engine.machine import Engine


@frozen
class Mutant:
    """One fault. `make` may replace parts of the engine, and returns the engine to be run."""

    name: str
    caught_by: Invariant
    make: Callable[[pytest.MonkeyPatch], Engine]


def _tunes_a_key_twice(patch: pytest.MonkeyPatch) -> Engine:
    real = admission._busy_reason

    def ignore_own_key(state: State, key: str, lane: str) -> str:
        return "" if key in state.busy_keys else real(state, key, lane)

    patch.setattr(admission, "_busy_reason", ignore_own_key)
    return step


def _tunes_an_environment_twice(patch: pytest.MonkeyPatch) -> Engine:
    real = admission._busy_reason

    def ignore_lane(state: State, key: str, lane: str) -> str:
        return real(state, key, "" if key not in state.busy_keys else lane)

    patch.setattr(admission, "_busy_reason", ignore_lane)
    return step


def _exceeds_the_limit(patch: pytest.MonkeyPatch) -> Engine:
    real = admission._busy_reason

    def one_more(state: State, key: str, lane: str) -> str:
        reason = real(state, key, lane)
        return "" if "at most" in reason else reason

    patch.setattr(admission, "_busy_reason", one_more)
    return step


def _promotes_a_banned_candidate(patch: pytest.MonkeyPatch) -> Engine:
    def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
        assert stage.baseline is not None
        return min(stage.contenders, key=lambda one: one.ratio, default=stage.baseline)

    patch.setattr(promotion, "_best", best)
    return step


def _serves_an_ineligible_candidate(patch: pytest.MonkeyPatch) -> Engine:
    def all_fit(
        policy: Policy,
        entry: Entry,
        candidates: CandidateSet,
        reference: int,
        *,
        winner: str,
        monotonic_ns: int,
    ) -> int | None:
        able = CandidateSet(evolve(one, ineligible="", workspace_bytes=0) for one in candidates)
        return serviceable_index(
            policy, entry, able, reference, winner=winner, monotonic_ns=monotonic_ns
        )

    patch.setattr(admission, "serviceable_index", all_fit)
    patch.setattr(stored, "serviceable_index", all_fit)
    return step


def _takes_unverifiable_for_verified(_: pytest.MonkeyPatch) -> Engine:
    def trusting(state: State, event: Event) -> Transition:
        if isinstance(event, Unverifiable) and event.request in state.searches:
            awaits = state.searches[event.request].stage.awaits
            if isinstance(awaits, Validate) and awaits.candidate != awaits.reference:
                return step(state, Validated(event.request, event.now))
        return step(state, event)

    return trusting


def _keeps_stale_decisions(patch: pytest.MonkeyPatch) -> Engine:
    patch.setattr(Held, "is_fresh", lambda held, monotonic_ns: True)
    return step


def _promotes_whatever_was_measured(patch: pytest.MonkeyPatch) -> Engine:
    def judged(
        policy: Policy, verdict: Faster | NotFaster | TooNoisy, cost: Fraction
    ) -> tuple[Outcome, str]:
        return Outcome.FASTER, ""

    def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
        assert stage.baseline is not None
        return max(stage.contenders, key=lambda one: one.ratio, default=stage.baseline)

    patch.setattr(promotion, "_judged", judged)
    patch.setattr(promotion, "_best", best)
    return step


def _promotes_the_first_that_qualifies(patch: pytest.MonkeyPatch) -> Engine:
    real = promotion._best

    def best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
        return real(state, search, evolve(stage, contenders=stage.contenders[:1]), now)

    patch.setattr(promotion, "_best", best)
    return step


def _bans_the_reference(_: pytest.MonkeyPatch) -> Engine:
    def gullible(state: State, event: Event) -> Transition:
        if isinstance(event, Invalidated) and event.candidate == event.reference:
            return step(state, evolve(event, reference="another"))
        return step(state, event)

    return gullible


def _answers_twice(_: pytest.MonkeyPatch) -> Engine:
    def twice(state: State, event: Event) -> Transition:
        transition = step(state, event)
        if isinstance(event, Abandoned):
            return evolve(transition, effects=(*transition.effects, *transition.effects))
        return transition

    return twice


def _forgets_to_answer_what_is_abandoned(_: pytest.MonkeyPatch) -> Engine:
    def silent(state: State, event: Event) -> Transition:
        transition = step(state, event)
        return evolve(transition, effects=()) if isinstance(event, Abandoned) else transition

    return silent


def _never_evicts(patch: pytest.MonkeyPatch) -> Engine:
    real = eviction.with_entry

    def roomy(state: State, key: str, entry: Entry) -> State:
        wide = evolve(state, policy=evolve(state.policy, capacity=2**20))
        return evolve(real(wide, key, entry), policy=state.policy)

    patch.setattr(eviction, "with_entry", roomy)
    return step


def _evicts_the_newest(patch: pytest.MonkeyPatch) -> Engine:
    def pop(queue: "Fifo[str]") -> "tuple[str, Fifo[str]]":
        kept = list(queue)
        newest, rest = kept[-1], Fifo[str]()
        for value in kept[:-1]:
            rest = rest.push(value)
        return newest, rest

    patch.setattr(Fifo, "pop", pop)
    return step


def _forgets_to_count(patch: pytest.MonkeyPatch) -> Engine:
    real = Statistics.plus

    def forgetful(statistics: Statistics, *names: str) -> Statistics:
        return real(statistics, *(name for name in names if name != "busy"))

    patch.setattr(Statistics, "plus", forgetful)
    return step


def _remembers_outside_its_state(_: pytest.MonkeyPatch) -> Engine:
    calls = [0]

    def hidden(state: State, event: Event) -> Transition:
        transition = step(state, event)
        calls[0] += 1
        if calls[0] % 3:
            return transition
        return evolve(transition, state=evolve(transition.state, reports=Fifo()))

    return hidden


def _searches_for_nested_requests(_: pytest.MonkeyPatch) -> Engine:
    def flat(state: State, event: Event) -> Transition:
        return step(state, evolve(event, nested=False) if isinstance(event, Requested) else event)

    return flat


def _claims_that_fallbacks_are_verified(_: pytest.MonkeyPatch) -> Engine:
    def boasting(state: State, event: Event) -> Transition:
        transition = step(state, event)
        answer = transition.effects[0] if transition.effects else None
        if not isinstance(answer, Answer) or not isinstance(answer.result, Decision):
            return transition
        if answer.result.source not in (Source.BUSY, Source.NESTED, Source.DISABLED):
            return transition
        claimed = Answer(answer.request, evolve(answer.result, verified=True))
        return evolve(transition, effects=(claimed,))

    return boasting


def _saves_guesses(_: pytest.MonkeyPatch) -> Engine:
    def guessing(state: State, event: Event) -> Transition:
        transition = step(state, event)
        if len(transition.effects) != 1 or not isinstance(transition.effects[0], Answer):
            return transition
        result = transition.effects[0].result
        if not isinstance(result, Decision) or result.source is not Source.TUNED:
            return transition
        held = transition.state.entries[result.key].settled
        assert isinstance(held, Held)
        return evolve(transition, effects=(SaveRecord(held.record), *transition.effects))

    return guessing


def _trusts_the_store(_: pytest.MonkeyPatch) -> Engine:
    def trusting(state: State, event: Event) -> Transition:
        transition = step(state, event)
        if isinstance(event, RecordLoaded) and isinstance(transition.effects[0], Validate):
            return step(transition.state, Validated(event.request, event.now))
        return transition

    return trusting


def _forgets_the_quarantine(patch: pytest.MonkeyPatch) -> Engine:
    patch.setattr(State, "is_quarantined", lambda state, lane: False)
    return step


def _measures_in_one_order(patch: pytest.MonkeyPatch) -> Engine:
    order = (Side.REFERENCE, Side.REFERENCE, Side.CANDIDATE, Side.CANDIDATE)
    patch.setattr(exploration, "block_order", lambda seed, key, candidate, block: order)
    return step


def _ignores_the_budget(patch: pytest.MonkeyPatch) -> Engine:
    real = exploration._next_candidate

    def patient(state: State, search: Search, stage: Exploring, now: Moment) -> Transition:
        early = Moment(min(now.monotonic_ns, search.deadline_ns - 1), now.wall_s)
        return real(state, search, stage, early)

    patch.setattr(exploration, "_next_candidate", patient)
    return step


def _tries_banned_candidates(patch: pytest.MonkeyPatch) -> Engine:
    real = exploration._next_candidate

    def eager(state: State, search: Search, stage: Exploring, now: Moment) -> Transition:
        key = search.key.digest
        if key not in state.entries:
            return real(state, search, stage, now)
        entry = state.entries[key]
        free = state.entries.set(key, evolve(entry, exclusions=type(entry.exclusions)()))
        after = real(evolve(state, entries=free), search, stage, now)
        if key not in after.state.entries or search.request not in after.state.searches:
            return real(state, search, stage, now)
        again = evolve(after.state.entries[key], exclusions=entry.exclusions)
        return evolve(after, state=evolve(after.state, entries=after.state.entries.set(key, again)))

    patch.setattr(exploration, "_next_candidate", eager)
    return step


MUTANTS = (
    Mutant("tunes a key twice", Invariant.ONE_TUNING_PER_KEY, _tunes_a_key_twice),
    Mutant(
        "tunes an environment twice",
        Invariant.ONE_TUNING_PER_ENVIRONMENT,
        _tunes_an_environment_twice,
    ),
    Mutant("exceeds the limit", Invariant.PARALLEL_LIMIT, _exceeds_the_limit),
    Mutant("promotes the banned", Invariant.NO_BANNED_WINNER, _promotes_a_banned_candidate),
    Mutant(
        "serves the ineligible", Invariant.NO_INELIGIBLE_WINNER, _serves_an_ineligible_candidate
    ),
    Mutant(
        "takes unverifiable for verified",
        Invariant.NO_UNVERIFIED_WINNER,
        _takes_unverifiable_for_verified,
    ),
    Mutant("keeps stale decisions", Invariant.NO_STALE_WINNER, _keeps_stale_decisions),
    Mutant(
        "promotes whatever was measured",
        Invariant.NO_SLOWER_WINNER,
        _promotes_whatever_was_measured,
    ),
    Mutant(
        "promotes the first that qualifies",
        Invariant.BEST_WINS,
        _promotes_the_first_that_qualifies,
    ),
    Mutant("bans the reference", Invariant.REFERENCE_NEVER_BANNED, _bans_the_reference),
    Mutant("answers twice", Invariant.ANSWERED_ONCE, _answers_twice),
    Mutant("never answers", Invariant.ANSWERED_ONCE, _forgets_to_answer_what_is_abandoned),
    Mutant("never evicts", Invariant.BOUNDED_MEMORY, _never_evicts),
    Mutant("evicts the newest", Invariant.BOUNDED_MEMORY, _evicts_the_newest),
    Mutant("forgets to count", Invariant.COUNTERS_ADD_UP, _forgets_to_count),
    Mutant("remembers outside its state", Invariant.REPLAY, _remembers_outside_its_state),
    Mutant("searches when nested", Invariant.ORDER_OF_ANSWERS, _searches_for_nested_requests),
    Mutant(
        "claims that fallbacks are verified",
        Invariant.FALLBACK_IS_REFERENCE,
        _claims_that_fallbacks_are_verified,
    ),
    Mutant("saves guesses", Invariant.STORE_TRAFFIC, _saves_guesses),
    Mutant("trusts the store", Invariant.STORED_IS_CONFIRMED, _trusts_the_store),
    Mutant("forgets the quarantine", Invariant.ORDER_OF_ANSWERS, _forgets_the_quarantine),
    Mutant("measures in one order", Invariant.TRIAL_ORDER, _measures_in_one_order),
    Mutant("ignores the budget", Invariant.TRIAL_ORDER, _ignores_the_budget),
    Mutant("tries the banned", Invariant.BANNED_NOT_TRIED, _tries_banned_candidates),
)
