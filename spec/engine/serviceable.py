"""Whether a decision may be served to this request (S3)."""

from spec.candidate import CandidateSet
from spec.engine.state import Entry
from spec.policy import Policy


def serviceable_index(
    policy: Policy,
    entry: Entry,
    candidates: CandidateSet,
    reference: int,
    *,
    winner: str,
    monotonic_ns: int,
) -> int | None:
    """Return the winner's index among this request's candidates if it may be served.

    It must be one of them, eligible, within workspace and not excluded. The reference is never
    excluded (S9).
    """
    if winner not in candidates.names:
        return None
    index = candidates.names.index(winner)
    if not candidates[index].fits(policy.max_workspace_bytes):
        return None
    if index != reference and entry.exclusion(winner, monotonic_ns) is not None:
        return None
    return index
