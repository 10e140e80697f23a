"""Ratios in messages: decimals made from integers, so that every implementation prints the same."""

from fractions import Fraction

PLACES = 4


def decimal_text(ratio: Fraction) -> str:
    """Return a ratio >= 0 with four decimals, ties rounded to the even digit."""
    whole, rest = divmod(round(ratio * 10**PLACES), 10**PLACES)
    return f"{whole}.{rest:0{PLACES}d}"
