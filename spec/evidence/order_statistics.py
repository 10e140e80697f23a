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
    return _median([(value.numerator, value.denominator) for value in values])


def relative_mad(values: Sequence[Fraction]) -> Fraction:
    """Return the median of the absolute deviations from the median, divided by the median.

    The values must be positive, as ratios of times are. A single value has deviation 0.
    """
    centre = median(values)
    if centre <= 0:
        raise InvalidValue("values", f"a median of {centre}", "> 0", "ratios of times are positive")
    over, under = centre.numerator, centre.denominator
    # Deviations in units of 1 / under, so that dividing by the centre is dividing by `over`.
    deviations = [
        (abs(value.numerator * under - over * value.denominator), value.denominator)
        for value in values
    ]
    return _median(deviations) / over


def _median(quotients: list[tuple[int, int]]) -> Fraction:
    """Return the median of nonnegative numerators over positive denominators.

    Sorting integers costs a tenth of sorting fractions. Two unequal quotients with denominators
    under 2**bits are at least 2**(-2 * bits) apart, so after scaling by 2**(2 * bits) and rounding
    down they are still in order and still unequal.
    """
    shift = 2 * max(under.bit_length() for _, under in quotients)
    ordered = sorted(quotients, key=lambda quotient: (quotient[0] << shift) // quotient[1])
    middle, odd = divmod(len(ordered), 2)
    upper = Fraction(*ordered[middle])
    return upper if odd else (Fraction(*ordered[middle - 1]) + upper) / 2
