"""The arithmetic of the benchmarks of decisions, and results that go on later."""

import argparse
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.lossy.__main__ import Row as LossyRow
from benchmarks.lossy.__main__ import least_cosine
from benchmarks.measuring.alone import held_out_regret
from benchmarks.measuring.proportion import clopper_pearson
from benchmarks.measuring.results import Results, Row
from benchmarks.noise.__main__ import PAIRS, pairs_until_caught
from benchmarks.truth.summary import geometric_mean, percentile


@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [  # published examples of the exact interval
        (0, 10, 0.0, 0.3085),
        (10, 10, 0.6915, 1.0),
        (5, 20, 0.0866, 0.4910),
        (2, 200, 0.0012, 0.0357),
        (0, 200, 0.0, 0.0183),
    ],
)
def test_the_exact_interval_of_a_share(hits: int, trials: int, low: float, high: float) -> None:
    assert clopper_pearson(hits, trials) == pytest.approx((low, high), abs=1e-4)


@given(st.integers(1, 300), st.data())
def test_the_interval_holds_the_share_and_turns_around_with_it(
    trials: int, data: st.DataObject
) -> None:
    hits = data.draw(st.integers(0, trials))
    low, high = clopper_pearson(hits, trials)
    assert low <= hits / trials <= high
    mirrored = clopper_pearson(trials - hits, trials)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=1e-9)


@pytest.mark.parametrize(("hits", "trials"), [(0, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(hits: int, trials: int) -> None:
    with pytest.raises(ValueError, match="hits of trials"):
        clopper_pearson(hits, trials)


def test_a_choice_of_the_best_plan_regrets_nothing_and_luck_does_not_count() -> None:
    times = {"a": [10.0, 10.0, 10.0, 10.0], "b": [8.0, 12.0, 8.0, 12.0], "c": [20.0] * 4}
    assert held_out_regret(times, "a") == pytest.approx((10 / 12 + 10 / 10) / 2)
    assert held_out_regret(times, "c") == pytest.approx((20 / 12 + 20 / 10) / 2)


def test_means_and_percentiles() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    values = [float(one) for one in range(1, 101)]
    assert (percentile(values, 0.95), percentile(values, 1.0), percentile([3.0], 0.95)) == (
        95.0,
        100.0,
        3.0,
    )


def test_a_plan_that_is_slower_is_caught_and_one_that_is_not_is_not() -> None:
    assert pairs_until_caught([1000.0] * PAIRS, [1100.0] * PAIRS) == 15
    assert pairs_until_caught([1000.0] * PAIRS, [900.0] * PAIRS) is None


def options(path: Path, minutes: float | None = None) -> argparse.Namespace:
    return argparse.Namespace(json=path, minutes=minutes)


def test_results_go_on_where_they_ended(tmp_path: Path) -> None:
    path, done = tmp_path / "found.json", []

    def task(number: int) -> Row:
        done.append(number)
        if number == 1:
            raise ValueError("broken")
        return {"number": number}

    def tasks(count: int) -> list[tuple[str, Callable[[], Row]]]:
        return [(f"task {number}", partial(task, number)) for number in range(count)]

    first = Results.begun("aa", options(path), trials=4)
    first.carry_out(tasks(2), 4, str)
    second = Results.begun("aa", options(path), trials=4)
    second.carry_out(tasks(4), 4, str)
    assert done == [0, 1, 2, 3], "nothing twice, the failure neither"
    assert [row["number"] for row in second.good] == [0, 2, 3]
    document = json.loads(path.read_text())
    assert document["rows"][1]["error"] == "ValueError: broken"
    assert document["machine"]["onnxruntime"]


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "found.json"
    Results.begun("aa", options(path), trials=4).write({})
    with pytest.raises(SystemExit, match="settings"):
        Results.begun("aa", options(path), trials=5)
    with pytest.raises(SystemExit, match="benchmark"):
        Results.begun("power", options(path), trials=4)


def test_nothing_begins_when_the_time_is_over(tmp_path: Path) -> None:
    results = Results.begun("aa", options(tmp_path / "found.json", minutes=-1.0))
    results.carry_out([("never", dict)], 1, str)
    assert results.rows == []


@pytest.mark.parametrize(
    ("got", "labels", "expected"),
    [
        ([[3.0, 4.0], [0.0, 0.0]], [1], 1.0),
        ([[4.0, 3.0], [0.0, 0.0]], [1], 0.96),
        ([[-3.0, -4.0], [0.0, 0.0]], [1], -1.0),
        ([[3.0, 4.0]], [1], -1.0),
        ([[3.0, 4.0], [0.0, 0.0]], [2], -1.0),
    ],
)
def test_a_cosine_is_that_of_the_worst_vector_and_labels_must_be_equal(
    got: list[list[float]], labels: list[int], expected: float, tmp_path: Path
) -> None:
    plain, other = tmp_path / "plain.npz", tmp_path / "other.npz"
    vectors = np.asarray([[3.0, 4.0], [0.0, 0.0]], np.float32)
    np.savez(plain, vectors=vectors, labels=np.asarray([1]))
    np.savez(other, vectors=np.asarray(got, np.float32), labels=np.asarray(labels))
    assert least_cosine(plain, other) == pytest.approx(expected)


@pytest.mark.parametrize(("speedup", "cosine"), [(1.69, 1.0), (3.0, 0.989)])
def test_a_lossy_plan_must_be_both_fast_and_near(speedup: float, cosine: float) -> None:
    met = LossyRow("case", "tuned", "plan", 1.0, 1.7, 0.99, 0.5, "")
    assert met.meets_target
    missed = LossyRow("case", "tuned", "plan", 1.0, speedup, cosine, 1.0, "")
    assert not missed.meets_target
