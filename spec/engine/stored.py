"""A record from another time or process: what makes it usable here (S5)."""

from attrs import evolve

from spec.decision import Decision, Source
from spec.engine.answering import ended, ended_with_reference, waiting
from spec.engine.effect import Effect, LoadRecord, RemoveRecord, Validate
from spec.engine.event import (
    RecordLoaded,
    Requested,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.engine.eviction import settled, unsettled
from spec.engine.exploration import begun, checked
from spec.engine.search import PROVISIONAL, UNCHECKED, Confirming, Loading, Search
from spec.engine.serviceable import serviceable_index
from spec.engine.setback import device_failed, set_back
from spec.engine.state import Held, State, Transition
from spec.evidence.rule import shared_by
from spec.failure import Failure, FailureKind
from spec.keys import CacheKey
from spec.moment import Moment
from spec.policy import SECOND_NS, Mode, Policy
from spec.record import Record


def looked_up(state: State, event: Requested, key: CacheKey) -> Transition:
    """Let a request in: occupy its key and lane, and look for a record to confirm."""
    policy = state.policy
    loading = Loading(LoadRecord(event.request, key.digest))
    search = Search(
        event.request,
        key,
        event.problem,
        event.candidates,
        event.reference,
        event.now,
        event.now.monotonic_ns + state.policy.budget_ns,
        shared_by(policy.evidence, max(1, min(len(event.candidates), policy.max_candidates) - 1)),
        loading,
    )
    occupied = evolve(
        state,
        searches=state.searches.set(event.request, search),
        busy_keys=state.busy_keys.set(key.digest, event.request),
        busy_lanes=state.busy_lanes.set(event.problem.lane, event.request),
    )
    held = state.entry(key.digest).settled
    if isinstance(held, Held) and held.record.provisional:
        remaining_ns = held.fresh_until_ns - event.now.monotonic_ns
        found = _confirming(occupied, search, held.record, remaining_ns, event.now, stored=False)
        if found is not None:
            return found
    if event.problem.persistent:
        return waiting(occupied, search, loading)
    return missed(occupied, search)


def loaded(state: State, search: Search, event: RecordLoaded) -> Transition:
    """Validate a stored record's winner if it could be served; else go on as a miss."""
    record, policy = event.record, state.policy
    if not _belongs(record, search) or not _supports_itself(policy, record):
        return missed(state.counted("store_warnings"), search)
    if record.is_from_the_future(event.now):
        return missed(state.counted("store_warnings"), search)
    if not record.is_fresh(event.now, policy.ttl_s, policy.retry_after_s):
        return missed(state, search)
    age_s = max(0, record.age_s(event.now))
    remaining_s = record.lifetime_s(policy.ttl_s, policy.retry_after_s) - age_s
    found = _confirming(state, search, record, remaining_s * SECOND_NS, event.now, stored=True)
    return found if found is not None else missed(state, search)


def unreadable(state: State, search: Search) -> Transition:
    """Go on as a miss, with a warning. What is not understood is never removed."""
    return missed(state.counted("store_warnings"), search)


def confirmed(
    state: State, search: Search, stage: Confirming, event: Validated | Unverifiable
) -> Transition:
    """Serve a record whose winner passed here, and hold it in memory."""
    if isinstance(event, Validated):
        check = checked(event)
    elif state.policy.require_validation:
        failure = Failure(FailureKind.UNSUPPORTED, "unverifiable", event.reason)
        return not_confirmed(state, search, stage, TrialFailed(event.request, event.now, failure))
    else:
        check = UNCHECKED
    held = Held(stage.record, stage.since_ns + stage.remaining_ns)
    index = _index(state, search, stage.record, event.now)
    if index is None or not held.is_fresh(event.now.monotonic_ns):
        # It was banned, or its time ran out, while it was being validated.
        return missed(state, search)
    record = evolve(
        stage.record,
        verified=check.verified,
        feeds=check.feeds,
        provisional=check.provisional,
    )
    following = settled(state, search.key.digest, evolve(held, record=record))
    decision = Decision(
        index,
        search.reference,
        record.winner,
        Source.STORED,
        record.verified,
        record.ratio,
        search.key.digest,
        PROVISIONAL if record.provisional else "",
    )
    return ended(following, search, decision)


def not_confirmed(
    state: State, search: Search, stage: Confirming, event: TrialFailed
) -> Transition:
    """Drop a record whose winner failed here, and go on as a miss (S5)."""
    if event.failure.kind is FailureKind.DEVICE:
        return device_failed(state, search, event.failure)
    out = set_back(state, search, stage.awaits.candidate, event.failure, event.now)
    if stage.is_stored:
        return missed(out, search, (RemoveRecord(search.key.digest),))
    return missed(unsettled(out, search.key.digest), search, _removal(search))


def missed(state: State, search: Search, before: tuple[Effect, ...] = ()) -> Transition:
    """Explore where the policy allows it; else answer with the reference."""
    if state.policy.mode is Mode.CACHE_ONLY:
        following = ended_with_reference(state, search, Source.CACHE_MISS, "")
        return Transition(following.state, (*before, *following.effects))
    return begun(state, search, before)


def _confirming(
    state: State, search: Search, record: Record, remaining_ns: int, now: Moment, *, stored: bool
) -> Transition | None:
    index = _index(state, search, record, now)
    if index is None or remaining_ns <= 0:
        return None
    if state.policy.require_validation and not record.verified:
        return None
    check = Validate(search.request, search.reference, index, search.deadline_ns)
    stage = Confirming(record, remaining_ns, now.monotonic_ns, stored, check)
    return waiting(state, search, stage)


def _index(state: State, search: Search, record: Record, now: Moment) -> int | None:
    return serviceable_index(
        state.policy,
        state.entry(search.key.digest),
        search.candidates,
        search.reference,
        winner=record.winner,
        monotonic_ns=now.monotonic_ns,
    )


def _belongs(record: Record, search: Search) -> bool:
    return (
        record.key == search.key.digest
        and record.scope is search.problem.scope
        and record.reference == search.reference_name
    )


def _supports_itself(policy: Policy, record: Record) -> bool:
    """Whether the evidence in the record would promote its winner under this policy (S7)."""
    if record.winner == record.reference:
        return True
    return record.blocks > 0 and record.ratio < 1 and record.ratio * policy.min_speedup <= 1


def _removal(search: Search) -> tuple[Effect, ...]:
    return (RemoveRecord(search.key.digest),) if search.problem.persistent else ()
