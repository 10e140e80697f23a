"""Halving and doubling by exact ratios (R1, R8)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking.history import DAY_NS
from spec.ranking.power_of_two import MAX_EXPONENT, doubled, halved

WEEK_NS = 7 * DAY_NS
half_lives = st.integers(1, 10**18)


@given(half_lives, st.integers(0, 20), st.fractions(0, 1))
def test_one_half_life_later_exactly_half_is_left_from_any_moment_on(
    half_life: int, periods: int, part: Fraction
) -> None:
    elapsed = periods * half_life + int(part * half_life)
    left = halved(elapsed, half_life)
    assert halved(elapsed + half_life, half_life) == left / 2
    assert left > 0


def test_after_seven_days_one_half_is_left_and_not_one_over_e() -> None:
    assert halved(WEEK_NS, WEEK_NS) == Fraction(1, 2)
    assert halved(0, WEEK_NS) == 1
    assert halved(2 * WEEK_NS, WEEK_NS) == Fraction(1, 4)


@given(half_lives, st.integers(0, 10**19), st.integers(1, 10**18))
def test_more_time_never_leaves_more(half_life: int, elapsed: int, more: int) -> None:
    assert halved(elapsed + more, half_life) <= halved(elapsed, half_life)


@given(st.integers(0, 10 * WEEK_NS))
def test_the_curve_stays_within_three_thousandths_of_the_true_power(elapsed: int) -> None:
    assert abs(float(halved(elapsed, WEEK_NS)) - 2 ** -(elapsed / WEEK_NS)) < 0.003


def test_a_straight_line_between_half_lives_would_be_far_off() -> None:
    line = 1 - Fraction(1, 2) / 2
    assert abs(float(line) - 2**-0.5) > 0.04
    assert abs(float(halved(WEEK_NS // 2, WEEK_NS)) - 2**-0.5) < 0.002


@given(st.integers(-(10**18), 0))
def test_a_clock_that_went_back_counts_as_no_time(elapsed: int) -> None:
    assert halved(elapsed, WEEK_NS) == 1


def test_nothing_is_left_after_sixty_four_half_lives() -> None:
    assert halved(MAX_EXPONENT * WEEK_NS, WEEK_NS) == 0
    assert halved(MAX_EXPONENT * WEEK_NS - 1, WEEK_NS) > 0


def test_a_half_life_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="R8"):
        halved(1, 0)


@given(st.fractions(-20, 20, max_denominator=1000))
def test_doubling_is_the_same_curve_as_halving(exponent: Fraction) -> None:
    assert doubled(exponent + 1) == 2 * doubled(exponent)
    assert doubled(-abs(exponent)) == halved(abs(exponent).numerator, abs(exponent).denominator)


def test_doubling_stops_at_a_bound() -> None:
    assert doubled(Fraction(10**9)) == 2**MAX_EXPONENT
