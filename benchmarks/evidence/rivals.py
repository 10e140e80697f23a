"""Rules that are not offered, to compare with: two peek without paying, one weighs sizes."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from spec.evidence import Faster, MedianMad, assess
from spec.evidence.betting import QUARTERS, STAKES_AND_WEIGHTS
from spec.evidence.order_statistics import median


def peeking_median_mad(ratios: Sequence[Fraction], min_speedup: Fraction) -> bool:
    """Ask a median-MAD rule of the size so far after every block from the third; stop at a yes."""
    return any(
        isinstance(assess(MedianMad(samples=blocks), ratios, min_speedup), Faster)
        for blocks in range(3, len(ratios) + 1)
    )


def peeking_sign_test(ratios: Sequence[Fraction], rate: Fraction) -> bool:
    """Apply the exact one-sided sign test of `rate` to the blocks so far after every block."""
    wins = 0
    for blocks, ratio in enumerate(ratios, start=1):
        wins += ratio < 1
        if wins >= sign_test_needs(blocks, rate):
            return True
    return False


@cache
def sign_test_needs(blocks: int, rate: Fraction) -> int:
    """Return the fewest wins that a fair coin reaches in `blocks` with probability <= `rate`.

    It is more than `blocks` where not even winning all of them is that rare.
    """
    tail = Fraction(0)
    for wins in range(blocks, -1, -1):
        tail += Fraction(math.comb(blocks, wins), 2**blocks)
        if tail > rate:
            return wins + 1
    return 0


def blocks_to_clipped_bet(
    ratios: Sequence[Fraction], rate: Fraction, min_speedup: Fraction
) -> int | None:
    """Bet on log ratios clipped at the median of their sizes so far, at the same stakes.

    Valid where log ratios are symmetric about 0. In floats: it is here for the count of blocks.
    """
    wealth = [weight / QUARTERS for _, weight in STAKES_AND_WEIGHTS]
    sizes: list[float] = []
    for blocks, ratio in enumerate(ratios, start=1):
        gain = -math.log(ratio)
        sizes.append(abs(gain))
        scale = sorted(sizes)[len(sizes) // 2]
        clipped = max(-1.0, min(1.0, gain / scale)) if scale else 0.0
        wealth = [
            held * (1 + stake / QUARTERS * clipped)
            for held, (stake, _) in zip(wealth, STAKES_AND_WEIGHTS, strict=True)
        ]
        if sum(wealth) >= 1 / rate and median(ratios[:blocks]) * min_speedup <= 1:
            return blocks
    return None
