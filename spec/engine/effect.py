"""What the shell shall do now. Effects are values: the engine itself does nothing."""

from enum import Enum
from typing import TypeAlias

from attrs import frozen

from spec.decision import Decision
from spec.failure import Failure
from spec.record import Record


@frozen
class LoadRecord:
    """Read the store. Answered by `RecordLoaded`, `RecordAbsent` or `RecordUnreadable`."""

    request: int
    key: str


@frozen
class SaveRecord:
    """Write the store. Not answered, unless by `StoreFailed`."""

    record: Record


@frozen
class RemoveRecord:
    """Delete from the store. Not answered, unless by `StoreFailed`."""

    key: str


class Purpose(Enum):
    """What a measurement is for. Only paired ones are evidence."""

    WARMUP = "warmup"
    BASELINE = "baseline"
    """The reference's first scored time, from which the shell may size its blocks."""
    PAIRED = "paired"
    """One of the four measurements of a block (E3)."""


@frozen
class Measure:
    """Time one candidate. Answered by `Measured` or `TrialFailed`."""

    request: int
    candidate: int
    purpose: Purpose
    deadline_ns: int
    """Monotonic time at which the search's budget ends; the shell cuts what runs longer."""


@frozen
class Validate:
    """Compare a candidate's outputs with the reference's. Where both are one, with itself.

    Answered by `Validated`, `Unverifiable` or `TrialFailed`.
    """

    request: int
    reference: int
    candidate: int
    deadline_ns: int


@frozen
class Answer:
    """The one reply to a request."""

    request: int
    result: Decision | Failure


Effect: TypeAlias = LoadRecord | SaveRecord | RemoveRecord | Measure | Validate | Answer
