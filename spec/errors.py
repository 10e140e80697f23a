"""Errors of the reference model: one base, one class per cause, each with the rule it enforces."""

from attrs import frozen


class SpecError(Exception):
    """Base of every error that the reference model raises."""


@frozen
class InvalidValue(SpecError):
    """A value breaks a rule of its type. Nothing was changed.

    Raised by constructors and validators; a selection request with bad input is answered with a
    `Failure` of kind invalid instead (rule S1), since a request is always answered.
    """

    field: str
    got: str
    need: str
    rule: str

    def __str__(self) -> str:
        return f"{self.field}: got {self.got}, need {self.need} ({self.rule})"
