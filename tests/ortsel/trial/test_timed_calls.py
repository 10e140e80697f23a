"""The loop that times calls, with clocks that are told what to say."""

from collections.abc import Callable

import pytest
from attrs import define, field
from hypothesis import given
from hypothesis import strategies as st

from ortsel.trial.limits import MILLISECOND_NS, TrialLimits
from ortsel.trial.rig import calls_for
from ortsel.trial.worker import LOOK_NS, spaced_calls, timed_calls

READING_NS = 200
"""More than what reading a clock and turning the loop takes on slow machines."""


@define
class World:
    """Time passes in calls, in sleep, and in nothing else."""

    now_ns: int = 0
    reads: int = 0
    called: list[int] = field(factory=list)

    def clock(self) -> int:
        self.reads += 1
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)

    def taking(self, number: int, latency_ns: int) -> Callable[[], None]:
        def call() -> None:
            self.now_ns += latency_ns
            self.called.append(number)

        return call


@given(st.integers(5_000, 10**9))
def test_reading_the_clock_stays_below_a_hundredth_of_a_measurement(latency_ns: int) -> None:
    world, limits = World(), TrialLimits()
    calls = calls_for(latency_ns, limits)
    done, total_ns = timed_calls([world.taking(0, latency_ns)], calls, 10**12, world.clock)
    assert (done, total_ns) == (calls, calls * latency_ns)
    assert world.reads * READING_NS * 100 <= total_ns


def test_a_clock_read_after_every_short_call_would_be_over_a_hundredth() -> None:
    assert READING_NS * 100 > 5_000, "what the batches are for"
    assert READING_NS * 100 <= LOOK_NS


@given(st.integers(1, 300), st.integers(1, 5), st.integers(1, 10**6))
def test_feeds_take_turns_whatever_the_batches_are(calls: int, feeds: int, latency_ns: int) -> None:
    world = World()
    callers = [world.taking(number, latency_ns) for number in range(feeds)]
    assert timed_calls(callers, calls, 10**12, world.clock)[0] == calls
    assert world.called == [number % feeds for number in range(calls)]


def test_a_plan_that_is_much_slower_than_thought_ends_its_measurement_early() -> None:
    world = World()
    done, total_ns = timed_calls(
        [world.taking(0, 30 * MILLISECOND_NS)], 1000, 100 * MILLISECOND_NS, world.clock
    )
    assert (done, total_ns) == (4, 120 * MILLISECOND_NS)


@given(st.integers(1, 20), st.integers(1, 10**9), st.integers(10**6, 10**9))
def test_gaps_between_calls_are_kept_and_not_timed(
    calls: int, latency_ns: int, gap_ns: int
) -> None:
    world = World()
    callers = [world.taking(number, latency_ns) for number in range(2)]
    found = spaced_calls(callers, calls, 10**12, gap_ns, world.clock, world.sleep)
    assert found == (calls, calls * latency_ns)
    assert world.now_ns == pytest.approx(calls * (latency_ns + gap_ns), abs=calls)
    assert world.called == [number % 2 for number in range(calls)]


def test_gaps_take_of_the_room_of_a_measurement() -> None:
    limits = TrialLimits(calls_least=1)
    assert calls_for(MILLISECOND_NS, limits) == 20
    assert calls_for(MILLISECOND_NS, limits, 50 * MILLISECOND_NS) == 4
    assert calls_for(MILLISECOND_NS, limits, 1000 * MILLISECOND_NS) == 1
