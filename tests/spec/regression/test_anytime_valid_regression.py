"""Bets opened before every pair: bounded, valid under peeking, quick after a change (S10)."""

from collections.abc import Iterable
from fractions import Fraction
from itertools import repeat
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence.betting import STAKES_AND_WEIGHTS
from spec.regression import (
    AnytimeValidRegression,
    Degraded,
    Holds,
    RegressionHistory,
    WindowMedian,
    observe,
)
from spec.regression.anytime_valid import RATIOS_HELD, UNIT
from spec.regression.rule import RegressionRule
from tests.spec.evidence.binomial import most_hits

RULE = AnytimeValidRegression()
RATE = RULE.false_alarm_rate
SIGNS = st.lists(st.booleans(), max_size=60)


def pairs_to_alarm(rule: RegressionRule, selected_ns: Iterable[int]) -> int | None:
    history = RegressionHistory()
    for seen, one in enumerate(selected_ns, start=1):
        history, verdict = observe(rule, history, 1000, one)
        if isinstance(verdict, Degraded):
            return seen
    return None


def exact_wealth(signs: list[bool]) -> Fraction:
    """Return the sum of all bets, each opened with 1 before its pair, without rounding."""
    total = Fraction(0)
    for quarters, weight in STAKES_AND_WEIGHTS:
        for opened in range(len(signs)):
            bet = Fraction(weight, 4)
            for over in signs[opened:]:
                bet *= 1 + Fraction(quarters if over else -quarters, 4)
            total += bet
    return total


def held_wealth(history: RegressionHistory) -> Fraction:
    held = sum(
        weight * one for one, (_, weight) in zip(history.wealth, STAKES_AND_WEIGHTS, strict=True)
    )
    return Fraction(held, 4 * UNIT)


@given(SIGNS)
def test_the_state_is_the_sum_of_all_bets_rounded_down_a_little(signs: list[bool]) -> None:
    rule = AnytimeValidRegression(false_alarm_rate=Fraction(1, 10**6), horizon=2**32)
    history = RegressionHistory()
    for seen, over in enumerate(signs, start=1):
        history, verdict = observe(rule, history, 1000, 1001 if over else 1000)
        exact = exact_wealth(signs[:seen])
        if isinstance(verdict, Degraded):
            assert exact * rule.false_alarm_rate >= rule.horizon, "rounding never makes an alarm"
            break
        assert exact * (1 - Fraction(seen, 2**24)) <= held_wealth(history) <= exact


def test_a_choice_that_turns_slow_is_found_however_long_it_held() -> None:
    for held in (0, 100, 5000):
        fast_then_slow = [900] * held + [1100] * 100
        assert pairs_to_alarm(RULE, fast_then_slow) == held + 15


def test_the_alarm_says_how_slow_it_has_become_and_starts_anew() -> None:
    history = RegressionHistory()
    verdict: object = Holds()
    for one in [900] * 20 + [1250] * 15:
        history, verdict = observe(RULE, history, 1000, one)
    assert verdict == Degraded(Fraction(5, 4), 35)
    assert history == RegressionHistory()


def test_a_pair_at_exactly_the_limit_counts_for_the_choice() -> None:
    rule = AnytimeValidRegression(ratio=Fraction(11, 10))
    assert pairs_to_alarm(rule, [1100] * 200) is None
    assert pairs_to_alarm(rule, [1101] * 200) == 15


def test_a_stricter_rate_or_a_longer_horizon_costs_pairs() -> None:
    strict = AnytimeValidRegression(false_alarm_rate=RATE / 16)
    long = AnytimeValidRegression(horizon=16 * RULE.horizon)
    slow = [2000] * 100
    assert pairs_to_alarm(strict, slow) == pairs_to_alarm(long, slow) == 19


@given(st.lists(st.integers(min_value=1, max_value=10**12), max_size=200))
def test_the_memory_is_bounded_whatever_is_observed(selected_ns: list[int]) -> None:
    history = RegressionHistory()
    limit = UNIT * RULE.horizon * 4 / RATE
    for one in selected_ns:
        history, _ = observe(RULE, history, 10**9, one)
        assert len(history.ratios) <= RATIOS_HELD
        assert len(history.wealth) in (0, len(STAKES_AND_WEIGHTS))
        assert all(0 <= held < limit for held in history.wealth)


def null_alarms(rule: RegressionRule, experiments: int, pairs: int) -> int:
    """Watch choices whose median ratio is exactly the limit, with heavy tails, pair by pair."""
    alarms = 0
    for seed in range(experiments):
        source = Random(seed)
        times = (round(1000 * source.lognormvariate(0, 1)) or 1 for _ in repeat(None, pairs))
        alarms += pairs_to_alarm(rule, times) is not None
    return alarms


def test_a_choice_that_holds_seldom_alarms_within_the_horizon() -> None:
    rule = AnytimeValidRegression(false_alarm_rate=Fraction(1, 20))
    alarms = null_alarms(rule, 200, rule.horizon)
    assert 0 < alarms <= most_hits(200, 1 / 20)


def test_the_window_rule_alarms_far_oftener_on_the_same_choices() -> None:
    alarms = null_alarms(WindowMedian(pairs=9), 200, RULE.horizon)
    assert alarms > most_hits(200, 1 / 20)


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_ten_thousand_choices_that_hold_keep_the_rate_over_the_horizon() -> None:
    alarms = null_alarms(RULE, 10_000, RULE.horizon)
    assert 0 < alarms <= most_hits(10_000, float(RATE)), f"{alarms} of 10,000 alarmed"


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1), 0.01])
def test_a_rate_out_of_range_or_inexact_is_refused(rate: object) -> None:
    with pytest.raises(InvalidValue, match="false_alarm_rate: got"):
        AnytimeValidRegression(false_alarm_rate=cast("Fraction", rate))


@pytest.mark.parametrize("horizon", [0, 2**32 + 1, True])
def test_a_horizon_out_of_range_is_refused(horizon: int) -> None:
    with pytest.raises(InvalidValue, match="horizon: got"):
        AnytimeValidRegression(horizon=horizon)


@pytest.mark.parametrize("ratio", [Fraction(1, 2), Fraction(100), 1.05])
def test_a_limit_out_of_range_or_inexact_is_refused(ratio: object) -> None:
    with pytest.raises(InvalidValue, match="ratio: got"):
        AnytimeValidRegression(ratio=cast("Fraction", ratio))
