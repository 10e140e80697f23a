"""Validators of ranking and learning values: exact types and bounds, the rule in the error."""

from collections.abc import Callable
from fractions import Fraction

from attrs import Attribute

from spec.errors import InvalidValue


def at_least(minimum: int, rule: str) -> Callable[[object, "Attribute[int]", int], None]:
    """Accept an `int` (no bool, no float) of at least `minimum`; else raise `InvalidValue`."""

    def check(_: object, attribute: "Attribute[int]", value: int) -> None:
        if type(value) is not int or value < minimum:
            raise InvalidValue(
                attribute.name, repr(value), f"a whole number of at least {minimum}", rule
            )

    return check


def unit_interval(rule: str) -> Callable[[object, "Attribute[Fraction]", Fraction], None]:
    """Accept an exact `Fraction` from 0 to 1, both included; else raise `InvalidValue`."""

    def check(_: object, attribute: "Attribute[Fraction]", value: Fraction) -> None:
        # Whole numbers compare faster than fractions, and rankings check thousands.
        if type(value) is not Fraction or not 0 <= value.numerator <= value.denominator:
            raise InvalidValue(attribute.name, repr(value), "a Fraction from 0 to 1", rule)

    return check


def not_negative(rule: str) -> Callable[[object, "Attribute[Fraction]", Fraction], None]:
    """Accept an exact `Fraction` of at least 0; else raise `InvalidValue`."""

    def check(_: object, attribute: "Attribute[Fraction]", value: Fraction) -> None:
        if type(value) is not Fraction or value < 0:
            raise InvalidValue(attribute.name, repr(value), "a Fraction of at least 0", rule)

    return check


def not_empty(rule: str) -> Callable[[object, "Attribute[str]", str], None]:
    """Accept a non-empty string; else raise `InvalidValue`."""

    def check(_: object, attribute: "Attribute[str]", value: str) -> None:
        if not value:
            raise InvalidValue(attribute.name, repr(value), "a non-empty name", rule)

    return check
