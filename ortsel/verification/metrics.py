"""Looser ways to accept an output, chosen by the user: a number that must be good enough.

Element type, rank and shape are compared before, and the positions of NaN and infinity too; the
number is taken in float64 over the elements that are finite. A vector is what lies along the last
axis: the row of a matrix.
"""

import logging
import math
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
from attrs import Attribute, field, frozen

from ortsel.errors import UsageError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

log = logging.getLogger("ortsel")

CHUNK_ELEMENTS: Final = 1 << 20
_PLACE: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)
MAX_PLACE: Final = 200
"""Characters of an import path."""


def _share(_: object, attribute: "Attribute[float]", value: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not 0 < value <= 1:
        name = f"tolerance, {attribute.name}"
        raise UsageError(name, repr(value), "a number above 0, at most 1")


@frozen
class Cosine:
    """Each vector must point the same way: its cosine to the reference's is at least that."""

    at_least: float = field(validator=_share)


@frozen
class TopOne:
    """The largest element must be at the same place, in at least that share of the vectors.

    Of integers, booleans and strings, which are labels: at least that share must be equal.
    """

    at_least: float = field(validator=_share)


@frozen
class RelativeL2:
    """The norm of the difference, over that of the reference's whole tensor, is at most that."""

    at_most: float = field(validator=_share)


def _function(_: object, __: object, value: str) -> None:
    good = isinstance(value, str) and len(value) <= MAX_PLACE and _PLACE.fullmatch(value)
    if not good:
        raise UsageError(
            "tolerance, function", repr(value), 'an import path, "package.module:name"'
        )


def _limit(_: object, __: object, value: float | None) -> None:
    if value is None:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value):
        raise UsageError("tolerance, at_least", repr(value), "a finite number or None")


@frozen
class MetricFunction:
    """A function of the user's, given by import path so that any process finds it.

    It takes the reference's array and the candidate's, of one type and shape, and returns a number
    that must be at least `at_least`, or without that whether the candidate is good enough.
    """

    function: str = field(validator=_function)
    at_least: float | None = field(default=None, validator=_limit)

    def resolved(self) -> Callable[[Array, Array], object]:
        """Return the function. Raises `UsageError` where there is none at that path."""
        module, name = self.function.split(":")
        need = "the import path of a function that can be imported here"
        try:
            found = getattr(import_module(module), name)
        except Exception as error:  # a module of the user's may raise anything
            got = f"{self.function!r} ({type(error).__name__}: {error})"
            raise UsageError("tolerance, function", got, need) from error
        if not callable(found):
            raise UsageError("tolerance, function", f"{self.function!r} ({found!r})", need)
        function: Callable[[Array, Array], object] = found
        return function


Metric: TypeAlias = Cosine | TopOne | RelativeL2 | MetricFunction


@frozen
class GoodEnough:
    """The metric accepts."""


@frozen
class NotGoodEnough:
    """The metric rejects."""

    what: str


@frozen
class NoMeasure:
    """The metric says nothing about such outputs."""

    reason: str


Judgement: TypeAlias = GoodEnough | NotGoodEnough | NoMeasure


def judge(metric: Metric, reference: Array, candidate: Array) -> Judgement:
    """Judge arrays of one type and shape, with at least one element."""
    match metric:
        case Cosine():
            return _cosine(metric, reference, candidate)
        case TopOne():
            return _top_one(metric, reference, candidate)
        case RelativeL2():
            return _relative_l2(metric, reference, candidate)
        case MetricFunction():
            return _by_function(metric, reference, candidate)
        case _:
            assert_never(metric)


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name.startswith(("bfloat", "float"))


def _vectors(array: Array) -> Array:
    """Return the array as rows of vectors; where vectors have one element, it is one vector."""
    along = array.shape[-1] if array.ndim else 1
    return array.reshape(1, -1) if along == 1 else array.reshape(-1, along)


def _pairs(reference: Array, candidate: Array) -> Iterator[tuple[int, Array, Array]]:
    """Yield some rows of both at a time in float64, with the number of the first."""
    ours, theirs = _vectors(reference), _vectors(candidate)
    rows = max(1, CHUNK_ELEMENTS // ours.shape[1])
    for start in range(0, ours.shape[0], rows):
        yield (
            start,
            ours[start : start + rows].astype(np.float64),
            theirs[start : start + rows].astype(np.float64),
        )


def _finite(array: Array) -> Array:
    return np.where(np.isfinite(array), array, 0.0)


def _cosine(metric: Cosine, reference: Array, candidate: Array) -> Judgement:
    if not _is_float(reference):
        return NoMeasure(f"no cosine of elements of type {reference.dtype.name}")
    if reference.size == 1:
        return NoMeasure("no cosine of a single number")
    lowest, at = math.inf, 0
    for start, mine, other in _pairs(reference, candidate):
        unit, other_unit = _unit(_finite(mine)), _unit(_finite(other))
        cosines = np.clip(np.sum(unit * other_unit, axis=1), -1.0, 1.0)
        both_zero = ~unit.any(axis=1) & ~other_unit.any(axis=1)
        cosines = np.where(both_zero, 1.0, cosines)
        if float(cosines.min()) < lowest:
            lowest, at = float(cosines.min()), start + int(np.argmin(cosines))
    # A vector's cosine to itself may fall short of one by the rounding of its own computation.
    if lowest >= metric.at_least - 4 * np.finfo(np.float64).eps:
        return GoodEnough()
    return NotGoodEnough(
        f"cosine {lowest:.6g} at vector {at}, at least {metric.at_least:g} allowed"
    )


def _unit(rows: Array) -> Array:
    """Return rows of norm one; rows of zeros stay. Divided by the largest first: no overflow."""
    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Array = np.divide(scaled, norms, out=np.zeros_like(rows), where=norms > 0)
    return unit


def _top_one(metric: TopOne, reference: Array, candidate: Array) -> Judgement:
    if not _is_float(reference):
        agree, total = int(np.count_nonzero(reference == candidate)), reference.size
        what = "labels"
    elif _vectors(reference).shape[1] == 1:
        return NoMeasure("no largest of a single number")
    else:
        agree, total, what = 0, _vectors(reference).shape[0], "vectors"
        for _, mine, other in _pairs(reference, candidate):
            tops = [np.argmax(np.where(np.isnan(side), -np.inf, side), 1) for side in (mine, other)]
            agree += int(np.count_nonzero(tops[0] == tops[1]))
    if agree >= metric.at_least * total:
        return GoodEnough()
    return NotGoodEnough(
        f"the top one agrees in {agree} of {total} {what}, in a share of {metric.at_least:g} needed"
    )


def _relative_l2(metric: RelativeL2, reference: Array, candidate: Array) -> Judgement:
    if not _is_float(reference):
        return NoMeasure(f"no norm of elements of type {reference.dtype.name}")
    scale = max(
        (
            float(np.abs(_finite(side)).max())
            for _, *both in _pairs(reference, candidate)
            for side in both
        ),
        default=0.0,
    )
    if scale == 0.0:
        return GoodEnough()
    apart = whole = 0.0
    for _, mine, other in _pairs(reference, candidate):
        ours, theirs = _finite(mine) / scale, _finite(other) / scale
        apart += float(np.sum(np.square(theirs - ours)))
        whole += float(np.sum(np.square(ours)))
    distance = math.sqrt(apart / whole) if whole > 0 else math.inf
    if distance <= metric.at_most:
        return GoodEnough()
    return NotGoodEnough(f"relative L2 distance {distance:.6g}, at most {metric.at_most:g} allowed")


def _by_function(metric: MetricFunction, reference: Array, candidate: Array) -> Judgement:
    try:
        result = metric.resolved()(reference, candidate)
        value = bool(result) if metric.at_least is None else float(str(result))
    except Exception as error:  # a function of the user's may raise anything
        log.debug("ortsel: %s raised", metric.function, exc_info=True)
        return NoMeasure(f"{metric.function} raised {type(error).__name__}: {error}")
    least: float = True if metric.at_least is None else metric.at_least
    if value >= least:
        return GoodEnough()
    return NotGoodEnough(f"{metric.function} gives {value!r}, at least {least!r} needed")
