"""What a predictor learns from: the features of a workload and a settled latency (rule L1)."""

from math import log2

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least, not_empty


@frozen
class WorkloadFeatures:
    """Size of a workload in whole numbers; the predictors look at their logarithms."""

    flops: int = field(validator=at_least(0, "L1"))
    bytes_moved: int = field(validator=at_least(0, "L1"))
    lengths: tuple[tuple[str, int], ...] = ()
    """Named lengths in order of name, e.g. `(("key", 2048), ("query", 1))`."""

    def __attrs_post_init__(self) -> None:
        names = [name for name, _ in self.lengths]
        if names != sorted(set(names)):
            raise InvalidValue("lengths", str(names), "unique names in order", "L1")
        if any(length < 0 for _, length in self.lengths):
            raise InvalidValue("lengths", str(self.lengths), "lengths of at least 0", "L1")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lengths."""
        return tuple(name for name, _ in self.lengths)

    def logarithms(self) -> tuple[float, ...]:
        """Return log2(1 + x) of flops, bytes and lengths, and the log2 of the intensity.

        The intensity is (1 + flops) / (1 + bytes). Order: flops, bytes, intensity, lengths.
        """
        flops = log2(1 + self.flops)
        bytes_moved = log2(1 + self.bytes_moved)
        lengths = tuple(log2(1 + length) for _, length in self.lengths)
        return (flops, bytes_moved, flops - bytes_moved, *lengths)


@frozen
class Point:
    """A plan on a workload: what a latency is predicted for."""

    workload: str = field(validator=not_empty("L1"))
    plan: str = field(validator=not_empty("L1"))
    features: WorkloadFeatures


@frozen
class Observation:
    """A settled latency of one plan on one workload, in nanoseconds: measured, never a guess."""

    point: Point
    latency_ns: int = field(validator=at_least(1, "L1"))


MAX_OBSERVATIONS = 512
"""A fit costs the cube of this; whoever has more chooses which to learn from."""


def in_order(observations: tuple[Observation, ...]) -> tuple[Observation, ...]:
    """Return the observations in order of workload and plan, after checking that they fit together.

    The order makes every fit independent of the order of arrival, to the last bit.

    Raises `InvalidValue` (L1) for none, for more than `MAX_OBSERVATIONS`, for two of one workload
    and plan (settle them into one first, or held-out errors would be seen in training), for one
    workload with two feature values, and for differing names of lengths.
    """
    if not 1 <= len(observations) <= MAX_OBSERVATIONS:
        need = f"from 1 to {MAX_OBSERVATIONS}"
        raise InvalidValue("observations", str(len(observations)), need, "L1")
    features: dict[str, WorkloadFeatures] = {}
    seen: set[tuple[str, str]] = set()
    names = observations[0].point.features.names
    for observation in observations:
        point = observation.point
        if (point.workload, point.plan) in seen:
            raise InvalidValue("observations", f"{point} twice", "one per workload and plan", "L1")
        seen.add((point.workload, point.plan))
        if features.setdefault(point.workload, point.features) != point.features:
            raise InvalidValue("features", f"two of {point.workload!r}", "one per workload", "L1")
        if point.features.names != names:
            raise InvalidValue("lengths", str(point.features.names), f"the names {names}", "L1")
    return tuple(sorted(observations, key=lambda one: (one.point.workload, one.point.plan)))


def by_workload(observations: tuple[Observation, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the positions of the observations of each workload, workloads in order of name."""
    groups: dict[str, list[int]] = {}
    for position, observation in enumerate(observations):
        groups.setdefault(observation.point.workload, []).append(position)
    return tuple(tuple(groups[name]) for name in sorted(groups))


def seen_elsewhere(observations: tuple[Observation, ...], point: Point) -> bool:
    """Tell whether the plan of a point was observed on another workload than the point's."""
    return any(
        one.point.plan == point.plan and one.point.workload != point.workload
        for one in observations
    )
