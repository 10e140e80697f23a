"""One message, one line of JSON."""

import json
from typing import Final, NoReturn

from conformance.codec import Codec, CodecError
from conformance.codec.shape import shape_of
from conformance.protocol.message import FromImplementation, FromSuite
from spec.canonical_json import Json

FROM_SUITE: Final[Codec[FromSuite]] = Codec(shape_of(FromSuite))
FROM_IMPLEMENTATION: Final[Codec[FromImplementation]] = Codec(shape_of(FromImplementation))


def to_line(json_value: Json) -> str:
    """Return JSON as one line of ASCII with its line end."""
    return json.dumps(json_value, separators=(",", ":"), allow_nan=False) + "\n"


def from_line(line: str) -> Json:
    """Return the JSON of one line.

    Raises `CodecError` for anything but one JSON text, for a float, NaN or infinity (what a number
    is must not depend on the language that reads it), and for a member given twice.
    """
    try:
        value: Json = json.loads(
            line,
            parse_float=_no_float,
            parse_constant=_no_float,
            object_pairs_hook=_no_member_twice,
        )
    except (ValueError, RecursionError) as error:
        need = f"one JSON text ({error})"
        raise CodecError("$", repr(line[:80]), need) from error
    return value


def _no_float(text: str) -> NoReturn:
    raise CodecError("$", text, "whole numbers and strings only")


def _no_member_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        path = f"$.{twice}"
        raise CodecError(path, "a member twice", "every member once")
    return members
