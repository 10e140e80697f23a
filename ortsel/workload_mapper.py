"""How a session's user wants calls told apart: buckets of shapes, and values that change the work.

One mapper makes the key for tuning and for serving. Calls are looked up by their exact shapes in
any case, so buckets cost a served call nothing; named values cost one small copy.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
from attrs import frozen

from ortsel.errors import UsageError
from ortsel.load import ONE_AFTER_ANOTHER, Load
from ortsel.shape_buckets import AxisBuckets, ShapeBuckets
from ortsel.trial.devices import BoundDevices
from ortsel.workload import UntunableFeedError, describe_workload, run_signature, workload_part
from spec.canonical_json import Json

MOST_VALUES: Final = 64
"""Elements of an input whose values are part of the workload: it must be a size, not data."""
WHOLE: Final = "iub"
"""NumPy's kinds of integers and booleans."""
_WHOLE_TYPES: Final = frozenset(
    {"tensor(bool)"}
    | {f"tensor({sign}int{bits})" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)
NEED_VALUES: Final = f"an integer or boolean tensor of at most {MOST_VALUES} elements"


@frozen
class WorkloadMapper:
    """The parts of a key that a call stands for."""

    buckets: ShapeBuckets | None = None
    values: tuple[str, ...] = ()
    """Inputs whose values are part of the workload."""
    load: Load = ONE_AFTER_ANOTHER
    """How calls follow each other."""

    def check(self, inputs: Sequence[Any]) -> None:
        """Raise `UsageError` where a named input is not there or cannot be what it is named for."""
        known = {one.name: one for one in inputs}
        if isinstance(self.buckets, AxisBuckets):
            for name in self.buckets.names():
                if name not in known:
                    raise UsageError("shape_buckets", repr(name), _one_of(known))
        for name in self.values:
            if name not in known:
                raise UsageError("workload_values", repr(name), _one_of(known))
            kind, shape = known[name].type, known[name].shape or ()
            fixed = math.prod(size for size in shape if isinstance(size, int))
            if kind not in _WHOLE_TYPES or fixed > MOST_VALUES:
                got = f"input {name} of type {kind} and shape {list(shape)}"
                raise UsageError("workload_values", got, NEED_VALUES)

    def signature(self, output_names: Sequence[str] | None, feed: object) -> Hashable | None:
        """Return the value under which a call is looked up, as `run_signature`, with the values."""
        exact = run_signature(output_names, feed)
        if exact is None or not isinstance(feed, dict):
            return None
        return (exact, *(_bytes(feed.get(name)) for name in self.values))

    def part(
        self,
        feed: Mapping[str, Any],
        output_names: Sequence[str],
        calling: str | Enum | BoundDevices,
    ) -> Json:
        """Return the workload as a part of a key. Raises `UntunableFeedError`.

        Where buckets apply to an input, the key says which: a decision for a bucket is not one for
        the exact shape that names it, nor for a bucket with other members.
        """
        part = workload_part(feed, output_names, calling, self.load.part())
        assert isinstance(part, dict)
        inputs = part["inputs"]
        assert isinstance(inputs, dict)
        for name, described in inputs.items():
            assert isinstance(described, dict)
            if self.buckets is not None:
                described.update(self._bucket(self.buckets, name, feed[name]))
            if name in self.values:
                described["values"] = _numbers(name, feed[name])
        return part

    def describe(
        self,
        feed: Mapping[str, Any],
        output_names: Sequence[str],
        calling: str | Enum | BoundDevices,
    ) -> str:
        """Return one line for people. Never raises."""
        words = describe_workload(feed, output_names, calling)
        named = [
            f"{name}={np.asarray(feed[name]).ravel()[:MOST_VALUES].tolist()}"
            for name in self.values
            if isinstance(feed.get(name), np.ndarray)
        ]
        words = f"{words} with {', '.join(named)}" if named else words
        return f"{words}, {self.load.words()}" if self.load.gap_ns else words

    @staticmethod
    def _bucket(buckets: ShapeBuckets, name: str, value: Any) -> dict[str, Json]:
        axes: Json = "function"
        if isinstance(buckets, AxisBuckets):
            bounds = dict(buckets.boundaries).get(name)
            if bounds is None:
                return {}
            axes = {str(axis): list(sizes) for axis, sizes in bounds}
        shape = tuple(int(size) for size in value.shape)
        mapped = tuple(buckets(name, shape))
        whole = all(type(size) is int and size >= 0 for size in mapped)
        if not whole or len(mapped) != len(shape):
            need = f"{len(shape)} integers from 0 on"
            raise UntunableFeedError(name, f"a bucket {mapped!r} of shape {list(shape)}", need)
        return {"buckets": axes, "shape": list(mapped)}


def _numbers(name: str, value: Any) -> list[Json]:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in WHOLE:
        raise UntunableFeedError(name, type(value).__name__, NEED_VALUES)
    if value.size > MOST_VALUES:
        raise UntunableFeedError(name, f"{value.size} elements", NEED_VALUES)
    # As text: a key holds integers that every language can hold.
    return [str(int(one)) for one in value.ravel().tolist()]


def _bytes(value: object) -> bytes | None:
    small = isinstance(value, np.ndarray) and value.size <= MOST_VALUES
    return value.tobytes() if small and isinstance(value, np.ndarray) else None


def _one_of(known: Mapping[str, object]) -> str:
    return f"one of the model's inputs: {', '.join(known)}"
