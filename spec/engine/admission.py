"""What answers a request at once, and what lets it in (S2, S3, S4)."""

from spec.decision import Decision, Source
from spec.engine.answering import answered, fallback
from spec.engine.event import Requested
from spec.engine.inputs import admitted
from spec.engine.protocol import ProtocolError
from spec.engine.serviceable import serviceable_index
from spec.engine.state import Bypass, Entry, Held, State, Transition, describe
from spec.engine.stored import looked_up
from spec.failure import Failure, FailureKind
from spec.keys import CacheKey
from spec.policy import Mode, Policy


def requested(state: State, event: Requested) -> Transition:
    """Answer a request by the first rule of S2 that applies, or begin a search for it."""
    if event.request in state.searches:
        got = f"Requested {event.request}"
        raise ProtocolError(got, "a number that is not under way")
    key = admitted(state.policy, event)
    if isinstance(key, Failure):
        return answered(state, event.request, key, "requests")
    result = _immediate(state, event, key)
    if result is not None:
        return answered(state, event.request, result, "requests")
    return looked_up(state.counted("requests"), event, key)


def _immediate(state: State, event: Requested, key: CacheKey) -> Decision | Failure | None:
    lane = event.problem.lane
    if state.is_quarantined(lane):
        first = state.quarantine.get(lane)
        detail = describe(first.code, first.detail) if first else "too many devices failed"
        return Failure(FailureKind.QUARANTINED, "quarantined", detail)
    if state.policy.mode is Mode.DISABLED:
        return fallback(event.candidates, event.reference, key, Source.DISABLED)
    entry = state.entry(key.digest)
    hit = _memory_hit(state.policy, entry, event, key)
    if hit is not None:
        return hit
    held = entry.settled
    if isinstance(held, Bypass) and held.holds(event.now.monotonic_ns):
        reason = describe(held.failure.code, held.failure.detail)
        return fallback(event.candidates, event.reference, key, Source.BYPASSED, reason)
    if event.nested:
        return fallback(event.candidates, event.reference, key, Source.NESTED)
    busy = _busy_reason(state, key.digest, lane)
    if busy:
        return fallback(event.candidates, event.reference, key, Source.BUSY, busy)
    return None


def _memory_hit(policy: Policy, entry: Entry, event: Requested, key: CacheKey) -> Decision | None:
    held = entry.settled
    now_ns = event.now.monotonic_ns
    if not isinstance(held, Held) or not held.is_fresh(now_ns):
        return None
    record = held.record
    if policy.require_validation and (record.provisional or not record.verified):
        return None
    index = serviceable_index(
        policy,
        entry,
        event.candidates,
        event.reference,
        winner=record.winner,
        monotonic_ns=now_ns,
    )
    if index is None:
        return None
    return Decision(
        index,
        event.reference,
        record.winner,
        Source.MEMORY,
        record.verified,
        record.ratio,
        key.digest,
    )


def _busy_reason(state: State, key: str, lane: str) -> str:
    if key in state.busy_keys:
        return "this key is being tuned"
    if lane in state.busy_lanes:
        return "this environment is being tuned"
    if len(state.searches) >= state.policy.max_parallel:
        return f"{len(state.searches)} searches under way, at most {state.policy.max_parallel}"
    return ""
