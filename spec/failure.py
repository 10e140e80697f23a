"""How things go wrong, by how long the knowledge lasts (rule S8)."""

from enum import Enum

from attrs import frozen


class FailureKind(Enum):
    """What a failure means for the future."""

    INVALID = "invalid"
    """The request broke rule S1. Nothing was tried or remembered."""
    UNSUPPORTED = "unsupported"
    """Cannot run or cannot be verified here: lasts as long as the key, since the environment is
    part of it."""
    TRANSIENT = "transient"
    """Out of memory, busy, timed out: expires after the policy's `retry_after_s`."""
    REJECTED = "rejected"
    """Wrong output: lasts as long as the key, with what differed."""
    CRASHED = "crashed"
    """The isolated trial died or hung: banned for the key, with the signal or the time."""
    DEVICE = "device"
    """The device is in doubt: its environment is quarantined until a new process."""
    QUARANTINED = "quarantined"
    """The environment was quarantined earlier. Nothing was tried."""


@frozen
class Failure:
    """One thing that went wrong: a kind that decides, words that explain."""

    kind: FailureKind
    code: str
    """Stable word for machines: "timeout", "out-of-memory", "reference_nondeterministic"."""
    detail: str = ""
    """For people: what differed, which signal, got and need."""
