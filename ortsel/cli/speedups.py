"""The least speed-up that is worth another plan, as an exact number."""

import re
from fractions import Fraction
from typing import Final

import click

from spec.policy import MAX_SPEEDUP

_NUMBER: Final = re.compile(r"\d{1,6}(?:\.\d{1,9})?", re.ASCII)


def parse_speedup(text: str) -> Fraction:
    """Return a decimal number from 1 to 1000, exactly. Raises `ValueError` for anything else."""
    compact = text.strip()
    if _NUMBER.fullmatch(compact) is None or not 1 <= Fraction(compact) <= MAX_SPEEDUP:
        message = f"{text!r} is not a number from 1 to {MAX_SPEEDUP}, such as 1.03"
        raise ValueError(message)
    return Fraction(compact)


def speedup_argument(text: str) -> Fraction:
    """Read an option's value; what is wrong with it becomes the option's error."""
    try:
        return parse_speedup(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
