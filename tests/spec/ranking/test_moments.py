"""Mean and variance are exact (R14)."""

from fractions import Fraction
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking import Moments
from tests.spec.ranking.sample_kernels import latencies_ns

samples = st.lists(latencies_ns, min_size=1, max_size=30)


def moments(latencies: list[int]) -> Moments:
    result = Moments()
    for latency in latencies:
        result = result.add(latency)
    return result


@given(samples)
def test_running_moments_equal_the_direct_computation_and_welfords_recurrence(
    latencies: list[int],
) -> None:
    running = moments(latencies)
    mean = Fraction(sum(latencies), len(latencies))
    assert running.mean_ns == mean
    assert running.variance_ns2 == sum((one - mean) ** 2 for one in latencies) / len(latencies)
    welford_mean, welford_sum = Fraction(0), Fraction(0)
    for count, one in enumerate(latencies, start=1):
        step = one - welford_mean
        welford_mean += step / count
        welford_sum += step * (one - welford_mean)
    assert (running.mean_ns, running.variance_ns2) == (welford_mean, welford_sum / len(latencies))


@given(samples, samples)
def test_two_halves_merge_to_the_whole_in_either_order(one: list[int], other: list[int]) -> None:
    assert moments(one).merge(moments(other)) == moments(other + one)


@given(samples)
def test_rounded_values_are_the_nearest_whole_numbers_halves_up(latencies: list[int]) -> None:
    running = moments(latencies)
    half = Fraction(1, 2)
    assert -half < running.rounded_mean_ns - running.mean_ns <= half
    deviation = running.rounded_deviation_ns
    assert max(Fraction(0), deviation - half) ** 2 <= running.variance_ns2
    assert running.variance_ns2 < (deviation + half) ** 2


def test_the_mean_is_not_the_last_latency() -> None:
    assert moments([10, 10, 100]).rounded_mean_ns == 40
    assert moments([1, 2]).rounded_mean_ns == 2, "a half goes up"
    assert moments([1, 2]).rounded_deviation_ns == 1, "a half goes up"
    assert moments([7]).rounded_deviation_ns == 0


def test_the_deviation_is_that_of_the_population() -> None:
    assert moments([2, 4]).variance_ns2 == 1
    assert sqrt(moments([100, 300]).variance_ns2) == moments([100, 300]).rounded_deviation_ns


def test_nothing_measured_has_no_mean_and_no_time_is_no_measurement() -> None:
    with pytest.raises(InvalidValue, match="R14"):
        _ = Moments().mean_ns
    with pytest.raises(InvalidValue, match="R14"):
        Moments().add(0)
