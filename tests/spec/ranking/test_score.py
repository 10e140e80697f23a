"""The five terms and their weighted sum (R4 to R7, R9, R10, R13)."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking import SizeRange, Terms, Weights, score
from spec.ranking.score import cache_term, share_of_unit, switching_term
from tests.spec.ranking.sample_kernels import shares, size_ranges

terms: st.SearchStrategy[Terms] = st.builds(Terms, shares, shares, shares, shares, shares)


@st.composite
def weights(draw: st.DrawFn) -> Weights:
    parts = draw(st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any))
    return Weights(*(Fraction(part, sum(parts)) for part in parts))


def test_the_default_weights_are_40_20_20_15_and_5_percent() -> None:
    assert Weights() == Weights(
        Fraction(40, 100),
        Fraction(20, 100),
        Fraction(20, 100),
        Fraction(15, 100),
        Fraction(5, 100),
    )


def test_weights_that_do_not_sum_to_one_are_refused() -> None:
    with pytest.raises(InvalidValue, match="sum of 21/20"):
        Weights(switching=Fraction(1, 10))
    with pytest.raises(InvalidValue, match="R10"):
        Weights(Fraction(-1, 10), Fraction(7, 10))


@given(terms, weights())
def test_a_score_lies_between_its_worst_and_its_best_term(all_five: Terms, some: Weights) -> None:
    values = [
        all_five.execution_time,
        all_five.memory,
        all_five.cache_efficiency,
        all_five.history,
        all_five.switching,
    ]
    assert min(values) <= score(all_five, some) <= max(values)


@given(shares)
def test_each_weight_is_what_its_term_adds_from_worst_to_best(share: Fraction) -> None:
    default = Weights()
    expected = [
        default.execution_time,
        default.memory,
        default.cache_efficiency,
        default.history,
        default.switching,
    ]
    for position, weight in enumerate(expected):
        low = Terms(*(Fraction(0) if p == position else share for p in range(5)))
        high = Terms(*(Fraction(1) if p == position else share for p in range(5)))
        assert score(high, default) - score(low, default) == weight


def test_a_term_out_of_bounds_is_refused() -> None:
    with pytest.raises(InvalidValue, match="R9"):
        Terms(Fraction(1), Fraction(1), Fraction(1), Fraction(1), Fraction(-1, 20))


@given(st.integers(0, 10**15), st.integers(1, 10**15), st.integers(1, 10**6))
def test_cost_terms_are_shares_that_fall_with_cost_and_ignore_the_unit_of_measure(
    amount: int, unit: int, factor: int
) -> None:
    value = share_of_unit(amount, unit)
    assert 0 < value <= 1
    assert share_of_unit(amount + 1, unit) < value
    assert share_of_unit(amount * factor, unit * factor) == value


def test_one_unit_scores_a_half() -> None:
    assert share_of_unit(10, 10) == Fraction(1, 2)
    assert share_of_unit(0, 10) == 1
    for amount, unit in ((-1, 10), (1, 0)):
        with pytest.raises(InvalidValue, match="R4"):
            share_of_unit(amount, unit)


def test_microseconds_weigh_when_the_unit_fits_and_vanish_when_it_is_a_second() -> None:
    fitting = share_of_unit(10_000, 10_000) - share_of_unit(20_000, 10_000)
    seconds = share_of_unit(10_000, 10**9) - share_of_unit(20_000, 10**9)
    assert fitting == Fraction(1, 6)
    assert seconds < Fraction(1, 50_000)


@given(shares, size_ranges, st.integers(0, 10_000))
def test_the_cache_term_is_the_stated_efficiency_inside_the_range_and_less_outside(
    efficiency: Fraction, optimal: SizeRange, size: int
) -> None:
    value = cache_term(efficiency, optimal, size)
    assert 0 <= value <= efficiency
    assert optimal.at_most_bytes is not None
    inside = optimal.at_least_bytes <= size <= optimal.at_most_bytes
    assume(efficiency > 0)
    assert (value == efficiency) == inside


def test_twice_the_optimal_size_and_half_of_it_each_halve_the_cache_term() -> None:
    for size in (50, 400):
        assert cache_term(Fraction(1), SizeRange(100, 200), size) == Fraction(1, 2)
    assert cache_term(Fraction(1), SizeRange(100), 10**12) == 1


def test_only_replacing_a_served_plan_costs() -> None:
    assert switching_term("a", None) == 1
    assert switching_term("a", "a") == 1
    assert switching_term("a", "b") == 0
