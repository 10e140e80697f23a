"""Median and relative MAD are exact and defined for every count (S13)."""

import statistics
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence.decimal_text import decimal_text
from spec.evidence.order_statistics import median, relative_mad

RATIOS = st.fractions(min_value=Fraction(1, 1000), max_value=Fraction(1000), max_denominator=10**12)
SAMPLES = st.lists(RATIOS, min_size=1, max_size=40)


def test_the_median_of_an_odd_count_is_the_middle_value() -> None:
    assert median([Fraction(9), Fraction(1, 3), Fraction(2)]) == 2


def test_the_median_of_an_even_count_is_the_exact_mean_of_the_two_middle_values() -> None:
    values = [Fraction(1, 3), Fraction(1, 7), Fraction(100), Fraction(0)]
    assert median(values) == Fraction(5, 21)


def test_the_median_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="values: got none, need at least 1 value"):
        median([])


@given(SAMPLES)
def test_the_median_agrees_with_the_standard_library(values: list[Fraction]) -> None:
    assert median(values) == statistics.median(values)


@given(SAMPLES, st.integers())
def test_the_order_of_values_plays_no_part(values: list[Fraction], seed: int) -> None:
    shuffled = Random(seed).sample(values, len(values))
    assert median(shuffled) == median(values)
    assert relative_mad(shuffled) == relative_mad(values)


def test_values_that_a_float_cannot_tell_apart_are_still_put_in_order() -> None:
    tiny = Fraction(1, 10**40)
    values = [1 + 2 * tiny, 1 + 3 * tiny, 1 + tiny]
    assert len({float(value) for value in values}) == 1, "pointless unless floats collapse them"
    assert median(values) == 1 + 2 * tiny


def test_neighbours_with_different_large_denominators_are_put_in_order() -> None:
    large = 2**20
    values = [Fraction(1, large + step) for step in (3, 1, 5, 2, 4)]
    assert median(values) == Fraction(1, large + 3)
    assert median(values[::-1]) == Fraction(1, large + 3)


def test_the_relative_mad_is_the_median_deviation_over_the_median() -> None:
    values = [Fraction(1), Fraction(2), Fraction(4)]
    assert relative_mad(values) == Fraction(1, 2)


def test_one_wild_value_does_not_move_the_relative_mad() -> None:
    calm = [Fraction(99), Fraction(100), Fraction(100), Fraction(101)]
    assert relative_mad([*calm, Fraction(10**9)]) == Fraction(1, 100)


@given(SAMPLES, st.fractions(min_value=Fraction(1, 100), max_value=Fraction(100)))
def test_the_relative_mad_does_not_depend_on_the_unit(
    values: list[Fraction], unit: Fraction
) -> None:
    assert relative_mad([value * unit for value in values]) == relative_mad(values)


@given(st.lists(RATIOS, min_size=1, max_size=1))
def test_a_single_value_has_no_deviation(values: list[Fraction]) -> None:
    assert relative_mad(values) == 0


def test_a_relative_mad_about_zero_is_refused() -> None:
    with pytest.raises(InvalidValue, match="median of 0, need > 0"):
        relative_mad([Fraction(0)])


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (Fraction(0), "0.0000"),
        (Fraction(2, 3), "0.6667"),
        (Fraction(100, 103), "0.9709"),
        (Fraction(12345, 100000), "0.1234"),
        (Fraction(12355, 100000), "0.1236"),
        (Fraction(99999, 100000), "1.0000"),
        (Fraction(31, 10), "3.1000"),
    ],
)
def test_messages_round_half_to_even_at_four_decimals(ratio: Fraction, text: str) -> None:
    assert decimal_text(ratio) == text
