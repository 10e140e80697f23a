"""Which calls are looked at: often at first, then rarely, within a share of the time."""

import time

import pytest

from ortsel.watch.sampling import BACK_OFF, NEVER, SKIPPED_NS, Sampling, WatchSchedule
from spec.policy import SECOND_NS

NOW = time.monotonic_ns()
EVERY = 300 * SECOND_NS
CHECKED = WatchSchedule(0.5, EVERY, 0)


def test_the_first_call_is_due_and_then_none_until_it_was_looked_at() -> None:
    sampling = Sampling(CHECKED, NOW)
    assert sampling.is_due(1, NOW)
    assert sampling.claim(1, NOW)
    assert not sampling.claim(2, NOW)
    assert not sampling.is_due(10**6, NOW + EVERY)
    assert sampling.at_use == NEVER
    sampling.again(0)
    assert sampling.is_due(10**6, time.monotonic_ns())


def test_looks_come_after_twice_as_many_calls_each_time() -> None:
    sampling = Sampling(CHECKED, NOW)
    looked = []
    for use in range(1, 70):
        if sampling.claim(use, time.monotonic_ns()):
            looked.append(use)
            sampling.again(0)
    assert looked == [1, 3, 7, 15, 31, 63]


def test_a_look_that_cost_much_keeps_the_next_one_away() -> None:
    sampling = Sampling(CHECKED, NOW)
    assert sampling.claim(1, NOW)
    sampling.again(10 * SECOND_NS)
    assert not sampling.is_due(10**9, time.monotonic_ns() + 19 * SECOND_NS)
    assert sampling.is_due(10**9, time.monotonic_ns() + 21 * SECOND_NS)


def test_a_look_that_came_to_nothing_stays_away_for_a_while() -> None:
    sampling = Sampling(CHECKED, NOW)
    assert sampling.claim(1, NOW)
    sampling.later()
    assert not sampling.is_due(10**9, time.monotonic_ns() + SKIPPED_NS // 2)
    assert sampling.is_due(10**9, time.monotonic_ns() + 2 * SKIPPED_NS)


def test_a_shape_that_is_called_rarely_is_looked_at_by_the_clock() -> None:
    sampling = Sampling(CHECKED, NOW)
    for use in (1, 3, 7):
        assert sampling.claim(use, time.monotonic_ns())
        sampling.again(0)
    assert not sampling.is_due(8, time.monotonic_ns())
    assert sampling.is_due(8, time.monotonic_ns() + EVERY + SECOND_NS)


def test_rounds_of_timing_come_ever_more_rarely_and_soon_again_where_one_looked_bad() -> None:
    sampling = Sampling(WatchSchedule(0.0, EVERY, SECOND_NS), NOW)
    assert not sampling.is_due(10**9, NOW), "without checks only the clock counts"
    assert sampling.is_due(1, NOW + SECOND_NS)
    for doubled in (2, 4, 8, BACK_OFF, BACK_OFF):
        sampling.replayed(holds=True)
        now_ns = time.monotonic_ns()
        assert not sampling.replay_is_due(now_ns + doubled * SECOND_NS - SECOND_NS // 2)
        assert sampling.replay_is_due(now_ns + doubled * SECOND_NS)
    sampling.replayed(holds=False)
    assert sampling.replay_is_due(time.monotonic_ns() + SECOND_NS)


@pytest.mark.parametrize("schedule", [CHECKED, WatchSchedule(0.0, EVERY, SECOND_NS)])
def test_a_claim_without_an_outcome_lets_nobody_else_in(schedule: WatchSchedule) -> None:
    sampling = Sampling(schedule, NOW)
    late_ns = NOW + 2 * SECOND_NS
    assert sampling.claim(1, late_ns)
    assert not sampling.claim(2, late_ns + EVERY)
