"""The window rule: a full window whose median is over the limit (S10)."""

from collections.abc import Sequence
from fractions import Fraction
from statistics import median
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.regression import (
    Degraded,
    Holds,
    RegressionHistory,
    RegressionVerdict,
    WindowMedian,
    observe,
)

RULE = WindowMedian(pairs=3, ratio=Fraction(11, 10))
SELECTED_NS = st.lists(st.integers(min_value=50, max_value=200), max_size=40)


def watch(
    rule: WindowMedian, selected_ns: Sequence[int]
) -> list[tuple[RegressionHistory, RegressionVerdict]]:
    history, steps = RegressionHistory(), []
    for one in selected_ns:
        history, verdict = observe(rule, history, 100, one)
        steps.append((history, verdict))
    return steps


def test_a_full_window_with_its_median_over_the_limit_is_degraded() -> None:
    history, verdict = watch(RULE, [90, 111, 120])[-1]
    assert verdict == Degraded(Fraction(111, 100), 3)
    assert history == RegressionHistory(), "the history starts anew"


def test_a_window_that_is_not_full_says_nothing_however_slow_it_is() -> None:
    assert [verdict for _, verdict in watch(RULE, [900, 900])] == [Holds(), Holds()]


def test_a_median_at_exactly_the_limit_holds() -> None:
    assert watch(RULE, [110, 110, 110])[-1][1] == Holds()


def test_one_slow_pair_does_not_cost_the_choice_its_place() -> None:
    assert all(verdict == Holds() for _, verdict in watch(RULE, [90, 90, 9000, 90, 90]))


def test_pairs_beyond_the_window_are_forgotten_oldest_first() -> None:
    history, _ = watch(RULE, [60, 70, 80, 90])[-1]
    assert history.ratios == (Fraction(7, 10), Fraction(8, 10), Fraction(9, 10))
    assert history.observations == 4


@given(st.integers(min_value=1, max_value=9), SELECTED_NS)
def test_the_rule_is_its_definition_and_its_memory_is_bounded(
    pairs: int, selected_ns: list[int]
) -> None:
    rule = WindowMedian(pairs=pairs)
    since = 0
    for seen, (history, verdict) in enumerate(watch(rule, selected_ns), start=1):
        window = selected_ns[since:seen][-pairs:]
        slow = len(window) == pairs and median(map(Fraction, window)) > 100
        assert isinstance(verdict, Degraded) == slow
        assert len(history.ratios) <= pairs
        since = seen if slow else since


@pytest.mark.parametrize("times", [(0, 1), (1, 0), (-1, 1), (1, 1.5), (True, 1)])
def test_a_pair_without_two_positive_whole_times_is_refused(times: object) -> None:
    reference_ns, selected_ns = cast("tuple[int, int]", times)
    with pytest.raises(InvalidValue, match=r"_ns: got .* need whole nanoseconds > 0"):
        observe(RULE, RegressionHistory(), reference_ns, selected_ns)


@pytest.mark.parametrize("pairs", [0, 4097, True])
def test_a_window_out_of_range_is_refused(pairs: int) -> None:
    with pytest.raises(InvalidValue, match="pairs: got"):
        WindowMedian(pairs=pairs)


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(100), 1.05])
def test_a_limit_out_of_range_or_inexact_is_refused(ratio: object) -> None:
    with pytest.raises(InvalidValue, match="ratio: got"):
        WindowMedian(ratio=cast("Fraction", ratio))


def test_a_history_cannot_hold_more_than_was_observed() -> None:
    with pytest.raises(InvalidValue, match="ratios: got 1 of them, need at most 0"):
        RegressionHistory(0, (Fraction(1),))
