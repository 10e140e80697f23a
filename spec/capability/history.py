"""Measured latencies of backends, and what may be concluded from them."""

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Final

from attrs import frozen

from spec.capability.backend import ORDER, Backend
from spec.capability.canonical_parts import Parts
from spec.errors import InvalidValue

MINIMUM_SAMPLES: Final = 3
"""Fewer can't outvote one disturbed run."""


@frozen
class Observation:
    """One measured call of one backend, under the key of its workload (`workload_key`)."""

    backend: Backend
    workload: Parts
    latency_ns: int

    def __attrs_post_init__(self) -> None:
        if self.latency_ns < 1:
            raise InvalidValue("observation.latency_ns", str(self.latency_ns), ">= 1", "C11")


Latencies = Mapping[Backend, tuple[int, ...]]
"""Sorted latencies per backend that has enough of them, in the fixed order of backends."""


def latencies_of(history: Iterable[Observation], workload: Parts) -> Latencies:
    """The observations of exactly this workload; a backend with too few of them is unmeasured."""
    found: dict[Backend, list[int]] = {}
    for observation in history:
        if observation.workload == workload:
            found.setdefault(observation.backend, []).append(observation.latency_ns)
    return {
        backend: tuple(sorted(found[backend]))
        for backend in ORDER
        if len(found.get(backend, ())) >= MINIMUM_SAMPLES
    }


def median_ns(latencies: tuple[int, ...]) -> Fraction:
    """Middle of the sorted latencies, the mean of the middle two where there are two."""
    middle = len(latencies) // 2
    if len(latencies) % 2:
        return Fraction(latencies[middle])
    return Fraction(latencies[middle - 1] + latencies[middle], 2)


def chance_of_being_faster(ours: tuple[int, ...], theirs: tuple[int, ...]) -> Fraction:
    """How sure the samples make it that ours is the faster one, strictly between 0 and 1.

    A is the share of all pairs in which ours is faster, ties half (the Mann-Whitney statistic).
    Only n = the smaller number of samples are independent pairs, so the answer is
    (A n + 1) / (n + 2): Laplace's rule, under which no finite evidence is certainty and none at
    all is one half.
    """
    faster = sum((1 if a < b else Fraction(1, 2) if a == b else 0) for a in ours for b in theirs)
    share = Fraction(faster, len(ours) * len(theirs))
    pairs = min(len(ours), len(theirs))
    return (share * pairs + 1) / (pairs + 2)
