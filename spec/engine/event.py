"""What happened, as the shell saw it. Every event carries the time; the engine reads no clock."""

from collections.abc import Iterable
from typing import TypeAlias

from attrs import field, frozen

from spec.candidate import Candidate, CandidateSet
from spec.failure import Failure
from spec.moment import Moment
from spec.problem import Problem
from spec.record import Record


def _in_order(candidates: Iterable[Candidate]) -> CandidateSet:
    return CandidateSet.of(candidates)


@frozen
class Requested:
    """Somebody wants a decision. Exactly one `Answer` with the same `request` follows."""

    request: int
    """Identity chosen by the shell, never used twice."""
    now: Moment
    problem: Problem
    candidates: CandidateSet = field(converter=_in_order)
    """In ranked order: the order in which they are tried."""
    reference: int
    """Index of the reference in `candidates`."""
    nested: bool = False
    """Asked from inside a trial, where measuring would disturb the outer measurement."""


@frozen
class RecordLoaded:
    """Outcome of `LoadRecord`: the store holds this."""

    request: int
    now: Moment
    record: Record


@frozen
class RecordAbsent:
    """Outcome of `LoadRecord`: the store holds nothing under that key."""

    request: int
    now: Moment


@frozen
class RecordUnreadable:
    """Outcome of `LoadRecord`: the store failed, or what it holds is not understood."""

    request: int
    now: Moment
    reason: str


@frozen
class Measured:
    """Outcome of `Measure`: all device work whose cost belongs to the plan is done."""

    request: int
    now: Moment
    latency_ns: int
    """Mean time of one call in this measurement, at least 0."""


@frozen
class Validated:
    """Outcome of `Validate`: compared and equal, on `feeds` different feeds."""

    request: int
    now: Moment
    feeds: int = 1
    provisional: bool = False
    """The feeds were synthetic."""


@frozen
class Unverifiable:
    """Outcome of `Validate`: these outputs cannot be compared, so nothing is known."""

    request: int
    now: Moment
    reason: str


@frozen
class TrialFailed:
    """Outcome of `Measure` or `Validate`: it did not work, or the outputs differ."""

    request: int
    now: Moment
    failure: Failure


@frozen
class Abandoned:
    """The shell gives up a request under way, for example since it is closing."""

    request: int
    now: Moment
    reason: str


@frozen
class Invalidated:
    """A decision proved wrong while it was served (S9)."""

    now: Moment
    key: str
    candidate: str
    """Name of the plan that was served."""
    reference: str
    ban: bool
    """Whether the candidate must not come back under this key."""
    reason: str


@frozen
class Compared:
    """One paired, correctness-checked replay of a served decision (S10)."""

    now: Moment
    key: str
    candidate: str
    reference: str
    reference_ns: int
    selected_ns: int
    correctness_checked: bool


@frozen
class StoreFailed:
    """A `SaveRecord` or `RemoveRecord` did not work. Costs a warning, never a request."""

    now: Moment
    key: str
    reason: str


Event: TypeAlias = (
    Requested
    | RecordLoaded
    | RecordAbsent
    | RecordUnreadable
    | Measured
    | Validated
    | Unverifiable
    | TrialFailed
    | Abandoned
    | Invalidated
    | Compared
    | StoreFailed
)
