"""Other feeds of the same types and shapes, for callers that sent only one.

A plan that replays its first answer, or ignores what it is given, is right on every repetition of
one feed (E7); a different one shows it. Values are moved or made smaller rather than invented, so
that indices stay within their tables and lengths within their bounds.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

SHRINK: Final = 0.75
"""Factor for one floating-point number; exact in every binary format with two bits of mantissa."""
DOUBLE_BYTES: Final = 8
SEED: Final = 20
"""The feeds of a trial are the same each time."""
CHANGED_PART: Final = 4
"""One in so many entries of an input of equal integers is changed: those at the end, where padding
is, since a mask or a length that nobody uses may divide plans that are both right."""


def second_feeds(feed: Mapping[str, object]) -> list[dict[str, object]]:
    """Return feeds that differ from this one and each other, those that show most first.

    All inputs differ in the first, as far as they can: elements are moved; where all are equal,
    floating-point numbers are drawn and integers changed by one. In the next ones elements also
    occur in other numbers; equal integers are left alone; floating-point numbers have the other
    sign and twice the size, since trees and neighbours see no small step; single elements alone are
    changed, which may be parameters rather than data. Empty where nothing can be changed.
    """
    found: list[dict[str, object]] = []
    for change in (_moved_or_stepped, _redrawn, _moved_or_drawn, _far, _single_changed):
        other = {name: _through(value, change) for name, value in feed.items()}
        if not any(same_feed(other, known) for known in (feed, *found)):
            found.append(other)
    return found


def same_feed(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Say whether two feeds have the same names, types, shapes and bits."""
    return one is other or (
        one.keys() == other.keys() and all(_same_value(one[n], other[n]) for n in one)
    )


def _same_value(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and _same(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same_value, one, other))
    return one is other


def _through(value: object, change: Callable[[Array], Array]) -> object:
    """Change an array, or the arrays of a sequence."""
    if isinstance(value, np.ndarray):
        return change(value)
    return [_through(item, change) for item in value] if isinstance(value, list) else value


def _moved_or_stepped(array: Array) -> Array:
    if array.size <= 1:
        return array
    moved = _moved(array)
    if moved is not array:
        return moved
    return _drawn(array) if _is_float(array) else _stepped(array)


def _moved_or_drawn(array: Array) -> Array:
    moved = _moved(array)
    return _drawn(array) if moved is array and array.size > 1 and _is_float(array) else moved


def _redrawn(array: Array) -> Array:
    """Let values occur in other numbers: sums and counts do not see that elements have moved."""
    if _is_float(array):
        return _drawn(array) if array.size > 1 else array
    flat = array.reshape(-1)
    if _moved(array) is array:  # all are equal
        return _moved_or_stepped(array)
    for value in (flat[0], flat[np.argmax(flat != flat[0])]):
        changed = array.copy()
        changed[_end(array)] = value
        if not _same(changed, array):
            return changed
    return array


def _far(array: Array) -> Array:
    if array.size <= 1 or not _is_float(array):
        return array
    wide: Array = array.astype("f8")
    if not np.any(wide):
        return _drawn(array)
    with np.errstate(over="ignore"):
        far: Array = np.asarray(-2.0 * wide).astype(array.dtype)
    return array if _same(far, array) else far


def _single_changed(array: Array) -> Array:
    if array.size != 1:
        return array
    return _drawn(array) if _is_float(array) else _stepped(array)


def _moved(array: Array) -> Array:
    """Return the array with its elements in another place, or itself if that is it."""
    flat = np.ascontiguousarray(array).reshape(-1)
    for moved in (flat[::-1], np.roll(flat, 1)):  # a palindrome is its own reverse
        if not _same(moved, flat):
            return np.ascontiguousarray(moved).reshape(array.shape)
    return array


def _drawn(array: Array) -> Array:
    """Return numbers between half of each and itself, or around zero where all are zero."""
    wide: Array = array.astype("f8" if array.dtype.itemsize >= DOUBLE_BYTES else "f4")
    random = np.random.default_rng(SEED)
    factors: Array
    if not np.any(wide):
        wide, factors = np.full_like(wide, 0.5), np.asarray(random.standard_normal(array.shape))
    elif array.size == 1:
        factors = np.full(array.shape, SHRINK)
    else:
        factors = np.asarray(random.uniform(0.5, 1.0, array.shape))
    changed = np.asarray(wide * factors).astype(array.dtype)
    return array if _same(changed, array) else changed


def _stepped(array: Array) -> Array:
    """Change the end of an array of equal integers or booleans, by one and towards zero if not."""
    if array.dtype.kind not in "iub":
        return array
    value = array.reshape(-1)[0]
    changed = array.copy()
    if array.dtype.kind == "b":
        changed[_end(array)] = not value
    else:
        changed[_end(array)] = 1 if value == 0 else int(value) + (-1 if value > 0 else 1)
    return changed


def _end(array: Array) -> tuple[slice, ...]:
    """Return where the last entries are, along the last axis that has several."""
    index = [slice(None)] * array.ndim
    for axis in reversed(range(array.ndim)):
        if (entries := array.shape[axis]) > 1:
            index[axis] = slice(entries - max(1, entries // CHANGED_PART), entries)
            break
    return tuple(index)


def _is_float(array: Array) -> bool:
    return array.dtype.kind == "f" or array.dtype.name.startswith(
        ("bfloat16", "float8_e4", "float8_e5")
    )


def _same(one: Array, other: Array) -> bool:
    if one.dtype.kind in "OSU":
        return bool(np.all(one == other))
    return np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
