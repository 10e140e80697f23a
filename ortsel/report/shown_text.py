"""Numbers and foreign names as readers see them.

Names come from model files and stores, which anybody may have written: nothing of them may steer a
page. Markup is the template's care; here go the characters that would reorder, hide or swell text.
"""

import unicodedata
from fractions import Fraction
from typing import Final

from attrs import frozen

MOST_CHARACTERS: Final = 300
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
DASH: Final = "\N{EN DASH}"
"""What stands where nothing was measured."""
TIMES: Final = "\N{MULTIPLICATION SIGN}"


def plain(text: str, most: int = MOST_CHARACTERS) -> str:
    """Return a text on one line, cut, with characters that cannot be seen written as escapes."""
    seen = "".join(
        ascii(one)[1:-1] if unicodedata.category(one) in _UNSEEN else one for one in text[:most]
    )
    return seen + "…" if len(text) > most else seen


MOST: Final = 10**9
"""Factors beyond this, or below its inverse, are drawn as this."""


@frozen
class TimeUnit:
    """One unit for all times of a table, so that its rows can be compared by eye."""

    name: str
    ns: int

    def words(self, time_ns: int) -> str:
        """Return a time in this unit, to three significant digits, without the unit's name."""
        return three_digits(Fraction(time_ns, self.ns))


_UNITS: Final = (TimeUnit("s", 10**9), TimeUnit("ms", 10**6), TimeUnit("µs", 10**3))


def unit_for(time_ns: int) -> TimeUnit:
    """Return the largest unit in which a time is at least 1; the smallest for what is shorter."""
    for unit in _UNITS:
        if time_ns >= unit.ns:
            return unit
    return _UNITS[-1]


def three_digits(value: Fraction) -> str:
    """Return a number that is not negative to three significant digits, never with an exponent."""
    number = float(min(value, Fraction(10**15)))
    for limit, digits in ((10, 2), (100, 1)):
        if round(number, digits) < limit:
            return f"{number:.{digits}f}"
    return f"{number:,.0f}"


def as_float(value: Fraction) -> float:
    """Return a number within what a figure can show: a store may hold any fraction."""
    return float(min(max(value, Fraction(1, MOST)), Fraction(MOST)))


def speedup_words(ratio: Fraction) -> str:
    """Return the speed-up of a time ratio, as "1.50" and the sign for times."""
    return f"{three_digits(1 / ratio)}{TIMES}" if ratio else DASH


def percent_words(part: Fraction) -> str:
    """Return a part as a percentage with one decimal, as in "3.2 %"."""
    return f"{float(min(part, Fraction(10**6))) * 100:.1f} %"


def count_words(count: int, one: str, many: str = "") -> str:
    """Return a number of things, as in "1 search" and "2 searches"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration_words(time_ns: int) -> str:
    """Return a long time, as in "850 ms", "12.3 s" and "3 min 20 s"."""
    seconds = time_ns / 10**9
    minute = 60
    if seconds >= minute:
        return f"{int(seconds // minute):,} min {int(seconds % minute)} s"
    unit = unit_for(time_ns)
    return f"{unit.words(time_ns)} {unit.name}"
