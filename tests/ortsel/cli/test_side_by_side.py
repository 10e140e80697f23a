"""Timing two sessions against each other, and comparing what they return."""

import math
from fractions import Fraction

import numpy as np
import pytest

from ortsel.cli import side_by_side
from ortsel.cli.side_by_side import SideBySide, compare_latency, largest_difference


def test_blocks_are_balanced_and_drawn_from_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_by_side, "PAUSE_S", 0.0)
    monkeypatch.setattr(side_by_side, "LEG_NS", 1)

    def order(seed: int) -> str:
        called: list[str] = []
        compare_latency(lambda: called.append("r"), lambda: called.append("s"), seed, blocks=6)
        warm, leg = 4, side_by_side.WAKING_CALLS + 1
        return "".join(called[warm::leg])

    assert order(1) == order(1)
    assert order(1) != order(2)
    blocks = [order(1)[at : at + 4] for at in range(0, 24, 4)]
    assert set(blocks) == {"rssr", "srrs"}


def test_the_ratio_is_the_median_of_the_blocks() -> None:
    timing = SideBySide(10, 20, (Fraction(1), Fraction(2), Fraction(100)))
    assert timing.ratio == 2.0
    assert "3 blocks" in timing.how()[0]


@pytest.mark.parametrize(
    ("left", "right", "difference"),
    [
        ([np.array([1.0, 2.0])], [np.array([1.0, 2.5])], 0.5),
        ([np.array([1, 2]), np.array([0.0])], [np.array([1, 5]), np.array([1.0])], 3.0),
        ([np.array([np.nan, np.inf])], [np.array([np.nan, np.inf])], 0.0),
        ([np.array([np.nan])], [np.array([1.0])], math.inf),
        ([np.array([np.inf])], [np.array([-np.inf])], math.inf),
        ([np.zeros(2)], [np.zeros(3)], math.inf),
        ([np.zeros(2)], [np.zeros(2, np.float32)], math.inf),
        ([np.zeros(2)], [], math.inf),
        ([np.array(["a"])], [np.array(["a"])], 0.0),
        ([np.array(["a"])], [np.array(["b"])], math.inf),
        ([np.zeros((0, 3))], [np.zeros((0, 3))], 0.0),
        ([np.array([200], np.uint8)], [np.array([100], np.uint8)], 100.0),
    ],
)
def test_the_largest_difference_hides_nothing(
    left: list[np.ndarray], right: list[np.ndarray], difference: float
) -> None:
    assert largest_difference(left, right) == difference
    assert largest_difference(right, left) == difference
