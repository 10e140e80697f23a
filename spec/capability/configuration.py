"""What the user wants of the advice."""

from collections.abc import Iterable
from enum import Enum

from attrs import field, frozen

from spec.capability.backend import Backend
from spec.errors import InvalidValue

RULE = "C4"


class Objective(Enum):
    """What breaks the order of equally or nearly rated backends."""

    LATENCY = "latency"
    """Expected speed-up first, then score."""
    THROUGHPUT = "throughput"
    """Score first, then less memory (more calls fit beside each other), then speed-up."""
    BALANCED = "balanced"
    """Score first, then expected speed-up."""


def _set_of(backends: Iterable[Backend]) -> frozenset[Backend]:
    return frozenset(backends)


@frozen
class Configuration:
    """Wishes and limits. The default has none.

    MATH can't be disabled: ONNX Runtime ignores the attempt, so accepting it would promise what
    nobody keeps. `preferred` is empty or one backend.
    """

    preferred: tuple[Backend, ...] = ()
    """The backend to take if it can run; at most one."""
    disabled: frozenset[Backend] = field(default=frozenset(), converter=_set_of)
    memory_budget_bytes: int = 0
    """Most bytes that operands and workspace may take; 0 sets no limit."""
    objective: Objective = Objective.BALANCED
    minimum_flash_length: int = 0
    """Flash kernels are left out for shorter queries; a decode step (one token) is exempt."""
    deterministic: bool = False
    """Leave out kernels whose order of summation follows the number of processors or the batch."""
    debug: bool = False
    """Take MATH wherever it can run."""

    def __attrs_post_init__(self) -> None:
        if len(self.preferred) > 1:
            raise InvalidValue(
                "configuration.preferred", f"{len(self.preferred)} backends", "at most one", RULE
            )
        if Backend.MATH in self.disabled:
            raise InvalidValue("configuration.disabled", "math", "backends other than math", RULE)
        if self.memory_budget_bytes < 0:
            raise InvalidValue(
                "configuration.memory_budget_bytes", str(self.memory_budget_bytes), ">= 0", RULE
            )
        if self.minimum_flash_length < 0:
            raise InvalidValue(
                "configuration.minimum_flash_length", str(self.minimum_flash_length), ">= 0", RULE
            )
