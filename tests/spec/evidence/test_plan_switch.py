"""Switching between two plans that trade places with the machine's state (E9)."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence.plan_switch import (
    MOST_DOUBLINGS,
    PlanSwitch,
    RecordedPlan,
    Serving,
    SwitchRule,
    trade_places,
)

TWO = RecordedPlan("threads=2", 12_000_000, 26_000_000)
ONE = RecordedPlan("threads=1", 19_500_000, 19_500_000)
SWITCH = PlanSwitch((TWO, ONE))
MS = 1_000_000

TIMES = st.integers(1, 10**9)
RULES = st.builds(
    SwitchRule, st.integers(1, 5), st.integers(1, 5000).map(lambda ms: ms * MS), st.just(2000 * MS)
)


@st.composite
def switches(draw: st.DrawFn) -> PlanSwitch:
    """Two plans that trade places, one of which at least tells."""
    one = RecordedPlan("a", draw(TIMES), draw(TIMES))
    other = RecordedPlan("b", draw(TIMES), draw(TIMES))
    assume(trade_places(one, other) and (one.tells or other.tells))
    return PlanSwitch((one, other), draw(RULES))


def moments(switch: PlanSwitch, latencies: list[tuple[int, int]], plan: int = 0) -> list[int]:
    """Moments of the switches over steps of (time since the last, latency)."""
    serving, now, found = Serving(plan, 0), 0, []
    for step, latency_ns in latencies:
        now += step
        after = switch.observed(serving, now, latency_ns)
        found += [now] if after.plan != serving.plan else []
        serving = after
    return found


STEPS = st.lists(st.tuples(st.integers(0, 2000 * MS), TIMES), max_size=60)


@given(switches(), STEPS)
def test_no_period_has_more_than_two_switches(
    switch: PlanSwitch, steps: list[tuple[int, int]]
) -> None:
    found = moments(switch, steps)
    pairs = zip(found, found[2:], strict=False)
    assert all(third - first >= switch.rule.period_ns for first, third in pairs)


def test_a_machine_that_flips_at_once_meets_the_limit() -> None:
    rule = SwitchRule(agree=1, period_ns=100 * MS, look_ns=1)
    found = moments(PlanSwitch((TWO, ONE), rule), [(MS, 26 * MS)] * 1000)
    assert 10 < len(found) <= 21


@given(switches(), st.integers(0, 1), st.lists(st.integers(0, 10**10), max_size=40), st.data())
def test_a_plan_whose_latencies_say_that_it_is_the_faster_one_stays(
    switch: PlanSwitch, plan: int, steps: list[int], data: st.DataObject
) -> None:
    assume(switch.plans[plan].tells)
    best = next(state for state in (0, 1) if switch.best_in(state) == plan)
    near = switch.plans[plan].in_state(best)
    latencies = [(step, near) for step in steps]
    assert moments(switch, latencies, plan) == []


@given(switches(), STEPS)
def test_the_order_of_plans_plays_no_part(switch: PlanSwitch, steps: list[tuple[int, int]]) -> None:
    mirrored = PlanSwitch((switch.plans[1], switch.plans[0]), switch.rule)
    assert moments(switch, steps, 0) == moments(mirrored, steps, 1)


@given(switches(), STEPS)
def test_the_names_of_states_play_no_part(switch: PlanSwitch, steps: list[tuple[int, int]]) -> None:
    one, other = (RecordedPlan(p.name, p.second_ns, p.first_ns) for p in switch.plans)
    assert moments(switch, steps) == moments(PlanSwitch((one, other), switch.rule), steps)


LONGEST_WAIT_S = SWITCH.rule.look_ns * 2**MOST_DOUBLINGS // 10**9


@given(st.lists(st.integers(LONGEST_WAIT_S, 60), min_size=2, max_size=8))
def test_two_clear_states_that_last_are_served_faster_than_by_either_plan(
    stays_s: list[int],
) -> None:
    """No state ends before even the longest wait for a look at the other plan is over."""
    serving, now = Serving(0, 0), 0
    took, fixed = 0, [0, 0]
    for place, stay_s in enumerate(stays_s):
        until = now + stay_s * 1000 * MS
        while now < until:
            times = [plan.in_state(place % 2) for plan in SWITCH.plans]
            took += times[serving.plan]
            fixed = [fixed[0] + times[0], fixed[1] + times[1]]
            now += 100 * MS
            serving = SWITCH.observed(serving, now, times[serving.plan])
    assert took < min(fixed)


def test_one_slow_call_is_an_accident_and_three_are_a_state() -> None:
    slow, fast = (MS, 26 * MS), (MS, 12 * MS)
    assert moments(SWITCH, [slow, slow, fast] * 20) == []
    assert len(moments(SWITCH, [slow, slow, slow])) == 1


def test_looks_that_find_nothing_become_rare() -> None:
    serving, now, looks = Serving(1, 0), 0, []
    for _ in range(2000):
        now += 20 * MS
        latency = SWITCH.plans[serving.plan].in_state(1)
        after = SWITCH.observed(serving, now, latency)
        looks += [now] if (serving.plan, after.plan) == (1, 0) else []
        serving = after
    gaps = [after - before for before, after in pairwise(looks)]
    assert len(gaps) >= 3
    assert gaps[-1] >= 16_000 * MS > 3 * gaps[0]
    assert gaps == sorted(gaps)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TWO, TWO),
        (TWO, RecordedPlan("b", 11_000_000, 20_000_000)),
        (TWO, RecordedPlan("b", 12_000_000, 20_000_000)),
        (RecordedPlan("a", 10, 12), RecordedPlan("b", 11, 11)),
    ],
)
def test_plans_that_cannot_be_switched_are_refused(
    first: RecordedPlan, second: RecordedPlan
) -> None:
    with pytest.raises(InvalidValue, match="E9"):
        PlanSwitch((first, second))


@pytest.mark.parametrize("value", [0, -1])
def test_a_rule_without_limits_is_refused(value: int) -> None:
    with pytest.raises(InvalidValue, match="whole number"):
        SwitchRule(agree=value)
    with pytest.raises(InvalidValue, match="whole number"):
        SwitchRule(period_ns=value)
    with pytest.raises(InvalidValue, match="whole number"):
        RecordedPlan("a", value, 1)
