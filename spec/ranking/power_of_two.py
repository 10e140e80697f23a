"""Powers of two at fractional exponents, exact in rationals, so that every language gets the same.

The true power of two is irrational between whole exponents. Between them stands the one quadratic
that meets both ends and has no kink at the joins: for 0 <= x <= 1,

    2^-x  :=  (6 - 4x + x^2) / 6

It is 1 at 0 and 1/2 at 1, its slope at 1 is half its slope at 0 (so the curve stays smooth from one
period to the next), and it lies within 0.003 of the true value.
"""

from fractions import Fraction

from spec.errors import InvalidValue

MAX_EXPONENT = 64
"""Growth stops here: a factor of 2^64 is already hopeless, and larger ones only cost memory."""


def halved(elapsed_ns: int, half_life_ns: int) -> Fraction:
    """Return the share that is left after `elapsed_ns`: 1 at zero, exactly halved every half-life.

    For every elapsed time e, `halved(e + h, h) == halved(e, h) / 2` exactly, until after 64
    half-lives nothing is left: 0. A negative elapsed time (the clock went back) counts as zero.

    Raises `InvalidValue` (R8) for a half-life under 1 ns.
    """
    if half_life_ns < 1:
        raise InvalidValue("half_life_ns", str(half_life_ns), "at least 1", "R8")
    periods, rest = divmod(max(0, elapsed_ns), half_life_ns)
    if periods >= MAX_EXPONENT:
        return Fraction(0)
    square = half_life_ns * half_life_ns
    within = 6 * square - 4 * rest * half_life_ns + rest * rest
    return Fraction(within, 6 * square << periods)


def doubled(exponent: Fraction) -> Fraction:
    """Return 2^exponent by the same curve; the exponent stops at -64 and at 64."""
    bounded = max(Fraction(-MAX_EXPONENT), min(Fraction(MAX_EXPONENT), exponent))
    # 2^e = 2^ceil(e) * 2^-(ceil(e) - e), and the second exponent lies in [0, 1).
    whole = -((-bounded.numerator) // bounded.denominator)
    rest = whole - bounded
    return Fraction(2) ** whole * (6 - 4 * rest + rest * rest) / 6
