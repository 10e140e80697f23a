"""Validators of the evidence and regression rules' fields: range, type and the rule they keep."""

from collections.abc import Callable
from fractions import Fraction

from attrs import Attribute

from spec.errors import InvalidValue


def whole(low: int, high: int, rule: str) -> Callable[[object, "Attribute[int]", int], None]:
    """Return a validator for a whole number from `low` to `high`, both allowed."""

    def check(_owner: object, attribute: "Attribute[int]", value: int) -> None:
        if type(value) is not int or not low <= value <= high:
            need = f"a whole number from {low} to {high}"
            raise InvalidValue(attribute.name, repr(value), need, rule)

    return check


def fraction_between(
    low: Fraction, high: Fraction, rule: str
) -> Callable[[object, "Attribute[Fraction]", Fraction], None]:
    """Return a validator for an exact fraction strictly between `low` and `high`."""

    def check(_owner: object, attribute: "Attribute[Fraction]", value: Fraction) -> None:
        if type(value) is not Fraction or not low < value < high:
            need = f"a Fraction strictly between {low} and {high}"
            raise InvalidValue(attribute.name, repr(value), need, rule)

    return check
