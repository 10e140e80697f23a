"""Lengths of time as people write them: "30", "1.5", "30s", "2m", "1m30s", "500ms", "1h"."""

import re
from fractions import Fraction
from typing import Final

from ortsel.load import MOST_GAP_MS

SHORTEST_S: Final = Fraction(1, 1000)
LONGEST_S: Final = 86_400
LONGEST_GAP_S: Final = MOST_GAP_MS // 1000
_TENTHS_BELOW_S: Final = 10
_MINUTES_FROM_S: Final = 120
_UNITS: Final = {
    "h": Fraction(3600),
    "m": Fraction(60),
    "s": Fraction(1),
    "ms": Fraction(1, 1000),
}
_NUMBER: Final = r"\d{1,12}(?:\.\d{1,9})?"
_PLAIN: Final = re.compile(_NUMBER, re.ASCII)
_PART: Final = re.compile(rf"({_NUMBER})(ms|h|m|s)", re.ASCII)
_WHOLE: Final = re.compile(rf"(?:{_NUMBER}(?:ms|h|m|s))+", re.ASCII)


def parse_duration(text: str) -> float:
    """Return a length of time in seconds. A bare number is seconds.

    Raises `ValueError` for anything else, and outside of 1 ms to a day.
    """
    compact = text.strip().lower()
    if _PLAIN.fullmatch(compact):
        seconds = Fraction(compact)
    elif _WHOLE.fullmatch(compact):
        parts = _PART.findall(compact)
        units = [unit for _, unit in parts]
        if len(set(units)) != len(units):
            message = f"{text!r} names a unit twice"
            raise ValueError(message)
        seconds = sum((Fraction(number) * _UNITS[unit] for number, unit in parts), Fraction(0))
    else:
        message = f"{text!r} is not a time such as 30s, 1m30s, 500ms or 2h"
        raise ValueError(message)
    if not SHORTEST_S <= seconds <= LONGEST_S:
        message = f"{text!r} is not between 1ms and 24h"
        raise ValueError(message)
    return float(seconds)


def duration_argument(text: str) -> float:
    """Read an option's value; what is wrong with it becomes the option's error."""
    import click  # the rest of this file serves those who have no command line

    try:
        return parse_duration(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def parse_gap(text: str) -> float:
    """Return the time between two calls in seconds; "0" is none.

    Raises `ValueError` for what is no time, and for more than 10 s.
    """
    if text.strip() == "0":
        return 0.0
    seconds = parse_duration(text)
    if seconds > LONGEST_GAP_S:
        message = f"{text!r} is not between 1ms and {LONGEST_GAP_S}s"
        raise ValueError(message)
    return seconds


def gap_argument(text: str) -> float:
    """Read an option's value; what is wrong with it becomes the option's error."""
    import click

    try:
        return parse_gap(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def words_for_seconds(seconds: float) -> str:
    """Return a length of time for people: "0.4 s", "12 s", "2 min 5 s"."""
    if seconds < _TENTHS_BELOW_S:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTES_FROM_S:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
