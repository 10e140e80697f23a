"""Whether two sets of outputs are the same, and if not what differs, where and by how much (E6).

Structure before values: number of outputs, kind, element type, rank, shape. Nothing is ever
broadcast. What cannot be compared, or proves nothing, is `Incomparable` and never equal.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, assert_never

import numpy as np
from attrs import frozen

from ortsel.verification.element_types import Bound
from ortsel.verification.metrics import (
    GoodEnough,
    Metric,
    NoMeasure,
    NotGoodEnough,
    judge,
)
from ortsel.verification.tolerance import Tolerance

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

CHUNK_ELEMENTS: Final = 1 << 20
"""Elements that are converted to float64 at a time: bounds the memory of a comparison."""

FLOAT_SCALAR: Final = "float32"
"""Element type of the plain floats in ONNX maps, which carry no type of their own."""


class Kind(Enum):
    """What differs."""

    COUNT = "count"
    TYPE = "type"
    """Not the same kind of value: a tensor against a sequence, a value against no value."""
    DTYPE = "dtype"
    RANK = "rank"
    SHAPE = "shape"
    LENGTH = "length"
    KEYS = "keys"
    NAN = "nan"
    INFINITY = "infinity"
    VALUE = "value"
    METRIC = "metric"
    """The user's metric says that the values are not good enough."""


@frozen
class Equal:
    """Compared, and the same within the tolerance."""


@frozen
class Different:
    """Compared, and not the same."""

    kind: Kind
    output: str
    """Name of the output, followed by the position inside a sequence or a map."""
    what: str
    """Where and by how much, for people."""

    def __str__(self) -> str:
        return f"output {self.output!r}: {self.what}"


@frozen
class Incomparable:
    """Nothing was learnt: a type that cannot be compared, or outputs that prove nothing."""

    reason: str


Comparison: TypeAlias = Equal | Different | Incomparable


@frozen
class _Vacuous:
    """The same, but so would be anything: no value, or no element."""


_Finding: TypeAlias = Equal | Different | Incomparable | _Vacuous


def compare(
    reference: Sequence[object],
    candidate: Sequence[object],
    output_names: Sequence[str],
    tolerance: Tolerance,
) -> Comparison:
    """Compare the outputs of one run, in the order of `output_names`.

    Outputs are what ONNX Runtime returns: arrays, lists (sequences), dictionaries (maps), None
    (optional values), plain scalars inside maps. A difference anywhere decides; then an output
    that cannot be compared; then whether any output had something in it.
    """
    if len(reference) != len(output_names):
        return Incomparable(f"{len(reference)} reference outputs for {len(output_names)} names")
    if len(candidate) != len(reference):
        what = f"{len(candidate)} outputs, reference has {len(reference)}"
        return Different(Kind.COUNT, "", what)
    findings = [
        _compare_value(ours, theirs, name, name, tolerance)
        for name, ours, theirs in zip(output_names, reference, candidate, strict=True)
    ]
    return _without_vacuous(_join(findings))


def _without_vacuous(finding: _Finding) -> Comparison:
    if isinstance(finding, _Vacuous):
        return Incomparable("every output is empty, which proves nothing")
    return finding


def _join(findings: Sequence[_Finding]) -> _Finding:
    for decisive in (Different, Incomparable, Equal):
        for finding in findings:
            if isinstance(finding, decisive):
                return finding
    return _Vacuous()


def _compare_value(
    reference: object, candidate: object, output: str, place: str, tolerance: Tolerance
) -> _Finding:
    ours, theirs = _kind_of(reference), _kind_of(candidate)
    if ours is None or theirs is None:
        strange = reference if ours is None else candidate
        return Incomparable(f"output {place!r}: {_described(strange)} cannot be compared")
    if ours != theirs:
        return Different(Kind.TYPE, place, f"{theirs}, reference has {ours}")
    if reference is None:
        return _Vacuous()
    if isinstance(reference, Sequence) and not isinstance(reference, str | bytes):
        assert isinstance(candidate, Sequence)
        return _compare_sequence(reference, candidate, output, place, tolerance)
    if isinstance(reference, Mapping):
        assert isinstance(candidate, Mapping)
        return _compare_map(reference, candidate, output, place, tolerance)
    return _compare_array(_as_array(reference), _as_array(candidate), output, place, tolerance)


def _kind_of(value: object) -> str | None:
    if value is None:
        return "no value"
    if isinstance(value, np.ndarray | np.generic | bool | int | float | str | bytes):
        return "a tensor" if isinstance(value, np.ndarray) else "a scalar"
    if isinstance(value, list | tuple):
        return "a sequence"
    return "a map" if isinstance(value, Mapping) else None


def _described(value: object) -> str:
    return str(getattr(value, "described", f"a value of type {type(value).__name__}"))


def _as_array(value: object) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, float) and not isinstance(value, np.generic):
        return np.asarray(value, dtype=FLOAT_SCALAR)
    if isinstance(value, str | bytes):
        return np.asarray(value, dtype=object)
    return np.asarray(value)


def _compare_sequence(
    reference: Sequence[object],
    candidate: Sequence[object],
    output: str,
    place: str,
    tolerance: Tolerance,
) -> _Finding:
    if len(reference) != len(candidate):
        what = f"a sequence of {len(candidate)}, reference has {len(reference)}"
        return Different(Kind.LENGTH, place, what)
    return _join(
        [
            _compare_value(ours, theirs, output, f"{place}[{index}]", tolerance)
            for index, (ours, theirs) in enumerate(zip(reference, candidate, strict=True))
        ]
    )


def _compare_map(
    reference: Mapping[object, object],
    candidate: Mapping[object, object],
    output: str,
    place: str,
    tolerance: Tolerance,
) -> _Finding:
    typed = {(type(key), key) for key in reference}, {(type(key), key) for key in candidate}
    if typed[0] != typed[1]:
        extra = sorted((repr(key) for _, key in typed[1] - typed[0]), key=str)[:5]
        missing = sorted((repr(key) for _, key in typed[0] - typed[1]), key=str)[:5]
        return Different(Kind.KEYS, place, f"extra keys {extra}, missing keys {missing}")
    if reference and all(
        type(value) is float for side in (reference, candidate) for value in side.values()
    ):  # one tensor in all but name: the scale is that of all its values
        keys = list(reference)
        ours = np.asarray([reference[key] for key in keys], dtype=FLOAT_SCALAR)
        theirs = np.asarray([candidate[key] for key in keys], dtype=FLOAT_SCALAR)
        return _compare_array(ours, theirs, output, f"{place}{{values}}", tolerance)
    return _join(
        [
            _compare_value(value, candidate[key], output, f"{place}[{key!r}]", tolerance)
            for key, value in reference.items()
        ]
    )


def _element_of(array: Array) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _is_float(array: Array) -> bool:
    return array.dtype.kind in "fc" or array.dtype.name.startswith(("bfloat", "float"))


def _is_exact(array: Array) -> bool:
    return array.dtype.kind in "biu" or array.dtype.name.startswith(("int", "uint"))


def _compare_array(
    reference: Array, candidate: Array, output: str, place: str, tolerance: Tolerance
) -> _Finding:
    ours, theirs = _element_of(reference), _element_of(candidate)
    if ours != theirs:
        return Different(Kind.DTYPE, place, f"element type {theirs}, reference has {ours}")
    if reference.ndim != candidate.ndim:
        what = f"rank {candidate.ndim}, reference has {reference.ndim}"
        return Different(Kind.RANK, place, what)
    if reference.shape != candidate.shape:
        what = f"shape {candidate.shape}, reference has {reference.shape}"
        return Different(Kind.SHAPE, place, what)
    metric = tolerance.metric(output)
    if ours == "string":
        return _compare_strings(reference, candidate, place, metric)
    if not (_is_float(reference) or _is_exact(reference)):
        return Incomparable(f"output {place!r}: element type {ours} cannot be compared")
    if reference.size == 0:
        return _Vacuous()
    if metric is not None:
        return _judged(metric, reference, candidate, place)
    if _is_exact(reference):
        return _compare_exactly(reference, candidate, place)
    if reference.dtype.kind == "c":
        part = "float32" if ours == "complex64" else "float64"
        pairs = ((reference.real, candidate.real), (reference.imag, candidate.imag))
        bound = tolerance.bound(output, part)
        return _join([_compare_floats(mine, other, place, bound) for mine, other in pairs])
    return _compare_floats(reference, candidate, place, tolerance.bound(output, ours))


def _judged(metric: Metric, reference: Array, candidate: Array, place: str) -> _Finding:
    """Let the user's metric judge; of floats only where NaN and infinity are at the same places."""
    if reference.dtype.kind == "c":
        return Incomparable(f"output {place!r}: no metric of complex numbers")
    if _is_float(reference):
        special = _compare_special(reference, candidate, place)
        if not isinstance(special, Equal):
            return special
    judgement = judge(metric, reference, candidate)
    match judgement:
        case GoodEnough():
            return Equal()
        case NotGoodEnough():
            return Different(Kind.METRIC, place, judgement.what)
        case NoMeasure():
            # Integers, booleans and strings are exact unless the metric is about them.
            if reference.dtype.kind == "O" or _is_exact(reference):
                return _compare_exactly(reference, candidate, place)
            return Incomparable(f"output {place!r}: {judgement.reason}")
        case _:
            assert_never(judgement)


def _compare_special(reference: Array, candidate: Array, place: str) -> _Finding:
    """Compare where NaN and infinity are, and whether there is enough of anything else."""
    ours, theirs = reference.reshape(-1), candidate.reshape(-1)
    finite = 0
    for start in range(0, ours.size, CHUNK_ELEMENTS):
        mine = ours[start : start + CHUNK_ELEMENTS].astype(np.float64)
        other = theirs[start : start + CHUNK_ELEMENTS].astype(np.float64)
        special = _special_difference(mine, other, start, reference.shape, place)
        if special is not None:
            return special
        finite += int(np.count_nonzero(np.isfinite(mine)))
    return _mostly_special(place, finite, ours.size) if 2 * finite < ours.size else Equal()


def _mostly_special(place: str, finite: int, size: int) -> Incomparable:
    return Incomparable(
        f"output {place!r}: {size - finite} of {size} elements of the reference are not finite, "
        "which proves nothing"
    )


def _compare_strings(
    reference: Array, candidate: Array, place: str, metric: Metric | None
) -> _Finding:
    if reference.size == 0:
        return _Vacuous()
    ours, theirs = reference.astype(object), candidate.astype(object)
    if not all(isinstance(item, str | bytes) for side in (ours, theirs) for item in side.flat):
        return Incomparable(f"output {place!r}: objects that are no strings cannot be compared")
    if metric is not None:
        return _judged(metric, ours, theirs, place)
    return _compare_exactly(ours, theirs, place)


def _compare_exactly(reference: Array, candidate: Array, place: str) -> _Finding:
    wrong = np.asarray(reference != candidate, dtype=bool)
    if not wrong.any():
        return Equal()
    return Different(Kind.VALUE, place, _counted(reference, candidate, wrong))


def _counted(reference: Array, candidate: Array, wrong: Array) -> str:
    count = int(np.count_nonzero(wrong))
    words = f"{count} of {wrong.size} elements differ"
    if wrong.ndim > 1:
        rows = wrong.any(axis=-1)
        words += f", in {int(np.count_nonzero(rows))} of {rows.size} rows"
    index = _first_index(wrong)
    return f"{words}; first at {index}: {candidate[index]!r}, reference has {reference[index]!r}"


def _first_index(wrong: Array) -> tuple[int, ...]:
    return tuple(int(axis) for axis in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _compare_floats(reference: Array, candidate: Array, place: str, bound: Bound) -> _Finding:
    """Compare in float64, a chunk at a time; both arrays have the same shape and are not empty."""
    ours, theirs = reference.reshape(-1), candidate.reshape(-1)
    finite, largest = 0, 0.0
    for start in range(0, ours.size, CHUNK_ELEMENTS):
        mine = ours[start : start + CHUNK_ELEMENTS].astype(np.float64)
        magnitudes = np.abs(mine[np.isfinite(mine)])
        finite += magnitudes.size
        largest = max(largest, float(magnitudes.max(initial=0.0)))
    always = bound.allowed_absolute(largest) + bound.scale * largest
    wrong = 0
    worst: tuple[float, int] | None = None
    for start in range(0, ours.size, CHUNK_ELEMENTS):
        mine = ours[start : start + CHUNK_ELEMENTS].astype(np.float64)
        other = theirs[start : start + CHUNK_ELEMENTS].astype(np.float64)
        special = _special_difference(mine, other, start, reference.shape, place)
        if special is not None:
            return special
        with np.errstate(invalid="ignore", over="ignore"):
            distance = np.where(np.isfinite(mine), np.abs(other - mine), 0.0)
            allowed = always + bound.relative * np.abs(mine)
            excess = np.where(np.isfinite(mine), distance - allowed, -np.inf)
        too_far = excess > 0.0
        if too_far.any():
            wrong += int(np.count_nonzero(too_far))
            at = int(np.argmax(excess))
            if worst is None or excess[at] > worst[0]:
                worst = float(excess[at]), start + at
    if worst is not None:
        return Different(
            Kind.VALUE,
            place,
            f"{wrong} of {reference.size} elements too far; "
            + _worst(reference, candidate, worst[1], always, bound.relative),
        )
    if 2 * finite < ours.size:
        return _mostly_special(place, finite, ours.size)
    return Equal()


def _special_difference(
    mine: Array, other: Array, start: int, shape: tuple[int, ...], place: str
) -> Different | None:
    checks: tuple[tuple[Kind, str, Array, Array], ...] = (
        (Kind.NAN, "NaN", np.isnan(mine), np.isnan(other)),
        (Kind.INFINITY, "infinity", np.isposinf(mine), np.isposinf(other)),
        (Kind.INFINITY, "negative infinity", np.isneginf(mine), np.isneginf(other)),
    )
    for kind, word, ours, theirs in checks:
        wrong = ours != theirs
        if wrong.any():
            at = int(np.argmax(wrong))
            index = tuple(int(axis) for axis in np.unravel_index(start + at, shape))
            what = (
                f"{word} at other places, first at {index}: {other[at]!s}, reference has "
                f"{mine[at]!s}"
            )
            return Different(kind, place, what)
    return None


def _worst(reference: Array, candidate: Array, flat: int, always: float, relative: float) -> str:
    index = tuple(int(axis) for axis in np.unravel_index(flat, reference.shape))
    ours, theirs = float(reference[index]), float(candidate[index])
    allowed = always + relative * abs(ours)
    return (
        f"worst at {index}: {theirs!r}, reference has {ours!r}, apart by {abs(theirs - ours):.3g}, "
        f"allowed {allowed:.3g}"
    )
