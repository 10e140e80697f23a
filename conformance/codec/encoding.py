"""From a value of the reference model to its JSON."""

from collections.abc import Mapping, Sequence
from enum import Enum
from fractions import Fraction

from immutables import Map

from conformance.codec.error import CodecError
from conformance.codec.shape import (
    TAG,
    Anything,
    Fields,
    ListOf,
    MapOf,
    Maybe,
    OneOf,
    Ratio,
    Row,
    SetOf,
    Shape,
    Text,
    Truth,
    Whole,
    Word,
)
from spec.canonical_json import LARGEST_INTEGER, Json


def encoded(shape: Shape, value: object, path: str) -> Json:
    """Return the JSON of a value: plain dicts, lists, integers, strings, booleans, null.

    Raises `CodecError` where the value is not of the shape.
    """
    if isinstance(shape, Maybe):
        return None if value is None else encoded(shape.value, value, path)
    if isinstance(shape, Anything):
        return plain(value, path)
    found = _single(shape, value)
    if found is None:
        found = _compound(shape, value, path)
    if found is None:
        raise CodecError(path, repr(value), shape.need)
    return found


def whole_json(number: int) -> int | str:
    """Return a whole number as JSON that every language reads exactly."""
    return number if abs(number) <= LARGEST_INTEGER else str(number)


def ratio_json(ratio: Fraction) -> list[int | str]:
    """Return an exact fraction as a pair."""
    return [whole_json(ratio.numerator), whole_json(ratio.denominator)]


def plain(value: object, path: str = "$") -> Json:
    """Return JSON as dicts and lists. Raises `CodecError` for a floating-point number."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, Mapping):
        # A persistent map has no order of its own, and the one it shows differs between processes.
        pairs = sorted(value.items(), key=str) if isinstance(value, Map) else value.items()
        return {str(name): plain(one, f"{path}.{name}") for name, one in pairs}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain(one, f"{path}[{place}]") for place, one in enumerate(value)]
    raise CodecError(path, type(value).__name__, Anything().need)


def _single(shape: Shape, value: object) -> Json:
    match shape, value:
        case Truth(), bool():
            return value
        case Whole(), int() if not isinstance(value, bool):
            return whole_json(value)
        case Text(), str():
            return value
        case Ratio(), Fraction():
            return ratio_json(value)
        case Word(), Enum() if isinstance(value, shape.enumeration):
            return str(value.value)
        case _:
            return None


def _compound(shape: Shape, value: object, path: str) -> Json:
    match shape, value:
        case OneOf(), _:
            for one in shape.cases:
                if type(value) is one.kind:
                    return {TAG: one.tag, **_members(one, value, path)}
            return None
        case Fields(), _ if type(value) is shape.kind:
            return _members(shape, value, path)
        case ((ListOf() | Row()), tuple()):
            return _items(shape, value, path)
        case SetOf(), frozenset():
            return sorted((encoded(shape.item, one, path) for one in value), key=str)
        case MapOf(), Mapping():
            return {
                str(name): encoded(shape.value, one, f"{path}.{name}")
                for name, one in sorted(value.items(), key=str)
            }
        case _:
            return None


def _items(shape: ListOf | Row, value: tuple[object, ...], path: str) -> Json:
    inner = (shape.item,) * len(value) if isinstance(shape, ListOf) else shape.items
    if len(inner) != len(value):
        raise CodecError(path, f"{len(value)} items", shape.need)
    pairs = zip(inner, value, strict=True)
    return [encoded(one, item, f"{path}[{place}]") for place, (one, item) in enumerate(pairs)]


def _members(shape: Fields, value: object, path: str) -> dict[str, Json]:
    return {
        one.name: encoded(one.shape, getattr(value, one.name), f"{path}.{one.name}")
        for one in shape.members
    }
