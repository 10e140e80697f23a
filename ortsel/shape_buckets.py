"""Buckets of shapes: which exact shapes share one decision.

Without buckets every exact shape is tuned by itself. With them, one measurement speaks for all
shapes of a bucket; each exact shape is still verified by itself before the plan serves it.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TypeAlias

from attrs import frozen

from ortsel.errors import UsageError

NEED_MAP = "None, boundaries by input name and axis such as {'ids': {1: (32, 64)}}, or a function"
NEED_BOUNDS = "an axis from 0 on, and positive integers, each greater than the one before"


@frozen
class AxisBuckets:
    """Boundaries by input name and axis.

    A size belongs to the smallest boundary that is not less than it, so each bucket is named after
    its largest member. A size beyond the last boundary, an axis or an input that is not mentioned
    stays exact.
    """

    boundaries: tuple[tuple[str, tuple[tuple[int, tuple[int, ...]], ...]], ...]

    def __call__(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape that names the bucket of an input's shape."""
        sizes = list(shape)
        for axis, bounds in dict(self.boundaries).get(name, ()):
            if axis < len(sizes):
                sizes[axis] = next((one for one in bounds if one >= sizes[axis]), sizes[axis])
        return tuple(sizes)

    def names(self) -> tuple[str, ...]:
        """Return the inputs that are mentioned."""
        return tuple(name for name, _ in self.boundaries)


ShapeBuckets: TypeAlias = Callable[[str, tuple[int, ...]], Sequence[int]]
"""Gives the shape that names the bucket, of the same rank, from an input's name and exact shape."""

Given: TypeAlias = Mapping[str, Mapping[int, Sequence[int]]] | ShapeBuckets | None


def as_buckets(value: Given) -> ShapeBuckets | None:
    """Return the mapper that a setting stands for. Raises `UsageError`."""
    if value is None or isinstance(value, AxisBuckets):
        return value
    if isinstance(value, Mapping):
        return AxisBuckets(tuple((_name(name), _axes(axes)) for name, axes in value.items()))
    if not callable(value):
        raise UsageError("shape_buckets", repr(value), NEED_MAP)
    return value


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise UsageError("shape_buckets", repr(name), NEED_MAP)
    return name


def _axes(axes: Mapping[int, Sequence[int]]) -> tuple[tuple[int, tuple[int, ...]], ...]:
    if not isinstance(axes, Mapping):
        raise UsageError("shape_buckets", repr(axes), NEED_MAP)
    for axis, bounds in axes.items():
        sizes = (axis, 1, *bounds) if isinstance(bounds, Sequence) else ()
        whole = all(isinstance(one, int) and not isinstance(one, bool) for one in sizes)
        if not sizes or not bounds or not whole or axis < 0 or bounds[0] < 1:
            raise UsageError("shape_buckets", f"{axis!r}: {bounds!r}", NEED_BOUNDS)
        if any(one >= other for one, other in pairwise(bounds)):
            raise UsageError("shape_buckets", f"{axis!r}: {bounds!r}", NEED_BOUNDS)
    return tuple((axis, tuple(bounds)) for axis, bounds in axes.items())
