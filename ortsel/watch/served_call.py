"""One served call, copied whole: what went in, and what the plan gave for it."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from attrs import frozen

from ortsel.background.snapshots import SNAPSHOTS, Snapshot, feed_bytes
from ortsel.trial.calling import Calling, WayOfCalling


@frozen(eq=False)
class ServedCall:
    """Copies that nobody else has. They count among the process's snapshots until `release`."""

    inputs: Snapshot
    results: Snapshot
    """The results' arrays; here for their size, `outputs` has them in their places."""
    outputs: list[object]
    output_names: tuple[str, ...]
    calling: WayOfCalling

    @classmethod
    def copied(
        cls,
        feed: Mapping[str, "np.ndarray[Any, np.dtype[Any]]"],
        outputs: Sequence[object],
        output_names: Sequence[str],
        calling: WayOfCalling,
        most_bytes: int,
    ) -> Self | None:
        """Return a copy, or None where all copies together would be more than `most_bytes`.

        What a bound call gives is a copy already.
        """
        owned = calling is not Calling.NUMPY
        arrays = _arrays(outputs)
        if feed_bytes(feed) + feed_bytes(arrays) + SNAPSHOTS.held_bytes() > most_bytes:
            return None
        inputs = SNAPSHOTS.take(feed, most_bytes, owned=owned)
        if inputs is None:
            return None
        kept = list(outputs) if owned else [_copied(value) for value in outputs]
        results = SNAPSHOTS.take(_arrays(kept), most_bytes, owned=True)
        if results is None:
            inputs.release()
            return None
        return cls(inputs, results, kept, tuple(output_names), calling)

    def release(self) -> None:
        """Give the memory back now."""
        self.inputs.release()
        self.results.release()
        self.outputs.clear()


def _copied(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.copy()
    return copy.deepcopy(value)


def _arrays(values: Sequence[object]) -> dict[str, "np.ndarray[Any, np.dtype[Any]]"]:
    """Return the arrays among results, those inside sequences and maps too."""
    found: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}

    def gather(value: object) -> None:
        if isinstance(value, np.ndarray):
            found[str(len(found))] = value
        elif isinstance(value, list | tuple):
            for item in value:
                gather(item)
        elif isinstance(value, Mapping):
            for item in value.values():
                gather(item)

    for value in values:
        gather(value)
    return found
