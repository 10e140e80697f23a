"""Records as text: JSON with a closed schema, and nothing that could be executed.

Integers are exact, ratios are pairs of integers, floating-point numbers are refused. A name that
is unknown or missing, a wrong type, a duplicate name, nesting, and a text that is too long are
all the same to a reader: a `CorruptRecordError` that says where, what and what was needed.
"""

import json
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from fractions import Fraction
from typing import Any, Final, NoReturn, TypeVar

import attrs

from ortsel.store.errors import CorruptRecordError, NewerRecordError
from spec.errors import InvalidValue
from spec.problem import Scope
from spec.record import SCHEMA_VERSION, Origin, Record

MAX_RECORD_BYTES: Final = 1 << 20
MAX_TERM_BITS: Final = 1024
"""Longest numerator or denominator. Medians of ratios of nanoseconds stay under 300 bits."""
MAX_INTEGER: Final = 2**63 - 1
MAX_SHOWN: Final = 64
"""Characters of a bad value that a message repeats."""

_Kind = TypeVar("_Kind", bound=Enum)


def encode(record: Record) -> str:
    """Return the text of a record; equal records have equal texts.

    Raises `CorruptRecordError` for a value that no reader would accept.
    """
    fields = {name: _plain(getattr(record, name)) for name in _FIELDS}
    text = json.dumps(
        {"record": fields, "schema": SCHEMA_VERSION},
        ensure_ascii=True,
        sort_keys=True,
        separators=(",", ":"),
    )
    decode(text)
    return text


def decode(text: str | bytes) -> Record:
    """Return the record that a text stands for.

    Raises `NewerRecordError` for a later schema, `CorruptRecordError` for anything else that
    `encode` does not write.
    """
    if len(text) > MAX_RECORD_BYTES:
        raise CorruptRecordError("record", f"{len(text)} bytes", f"at most {MAX_RECORD_BYTES}")
    document = _object(_parse(text), "")
    schema = _integer(document.get("schema"), "schema")
    if schema > SCHEMA_VERSION:
        raise NewerRecordError(schema, SCHEMA_VERSION)
    if schema != SCHEMA_VERSION:
        raise CorruptRecordError("schema", str(schema), str(SCHEMA_VERSION))
    _closed(document, {"record", "schema"}, "")
    fields = _object(document["record"], "record")
    _closed(fields, _FIELDS.keys(), "record")
    values = {name: read(fields[name], f"record.{name}") for name, read in _FIELDS.items()}
    try:
        return Record(**values)
    except InvalidValue as error:
        place = f"record.{error.field}"
        raise CorruptRecordError(place, error.got, error.need) from error
    except ValueError as error:
        raise CorruptRecordError("record", _short(values), str(error)) from error


def decode_under(body: object, key: str) -> Record:
    """Return the record that is stored under a key. Raises as `decode` does."""
    if not isinstance(body, bytes):
        raise CorruptRecordError("record", type(body).__name__, "text")
    record = decode(body)
    if record.key != key:
        raise CorruptRecordError("record.key", ascii(record.key)[:80], "the key it is stored under")
    return record


def _parse(text: str | bytes) -> object:
    try:
        source = text.decode("utf-8") if isinstance(text, bytes) else text
        parsed: object = json.loads(
            source,
            object_pairs_hook=_distinct,
            parse_float=_refuse_number,
            parse_constant=_refuse_number,
        )
    except (ValueError, RecursionError) as error:
        raise CorruptRecordError("record", _short(text), f"JSON ({error})") from error
    return parsed


def _distinct(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise CorruptRecordError("record", "a name that occurs twice", "distinct names")
    return members


def _refuse_number(text: str) -> NoReturn:
    raise CorruptRecordError("record", f"number {_short(text)}", "integers only")


def _closed(members: Mapping[str, object], names: AbstractSet[str], place: str) -> None:
    for name in sorted(members.keys() - names):
        raise CorruptRecordError(_join(place, name), "an unknown name", "the names of the schema")
    for name in sorted(names - members.keys()):
        raise CorruptRecordError(_join(place, name), "nothing", "a value")


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise CorruptRecordError(place or "record", _short(value), "an object")
    return value


def _integer(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_INTEGER:
        raise CorruptRecordError(place, _short(value), f"an integer from 0 to {MAX_INTEGER}")
    return value


def _boolean(value: object, place: str) -> bool:
    if not isinstance(value, bool):
        raise CorruptRecordError(place, _short(value), "true or false")
    return value


def _string(value: object, place: str) -> str:
    if not isinstance(value, str):
        raise CorruptRecordError(place, _short(value), "a string")
    return value


def _fraction(value: object, place: str) -> Fraction:
    match value:
        case [first, second]:
            numerator, denominator = _term(first, f"{place}[0]"), _term(second, f"{place}[1]")
        case _:
            raise CorruptRecordError(place, _short(value), "[numerator, denominator]")
    if denominator < 1 or numerator < 0:
        raise CorruptRecordError(place, _short(value), "numerator >= 0, denominator >= 1")
    fraction = Fraction(numerator, denominator)
    if fraction.denominator != denominator:
        raise CorruptRecordError(place, _short(value), "lowest terms")
    return fraction


def _term(value: object, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise CorruptRecordError(place, _short(value), "an integer")
    if value.bit_length() > MAX_TERM_BITS:
        got = f"{value.bit_length()} bits"
        raise CorruptRecordError(place, got, f"at most {MAX_TERM_BITS}")
    return value


def _member(kind: type[_Kind]) -> Callable[[object, str], _Kind]:
    by_word = {member.value: member for member in kind}

    def read(value: object, place: str) -> _Kind:
        if not isinstance(value, str) or value not in by_word:
            raise CorruptRecordError(place, _short(value), f"one of {', '.join(by_word)}")
        return by_word[value]

    return read


def _reader(attribute: "attrs.Attribute[Any]") -> Callable[[object, str], Any]:
    readers: dict[object, Callable[[object, str], Any]] = {
        bool: _boolean,
        int: _integer,
        str: _string,
        Fraction: _fraction,
        Origin: _member(Origin),
        Scope: _member(Scope),
    }
    return readers[attribute.type]


_FIELDS: Final = {attribute.name: _reader(attribute) for attribute in attrs.fields(Record)}
"""How each field is read. A field whose type is not known here fails when this is imported."""


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return [value.numerator, value.denominator]
    if isinstance(value, Enum):
        return value.value
    return value


def _join(place: str, name: str) -> str:
    shown = _cut(ascii(name)[1:-1])
    return f"{place}.{shown}" if place else shown


def _short(value: object) -> str:
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a {type(value).__name__}"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."
