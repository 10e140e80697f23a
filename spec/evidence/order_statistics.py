"""Median and median absolute deviation of exact ratios, defined down to the last digit (S13)."""

from collections.abc import Sequence
from fractions import Fraction

from spec.errors import InvalidValue


def median(values: Sequence[Fraction]) -> Fraction:
    """Return the middle value, or for an even count the exact mean of the two middle values.

    The order of the values plays no part. Raises `InvalidValue` where there is none.
    """
    if not values:
        raise InvalidValue("values", "none", "at least 1 value", "a median needs a value")
    middle, odd = divmod(len(values), 2)
    ordered = _ascending(values)
    return ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2


def relative_mad(values: Sequence[Fraction]) -> Fraction:
    """Return the median of the absolute deviations from the median, divided by the median.

    The values must be positive, as ratios of times are. A single value has deviation 0.
    """
    centre = median(values)
    if centre <= 0:
        raise InvalidValue("values", f"a median of {centre}", "> 0", "ratios of times are positive")
    return median([abs(value - centre) for value in values]) / centre


def _ascending(values: Sequence[Fraction]) -> list[Fraction]:
    """Sort by integers instead of by fractions, which costs a tenth.

    Two unequal fractions with denominators under 2**bits are at least 2**(-2 * bits) apart, so
    after scaling by 2**(2 * bits) and rounding down they are still in order and still unequal.
    """
    shift = 2 * max(value.denominator.bit_length() for value in values)
    return sorted(values, key=lambda value: (value.numerator << shift) // value.denominator)
