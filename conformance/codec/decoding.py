"""From JSON to a value of the reference model, checked member by member."""

import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import gcd
from typing import Final, assert_never

from immutables import Map

from conformance.codec.encoding import plain
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
    Single,
    Text,
    Truth,
    Whole,
    Word,
)
from spec.canonical_json import LARGEST_INTEGER, Json
from spec.errors import InvalidValue

MAX_DIGITS: Final = 4096
"""Of a whole number given as text: a limit that no honest number meets."""
_DIGITS: Final = re.compile(r"-?[1-9][0-9]*")
_PAIR: Final = 2
MAX_SHOWN: Final = 80


def decoded(shape: Shape, json: Json, path: str) -> object:
    """Return the value that JSON says.

    Raises `CodecError` for a wrong type, a missing or unknown member, an unknown word, or a value
    that its type refuses.
    """
    match shape:
        case Maybe():
            return None if json is None else decoded(shape.value, json, path)
        case Fields():
            return _value(shape, _object(shape, json, path), path)
        case OneOf():
            return _case(shape, json, path)
        case ListOf() | SetOf() | Row() | MapOf():
            return _collection(shape, json, path)
        case _:
            return _single(shape, json, path)


def shown(json: Json) -> str:
    """Return JSON as it stands in an error, cut to a readable length."""
    text = repr(json)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _single(shape: Single, json: Json, path: str) -> object:
    match shape:
        case Whole():
            return _whole(json, path)
        case Text() | Truth():
            return _plain(shape, json, path)
        case Ratio():
            return _ratio(json, path)
        case Anything():
            return plain(json, path)
        case Word():
            return _word(shape, json, path)
        case _:
            assert_never(shape)


def _collection(shape: ListOf | SetOf | Row | MapOf, json: Json, path: str) -> object:
    match shape:
        case ListOf():
            items = _array(shape, json, path)
            return tuple(decoded(shape.item, one, f"{path}[{at}]") for at, one in enumerate(items))
        case SetOf():
            return _set(shape, json, path)
        case Row():
            return _row(shape, json, path)
        case MapOf():
            pairs = _object(shape, json, path).items()
            return Map({name: decoded(shape.value, one, f"{path}.{name}") for name, one in pairs})
        case _:
            assert_never(shape)


def _whole(json: Json, path: str) -> int:
    if isinstance(json, int) and not isinstance(json, bool):
        return json
    if isinstance(json, str) and len(json) <= MAX_DIGITS and _DIGITS.fullmatch(json):
        number = int(json)
        if abs(number) > LARGEST_INTEGER:
            return number
    raise CodecError(path, shown(json), Whole().need)


def _plain(shape: Text | Truth, json: Json, path: str) -> str | bool:
    if isinstance(shape, Text) and isinstance(json, str):
        return json
    if isinstance(shape, Truth) and isinstance(json, bool):
        return json
    raise CodecError(path, shown(json), shape.need)


def _ratio(json: Json, path: str) -> Fraction:
    if isinstance(json, Sequence) and not isinstance(json, str) and len(json) == _PAIR:
        over, under = (_whole(one, f"{path}[{place}]") for place, one in enumerate(json))
        if under > 0 and gcd(over, under) == 1:
            return Fraction(over, under)
    raise CodecError(path, shown(json), Ratio().need)


def _word(shape: Word, json: Json, path: str) -> object:
    for one in shape.enumeration:
        if type(json) is str and json == one.value:
            return one
    raise CodecError(path, shown(json), shape.need)


def _array(shape: Shape, json: Json, path: str) -> Sequence[Json]:
    if isinstance(json, str) or not isinstance(json, Sequence):
        raise CodecError(path, shown(json), shape.need)
    return json


def _object(shape: Shape, json: Json, path: str) -> Mapping[str, Json]:
    if not isinstance(json, Mapping):
        raise CodecError(path, shown(json), shape.need)
    return json


def _set(shape: SetOf, json: Json, path: str) -> frozenset[object]:
    items = _array(shape, json, path)
    found = [decoded(shape.item, one, f"{path}[{place}]") for place, one in enumerate(items)]
    if len(set(found)) < len(found):
        raise CodecError(path, shown(json), "no item twice")
    return frozenset(found)


def _row(shape: Row, json: Json, path: str) -> tuple[object, ...]:
    items = _array(shape, json, path)
    if len(items) != len(shape.items):
        raise CodecError(path, f"{len(items)} items", shape.need)
    pairs = zip(shape.items, items, strict=True)
    return tuple(decoded(one, item, f"{path}[{at}]") for at, (one, item) in enumerate(pairs))


def _case(shape: OneOf, json: Json, path: str) -> object:
    members = dict(_object(shape, json, path))
    tag = members.pop(TAG, None)
    for one in shape.cases:
        if one.tag == tag:
            return _value(one, members, path)
    where, need = f"{path}.{TAG}", "one of " + ", ".join(one.tag for one in shape.cases)
    raise CodecError(where, shown(tag), need)


def _value(shape: Fields, members: Mapping[str, Json], path: str) -> object:
    known = {one.name: one for one in shape.members}
    for name in members:
        if name not in known:
            where, need = f"{path}.{name}", f"no member of that name in {shape.tag}"
            raise CodecError(where, "one", need)
    for one in shape.members:
        if one.required and one.name not in members:
            where = f"{path}.{one.name}"
            raise CodecError(where, "nothing", one.shape.need)
    values = {
        name: decoded(known[name].shape, one, f"{path}.{name}") for name, one in members.items()
    }
    make: Callable[..., object] = shape.kind
    try:
        return make(**values)
    except InvalidValue as error:
        place = f"{path}.{error.field}" if error.field in known else path
        raise CodecError(place, error.got, f"{error.need} ({error.rule})") from error
