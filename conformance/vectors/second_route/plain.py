"""Reading plain JSON with `fractions` and nothing else."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

Plain: TypeAlias = "bool | int | str | Sequence[Plain] | Mapping[str, Plain] | None"


class Odd(Exception):
    """Input that should be refused, or that this way does not understand."""


def member(value: Plain, name: str) -> Plain:
    """Return a member of an object."""
    if not isinstance(value, Mapping) or name not in value:
        raise Odd(name)
    return value[name]


def items(value: Plain) -> Sequence[Plain]:
    """Return the items of an array."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Odd(repr(value))
    return value


def whole(value: Plain) -> int:
    """Return a number, written as one or as long decimal text."""
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        raise Odd(repr(value))
    return int(value)


def text(value: Plain) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise Odd(repr(value))
    return value


def ratio(value: Plain) -> Fraction:
    """Return a rational in lowest terms."""
    over, under = (whole(one) for one in items(value))
    if under < 1 or Fraction(over, under).denominator != under:
        raise Odd(repr(value))
    return Fraction(over, under)


def number(value: int) -> int | str:
    """Write a whole number."""
    return value if -(2**53) < value < 2**53 else str(value)


def pair(value: Fraction) -> list[int | str]:
    """Write a rational."""
    return [number(value.numerator), number(value.denominator)]
