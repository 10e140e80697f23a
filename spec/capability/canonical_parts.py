"""A value as named text parts, so that two values are equal exactly when their parts are."""

from enum import Enum
from fractions import Fraction

from attrs import fields, has

from spec.errors import InvalidValue

RULE = "C9"

Parts = tuple[tuple[str, str], ...]
"""Name and text of each part, in the order of the fields."""


def canonical_parts(prefix: str, value: object) -> Parts:
    """Every field of an attrs value, nested ones with dotted names, none left out.

    Taking the fields from the class is what makes the key complete: a field that is added later is
    in the key from its first day. Raises InvalidValue for a field of an unknown kind.
    """
    kind = type(value)
    if not has(kind):
        return ((prefix, _text(prefix, value)),)
    parts: list[tuple[str, str]] = []
    for field in fields(kind):
        nested: object = getattr(value, field.name)
        parts.extend(canonical_parts(f"{prefix}.{field.name}", nested))
    return tuple(parts)


def _text(name: str, value: object) -> str:
    match value:
        case None:
            return "unset"
        case Enum():
            return str(value.value)
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case Fraction():
            return f"{value.numerator}/{value.denominator}"
        case str():
            return repr(value)
        case tuple():
            return "[" + ", ".join(_text(name, item) for item in value) + "]"
        case frozenset():
            return "{" + ", ".join(sorted(_text(name, item) for item in value)) + "}"
        case _:
            raise InvalidValue(name, type(value).__name__, "a value type", RULE)
