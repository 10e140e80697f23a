"""Median-MAD decides once, on a fixed number of blocks that agree (E4)."""

from fractions import Fraction
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence import Faster, MedianMad, NotFaster, TooNoisy, Undecided, assess
from spec.evidence.order_statistics import median, relative_mad

MINIMUM = Fraction(103, 100)
RULE = MedianMad(samples=5)
RATIOS = st.fractions(min_value=Fraction(1, 10), max_value=Fraction(10), max_denominator=10**6)


def test_without_blocks_there_is_nothing_to_say() -> None:
    assert assess(RULE, (), MINIMUM) == Undecided(None, None, 0)


def test_before_the_last_sample_it_goes_on_however_clear_the_blocks_are() -> None:
    blocks = (Fraction(1, 9),) * 4
    assert assess(RULE, blocks, MINIMUM) == Undecided(Fraction(1, 9), Fraction(0), 4)
    assert isinstance(assess(RULE, (*blocks, Fraction(1, 9)), MINIMUM), Faster)


def test_a_median_at_exactly_the_minimum_speed_up_is_faster() -> None:
    assert assess(RULE, (1 / MINIMUM,) * 5, MINIMUM) == Faster(1 / MINIMUM, Fraction(0), 5)


def test_a_median_a_hair_short_of_the_minimum_is_not_faster() -> None:
    short = 1 / MINIMUM + Fraction(1, 10**30)
    verdict = assess(RULE, (short,) * 5, MINIMUM)
    assert verdict == NotFaster(short, Fraction(0), 5, "median ratio 0.9709, need at most 0.9709")


def test_blocks_that_disagree_are_too_noisy_even_where_the_median_is_fast() -> None:
    blocks = tuple(Fraction(n, 10) for n in (3, 4, 5, 6, 7))
    assert median(blocks) * MINIMUM <= 1, "pointless unless the median alone would promote"
    verdict = assess(RULE, blocks, MINIMUM)
    reason = "blocks disagree: relative MAD 0.2000, limit 0.0300"
    assert verdict == TooNoisy(Fraction(1, 2), Fraction(1, 5), 5, reason)


def test_a_dispersion_at_exactly_the_limit_passes() -> None:
    blocks = tuple(Fraction(n, 100) for n in (40, 44, 50, 56, 60))
    rule = MedianMad(samples=5, max_relative_mad=relative_mad(blocks))
    assert isinstance(assess(rule, blocks, MINIMUM), Faster)


def test_one_slow_outlier_does_not_cost_a_candidate_its_place() -> None:
    blocks = (Fraction(9, 10), Fraction(9), *(Fraction(9, 10),) * 3)
    assert isinstance(assess(RULE, blocks, MINIMUM), Faster)


@given(st.lists(RATIOS, min_size=5, max_size=5), st.integers())
def test_the_order_of_the_samples_plays_no_part(ratios: list[Fraction], seed: int) -> None:
    shuffled = Random(seed).sample(ratios, len(ratios))
    assert assess(RULE, shuffled, MINIMUM) == assess(RULE, ratios, MINIMUM)


@given(st.lists(RATIOS, min_size=5, max_size=5), st.lists(RATIOS, max_size=5))
def test_more_blocks_never_change_a_verdict(ratios: list[Fraction], more: list[Fraction]) -> None:
    assert assess(RULE, ratios + more, MINIMUM) == assess(RULE, ratios, MINIMUM)


@pytest.mark.parametrize("samples", [2, 4097, True, 9.0])
def test_a_number_of_samples_out_of_range_is_refused(samples: object) -> None:
    with pytest.raises(InvalidValue, match=r"samples: got .* need a whole number from 3 to 4096"):
        MedianMad(samples=cast("int", samples))


@pytest.mark.parametrize("limit", [Fraction(0), Fraction(1), Fraction(-1, 3), 0.03, 1])
def test_a_limit_out_of_range_or_inexact_is_refused(limit: object) -> None:
    with pytest.raises(InvalidValue, match="max_relative_mad: got"):
        MedianMad(max_relative_mad=cast("Fraction", limit))


@pytest.mark.parametrize("minimum", [Fraction(99, 100), Fraction(0), 1, 1.03])
def test_a_minimum_speed_up_under_1_or_inexact_is_refused(minimum: object) -> None:
    with pytest.raises(InvalidValue, match=r"min_speedup: got .* need a Fraction >= 1"):
        assess(RULE, (), cast("Fraction", minimum))


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(-1), 1, 0.5])
def test_a_ratio_that_is_no_positive_fraction_is_refused(ratio: object) -> None:
    with pytest.raises(InvalidValue, match=r"ratios: got .* need a Fraction > 0"):
        assess(RULE, (Fraction(1), cast("Fraction", ratio)), MINIMUM)
