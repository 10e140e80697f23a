"""What JSON a type of the reference model has, derived from its fields, so that no field is missed.

=====================  =====================================================================
type                   JSON
=====================  =====================================================================
whole number           number; as decimal text from a magnitude of 2**53 on
`Fraction`             [numerator, denominator], lowest terms, denominator positive
enumeration            its word
tuple                  array
frozen set             array in ascending order, none twice
map with text names    object
value with fields      object; members with a default may be left out, unknown ones are refused
closed union           the object of the case, with a member "type" that names it: "median-mad"
optional               null, or the JSON of the value
=====================  =====================================================================
"""

import re
import types
from enum import Enum
from fractions import Fraction
from typing import Final, TypeAlias, Union, get_args, get_origin

from attrs import NOTHING, fields, frozen, has
from immutables import Map

from spec.canonical_json import Json

TAG: Final = "type"
"""Member that names the case of a union."""


@frozen
class Whole:
    """A whole number of any size."""

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "a whole number"


@frozen
class Text:
    """A string."""

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "a string"


@frozen
class Truth:
    """true or false."""

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "true or false"


@frozen
class Ratio:
    """An exact fraction."""

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "[numerator, denominator] in lowest terms, the denominator positive"


@frozen
class Anything:
    """Any JSON without floating-point numbers."""

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "JSON without floating-point numbers"


@frozen
class Word:
    """One of an enumeration's words."""

    enumeration: type[Enum]

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "one of " + ", ".join(str(one.value) for one in self.enumeration)


@frozen
class ListOf:
    """An array of any length."""

    item: "Shape"

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "an array"


@frozen
class SetOf:
    """An array whose order says nothing."""

    item: "Shape"

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "an array"


@frozen
class Row:
    """An array of fixed length."""

    items: "tuple[Shape, ...]"

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return f"an array of {len(self.items)}"


@frozen
class MapOf:
    """An object with names that are data."""

    value: "Shape"

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "an object"


@frozen
class Maybe:
    """null or a value."""

    value: "Shape"

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return f"null or {self.value.need}"


@frozen
class Member:
    """One field of a value."""

    name: str
    shape: "Shape"
    required: bool


@frozen
class Fields:
    """An object with names that are known."""

    kind: type[object]
    members: tuple[Member, ...]

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return f"an object of kind {self.tag}"

    @property
    def tag(self) -> str:
        """The word by which a union knows it."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", self.kind.__name__).lower()


@frozen
class OneOf:
    """A closed union of values with fields."""

    cases: tuple[Fields, ...]

    @property
    def need(self) -> str:
        """Words for what it wants."""
        return "an object of kind " + " or ".join(one.tag for one in self.cases)


Single: TypeAlias = Whole | Text | Truth | Ratio | Anything | Word
Compound: TypeAlias = ListOf | SetOf | Row | MapOf | Maybe | Fields | OneOf
Shape: TypeAlias = Single | Compound

_PLAIN: Final[dict[object, Shape]] = {
    int: Whole(),
    str: Text(),
    bool: Truth(),
    Fraction: Ratio(),
}


def shape_of(hint: object) -> Shape:
    """Return the shape of a type as it stands in an annotation.

    Raises `TypeError` for a type that has no JSON form.
    """
    if hint == Json:
        return Anything()
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Enum):
        return Word(hint)
    if isinstance(hint, type) and has(hint):
        return Fields(hint, _members(hint))
    if isinstance(hint, type) and issubclass(hint, tuple):
        return _named_tuple(hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuple(arguments)
    if origin is frozenset:
        return SetOf(shape_of(arguments[0]))
    if origin is Map and arguments[0] is str:
        return MapOf(shape_of(arguments[1]))
    if origin in {Union, types.UnionType}:
        return _union(arguments)
    message = f"no JSON form for {hint!r}"
    raise TypeError(message)


def _members(kind: type[object]) -> tuple[Member, ...]:
    if not has(kind):
        return ()
    return tuple(
        Member(one.name, shape_of(one.type), one.default is NOTHING)
        for one in fields(kind)
        if one.init
    )


def _named_tuple(kind: type[object]) -> Shape:
    """Return the shape of the tuple that a class of values in a row extends."""
    bases: tuple[object, ...] = getattr(kind, "__orig_bases__", ())
    if len(bases) != 1 or get_origin(bases[0]) is not tuple:
        message = f"no JSON form for {kind!r}"
        raise TypeError(message)
    return shape_of(bases[0])


def _tuple(arguments: tuple[object, ...]) -> Shape:
    if arguments[-1] is Ellipsis:
        return ListOf(shape_of(arguments[0]))
    return Row(tuple(shape_of(one) for one in arguments))


def _union(arguments: tuple[object, ...]) -> Shape:
    rest = [one for one in arguments if one is not type(None)]
    if len(rest) < len(arguments):
        inner = shape_of(rest[0]) if len(rest) == 1 else _union(tuple(rest))
        return Maybe(inner)
    cases = []
    for one in rest:
        shape = shape_of(one)
        if not isinstance(shape, Fields):
            message = f"no JSON form for a union with {one!r}"
            raise TypeError(message)
        cases.append(shape)
    return OneOf(tuple(cases))
