"""What a selector did so far, counted so that the counters add up."""

from operator import attrgetter
from typing import Final

from attrs import fields, frozen

from spec.decision import Decision, Source
from spec.failure import Failure, FailureKind


@frozen
class Statistics:
    """Counts since the state was made.

    Every request is counted under exactly one answer, so `requests` equals `answers` plus the
    requests under way.
    """

    requests: int = 0
    tuned: int = 0
    memory_hits: int = 0
    stored_hits: int = 0
    disabled: int = 0
    bypassed: int = 0
    nested: int = 0
    busy: int = 0
    cache_misses: int = 0
    invalid: int = 0
    quarantined: int = 0
    device_failures: int = 0
    """Requests during which a device failed; each quarantined an environment."""
    explorations: int = 0
    """Searches that began to measure: ended in a report, or still under way."""
    abandoned: int = 0
    """Requests that the shell gave up; they are counted under `bypassed` as well."""
    saved: int = 0
    """Records handed to the store."""
    store_warnings: int = 0
    """Records that could not be read, written, removed or understood."""
    invalidations: int = 0
    """Decisions taken back, whether reported (S9) or found by comparisons (S10)."""
    comparisons: int = 0
    """Paired observations that counted (S10)."""
    ignored_comparisons: int = 0
    """Paired observations of a plan that is no longer the decision."""
    degradations: int = 0
    """Decisions that comparisons found worse than recorded."""
    evictions: int = 0
    """Keys that left to make room (S11)."""

    @property
    def answers(self) -> int:
        """Requests that have their answer."""
        return (
            self.tuned
            + self.memory_hits
            + self.stored_hits
            + self.disabled
            + self.bypassed
            + self.nested
            + self.busy
            + self.cache_misses
            + self.invalid
            + self.quarantined
            + self.device_failures
        )

    def plus(self, *names: str) -> "Statistics":
        """Return the statistics with each named count one higher. Raises `KeyError` for others."""
        counts = list(_COUNTS(self))
        for name in names:
            counts[_PLACES[name]] += 1
        return Statistics(*counts)


def counter(result: Decision | Failure) -> str:
    """Return the name of the count that an answer falls under."""
    return _BY_SOURCE[result.source] if isinstance(result, Decision) else _BY_KIND[result.kind]


_NAMES: Final = tuple(field.name for field in fields(Statistics))
_COUNTS: Final = attrgetter(*_NAMES)
_PLACES: Final = {name: place for place, name in enumerate(_NAMES)}


_BY_SOURCE = {
    Source.TUNED: "tuned",
    Source.MEMORY: "memory_hits",
    Source.STORED: "stored_hits",
    Source.DISABLED: "disabled",
    Source.BYPASSED: "bypassed",
    Source.NESTED: "nested",
    Source.BUSY: "busy",
    Source.CACHE_MISS: "cache_misses",
}

_BY_KIND = {
    FailureKind.INVALID: "invalid",
    FailureKind.QUARANTINED: "quarantined",
    FailureKind.DEVICE: "device_failures",
}
