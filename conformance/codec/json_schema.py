"""JSON Schema of a shape, for readers and for other languages' validators.

The codec does not use it: it says where a value is wrong in fewer words.
"""

from typing import Final, assert_never

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

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
WHOLE: Final[Json] = {
    "description": "A whole number; as decimal text from a magnitude of 2**53 on.",
    "oneOf": [
        {"type": "integer", "minimum": -LARGEST_INTEGER, "maximum": LARGEST_INTEGER},
        {"type": "string", "pattern": "^-?[1-9][0-9]{15,}$"},
    ],
}
RATIO: Final[Json] = {
    "description": "Numerator and denominator in lowest terms, the denominator positive.",
    "type": "array",
    "prefixItems": [WHOLE, WHOLE],
    "minItems": 2,
    "maxItems": 2,
}


def json_schema(shape: Shape) -> Json:
    """Return the schema of a shape, without references, so that a piece of it can be shown."""
    match shape:
        case Maybe():
            return {"oneOf": [{"type": "null"}, json_schema(shape.value)]}
        case Fields():
            return _fields(shape, tagged=False)
        case OneOf():
            return {"oneOf": [_fields(one, tagged=True) for one in shape.cases]}
        case ListOf() | SetOf() | Row() | MapOf():
            return _collection(shape)
        case _:
            return _single(shape)


def _single(shape: Single) -> Json:
    match shape:
        case Whole():
            return WHOLE
        case Ratio():
            return RATIO
        case Text():
            return {"type": "string"}
        case Truth():
            return {"type": "boolean"}
        case Anything():
            return {"description": "Any JSON without floating-point numbers."}
        case Word():
            return {"enum": [str(one.value) for one in shape.enumeration]}
        case _:
            assert_never(shape)


def _collection(shape: ListOf | SetOf | Row | MapOf) -> Json:
    match shape:
        case ListOf():
            return {"type": "array", "items": json_schema(shape.item)}
        case SetOf():
            return {"type": "array", "items": json_schema(shape.item), "uniqueItems": True}
        case Row():
            items = [json_schema(one) for one in shape.items]
            size = len(items)
            return {"type": "array", "prefixItems": items, "minItems": size, "maxItems": size}
        case MapOf():
            return {"type": "object", "additionalProperties": json_schema(shape.value)}
        case _:
            assert_never(shape)


def _fields(shape: Fields, *, tagged: bool) -> Json:
    tag: dict[str, Json] = {TAG: {"const": shape.tag}} if tagged else {}
    required = [one.name for one in shape.members if one.required]
    return {
        "type": "object",
        "properties": {**tag, **{one.name: json_schema(one.shape) for one in shape.members}},
        "required": [*tag, *required],
        "additionalProperties": False,
    }
