"""A benchmark result holds what was measured, and no more (R15)."""

from fractions import Fraction

import pytest
from attrs import fields
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking import BenchmarkResult, best
from tests.spec.ranking.sample_kernels import latencies_ns


@given(st.lists(latencies_ns, min_size=1, max_size=20), st.integers(0, 2**40))
def test_every_figure_follows_from_the_latencies(latencies: list[int], bytes_moved: int) -> None:
    result = BenchmarkResult("k", "w", tuple(latencies), bytes_moved=bytes_moved)
    assert result.minimum_ns <= result.mean_ns <= result.maximum_ns
    assert result.deviation_ns <= result.maximum_ns - result.minimum_ns
    total = sum(latencies)
    assert result.throughput_per_s * total == len(latencies) * 10**9
    assert result.bandwidth_bytes_per_s == bytes_moved * result.throughput_per_s


def test_a_worked_example() -> None:
    result = BenchmarkResult("k", "w", (100, 300), bytes_moved=4)
    assert (result.mean_ns, result.minimum_ns, result.maximum_ns) == (200, 100, 300)
    assert result.deviation_ns == 100
    assert result.throughput_per_s == 5_000_000
    assert result.bandwidth_bytes_per_s == Fraction(20_000_000)


def test_nothing_unmeasured_is_reported() -> None:
    public = {name for name in dir(BenchmarkResult) if not name.startswith("_")}
    assert {one.name for one in fields(BenchmarkResult)} <= public
    assert not [name for name in public if "cache" in name or "hit" in name]


@pytest.mark.parametrize("latencies", [(), (0,), (5, -1)])
def test_there_is_no_result_without_a_measured_success(latencies: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue, match="R15"):
        BenchmarkResult("k", "w", latencies, failures=10)


def test_the_best_of_one_workload_is_unmoved_by_results_of_another() -> None:
    fast = BenchmarkResult("b", "w", (10,))
    slow = BenchmarkResult("a", "w", (11,))
    elsewhere = BenchmarkResult("a", "other", (1,))
    assert best((slow, fast, elsewhere), "w") == fast
    assert best((elsewhere, fast, slow), "w") == fast
    tied = BenchmarkResult("a", "w", (9, 11))
    assert best((fast, tied), "w") == tied
    for results in ((elsewhere,), (fast, fast)):
        with pytest.raises(InvalidValue, match="R15"):
            best(results, "w")
