"""Canonical JSON: one text for one value, so that equal keys are equal bytes.

The rules are RFC 8785 restricted to integers: members sorted by UTF-16 code units, no white space,
shortest escapes. Floating-point numbers are refused, because two languages may print one value in
two ways, and a key that depends on printing hides a hit. The restriction to integers that a double
can hold exactly (magnitude below 2**53) is RFC 8785's own.
"""

import hashlib
from collections.abc import Mapping, Sequence
from json.encoder import encode_basestring
from typing import Final, TypeAlias

from immutables import Map

from spec.errors import InvalidValue

Json: TypeAlias = "bool | int | str | Sequence[Json] | Mapping[str, Json] | None"
"""What may be written: a value of plain containers, integers, strings, booleans and null."""

LARGEST_INTEGER: Final = 2**53 - 1
MAX_DEPTH: Final = 64


def canonical(value: Json) -> str:
    """Return the canonical text of `value`.

    Raises `InvalidValue` for a float, an integer of magnitude 2**53 or more, a member name that is
    not a string, a lone surrogate, nesting deeper than `MAX_DEPTH`, or any other type.
    """
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts)


def text_array(texts: Sequence[str]) -> str:
    """Return the canonical text of an array of strings: `canonical`, for the case that is timed."""
    joined = ",".join(map(encode_basestring, texts))
    _refuse_lone_surrogates(joined)
    return f"[{joined}]"


def digest(text: str) -> str:
    """Return the lower-case hexadecimal SHA-256 of `text` in UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def freeze(value: Json) -> Json:
    """Return an equal value that nobody can change: tuples for sequences, maps for mappings.

    What `canonical` refuses is passed through, so that it is refused there, by name.
    """
    return _freeze(value, 0)


def _freeze(value: Json, depth: int) -> Json:
    if depth > MAX_DEPTH or isinstance(value, (str, bytes, bytearray)):
        return value
    if isinstance(value, Mapping):
        return Map({name: _freeze(member, depth + 1) for name, member in value.items()})
    if isinstance(value, Sequence):
        return tuple(_freeze(item, depth + 1) for item in value)
    return value


def _write(value: Json, parts: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InvalidValue("json", f"depth {depth}", f"at most {MAX_DEPTH} levels", "S1")
    if isinstance(value, str):
        parts.append(_string(value))
    elif isinstance(value, Mapping):
        _write_object(value, parts, depth)
    elif isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        parts.append("[")
        for position, item in enumerate(value):
            if position:
                parts.append(",")
            _write(item, parts, depth + 1)
        parts.append("]")
    else:
        parts.append(_word_or_integer(value))


def _word_or_integer(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int):
        raise InvalidValue("json", type(value).__name__, "an integer, string, list or object", "S1")
    if abs(value) > LARGEST_INTEGER:
        raise InvalidValue("json", str(value), f"magnitude at most {LARGEST_INTEGER}", "S1")
    return int.__repr__(value)


def _write_object(value: Mapping[str, Json], parts: list[str], depth: int) -> None:
    for name in value:
        if not isinstance(name, str):
            raise InvalidValue("json member name", repr(name), "a string", "S1")
    parts.append("{")
    for position, name in enumerate(sorted(value, key=_utf16)):
        if position:
            parts.append(",")
        parts.append(_string(name))
        parts.append(":")
        _write(value[name], parts, depth + 1)
    parts.append("}")


def _utf16(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> str:
    _refuse_lone_surrogates(text)
    return encode_basestring(text)


def _refuse_lone_surrogates(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidValue("json string", ascii(text), "no lone surrogates", "S1") from error
