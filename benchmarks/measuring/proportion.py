"""What a share of so many trials says about the share of all."""

import math
from collections.abc import Callable

STEPS = 60
"""Halvings of an interval: past the precision of a float."""


def clopper_pearson(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided confidence interval of a proportion (Clopper and Pearson 1934)."""
    if not 0 <= hits <= trials or trials < 1:
        message = (
            f"hits of trials: got {hits} of {trials}, need at least one trial and no more hits"
        )
        raise ValueError(message)
    tail = (1 - confidence) / 2
    low = 0.0 if hits == 0 else _crossing(lambda p: 1 - _at_most(hits - 1, trials, p) < tail)
    high = 1.0 if hits == trials else _crossing(lambda p: _at_most(hits, trials, p) > tail)
    return low, high


def _crossing(below: Callable[[float], bool]) -> float:
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) else (low, middle)
    return (low + high) / 2


def _at_most(hits: int, trials: int, share: float) -> float:
    """Return the probability of at most so many hits."""
    if share <= 0 or share >= 1:
        return 1.0 if share <= 0 or hits >= trials else 0.0
    return math.fsum(
        math.exp(
            math.lgamma(trials + 1)
            - math.lgamma(one + 1)
            - math.lgamma(trials - one + 1)
            + one * math.log(share)
            + (trials - one) * math.log1p(-share)
        )
        for one in range(hits + 1)
    )
