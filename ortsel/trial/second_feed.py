"""A second feed of the same types and shapes, for callers that sent only one.

A plan that replays its first answer is right on every repetition of one feed (E7); a different one
shows it. Values are moved, not invented, so that indices stay within their tables and lengths
within their bounds.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

SHRINK: Final = 0.75
"""Factor for floating-point inputs that hold one value only; exact in every binary format that has
two bits of mantissa."""


def second_feed(feed: Mapping[str, object]) -> dict[str, object] | None:
    """Return another feed with the same names, types, shapes and, where possible, values.

    None when there is nothing that could be moved: no array, or each holds one single value that is
    no floating-point number.
    """
    changed = {name: _moved(value) for name, value in feed.items()}
    if any(changed[name] is not value for name, value in feed.items()):
        return changed
    shrunk = {name: _shrunk(value) for name, value in feed.items()}
    if any(shrunk[name] is not value for name, value in feed.items()):
        return shrunk
    return None


def _moved(value: object) -> object:
    """Return the array with its elements in another place, or the value itself if that is it."""
    if not isinstance(value, np.ndarray):
        return value
    flat = np.ascontiguousarray(value).reshape(-1)
    for moved in (flat[::-1], np.roll(flat, 1)):  # a palindrome is its own reverse
        if not _same(moved, flat):
            return np.ascontiguousarray(moved).reshape(value.shape)
    return value


def _same(one: Array, other: Array) -> bool:
    if one.dtype.kind in "OSU":
        return bool(np.all(one == other))
    return np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


def _shrunk(value: object) -> object:
    if not isinstance(value, np.ndarray) or value.size == 0:
        return value
    if value.dtype.kind != "f" and not value.dtype.name.startswith(
        ("bfloat16", "float8_e4", "float8_e5")
    ):
        return value
    smaller = np.asarray(value.astype(np.float64) * SHRINK).astype(value.dtype)
    return value if _same(smaller, value) else smaller
