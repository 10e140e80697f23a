"""What a failure means for the future, by its kind (S8)."""

from spec.decision import Source
from spec.engine.answering import ended, ended_with_reference
from spec.engine.eviction import excluded, quarantined, settled
from spec.engine.search import Search
from spec.engine.state import Bypass, Cause, Exclusion, State, Transition, describe, retry_at_ns
from spec.failure import Failure, FailureKind
from spec.moment import Moment

_CAUSES = {
    FailureKind.UNSUPPORTED: Cause.UNSUPPORTED,
    FailureKind.TRANSIENT: Cause.TRANSIENT,
    FailureKind.REJECTED: Cause.REJECTED,
    FailureKind.CRASHED: Cause.CRASHED,
}

TRIAL_KINDS = frozenset({*_CAUSES, FailureKind.DEVICE})
"""How a trial may fail; the other kinds are answers of the engine."""

NONDETERMINISTIC = "reference_nondeterministic"


def set_back(state: State, search: Search, candidate: int, failure: Failure, now: Moment) -> State:
    """Return the state in which a failed candidate is out for the key.

    What may pass is looked at again after `retry_after_s`; the rest lasts as long as the key is
    held. The reference is never out (S9).
    """
    if candidate == search.reference:
        return state
    passes = failure.kind is FailureKind.TRANSIENT
    until_ns = retry_at_ns(state.policy, now.monotonic_ns) if passes else None
    exclusion = Exclusion(_CAUSES[failure.kind], failure.code, failure.detail, until_ns, 0)
    return excluded(state, search.key.digest, search.candidates[candidate].name, exclusion)


def device_failed(state: State, search: Search, failure: Failure) -> Transition:
    """Quarantine the environment and say so.

    Nothing of this device can be trusted, the reference included.
    """
    return ended(quarantined(state, search.problem.lane, failure), search, failure)


def reference_failed(state: State, search: Search, failure: Failure, now: Moment) -> Transition:
    """Answer this key with the reference and search no more: nothing can be compared with it."""
    if failure.kind is FailureKind.REJECTED and failure.code != NONDETERMINISTIC:
        detail = describe(failure.code, failure.detail)
        failure = Failure(FailureKind.REJECTED, NONDETERMINISTIC, detail)
    passes = failure.kind is FailureKind.TRANSIENT
    return bypassed(state, search, failure, now if passes else None)


def bypassed(
    state: State, search: Search, failure: Failure, retried_after: Moment | None
) -> Transition:
    """Answer this key with the reference from now on.

    That holds for `retry_after_s` from `retried_after`, or for as long as the key is held.
    """
    until_ns = retry_at_ns(state.policy, retried_after.monotonic_ns) if retried_after else None
    bypass = Bypass(failure, search.problem.scope, search.reference_name, until_ns)
    reason = describe(failure.code, failure.detail)
    following = settled(state, search.key.digest, bypass)
    return ended_with_reference(following, search, Source.BYPASSED, reason)
