"""What the paired timings of a candidate say: a closed union of four verdicts.

`ratio` is candidate time over reference time, so smaller is faster. `dispersion` is the relative
median absolute deviation of the block ratios. Both are exact. `blocks` is how many blocks the
verdict rests on, which may be fewer than were measured: a decision stands from the block that
made it.
"""

from fractions import Fraction
from typing import TypeAlias

from attrs import frozen


@frozen
class Faster:
    """The candidate is faster than the reference by at least the minimum speed-up asked for."""

    ratio: Fraction
    dispersion: Fraction
    blocks: int


@frozen
class NotFaster:
    """The candidate is not faster by the minimum speed-up; measuring on would not pay."""

    ratio: Fraction
    dispersion: Fraction
    blocks: int
    reason: str


@frozen
class Undecided:
    """Go on measuring. With no block at all, ratio and dispersion do not exist yet."""

    ratio: Fraction | None
    dispersion: Fraction | None
    blocks: int


@frozen
class TooNoisy:
    """The blocks disagree too much to say, and the rule allows no more of them.

    Doubt keeps the reference, so this never promotes; it differs from `NotFaster` in what it tells
    the reader: a quieter machine might answer otherwise.
    """

    ratio: Fraction
    dispersion: Fraction
    blocks: int
    reason: str


Verdict: TypeAlias = Faster | NotFaster | Undecided | TooNoisy
