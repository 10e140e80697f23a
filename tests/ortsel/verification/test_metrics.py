"""Outputs that a user's own measure accepts or not."""

from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ortsel.errors import UsageError
from ortsel.verification.comparison import Different, Equal, Incomparable, Kind, compare
from ortsel.verification.metrics import Cosine, Metric, MetricFunction, RelativeL2, TopOne
from ortsel.verification.tolerance import Tolerance

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
HERE = __name__

METRICS: tuple[Metric, ...] = (Cosine(1.0), TopOne(1.0), RelativeL2(1e-9))
vectors: st.SearchStrategy[Array] = npst.arrays(
    np.float32,
    npst.array_shapes(min_dims=1, max_dims=3, min_side=2, max_side=5),
    elements={"allow_nan": False, "allow_infinity": False, "allow_subnormal": True},
)


def compared(metric: Metric, reference: object, candidate: object) -> object:
    return compare([reference], [candidate], ["y"], Tolerance(metric))


def nearly(reference: Array, candidate: Array) -> float:
    return 1.0 - float(np.abs(reference - candidate).max())


def same_sum(reference: Array, candidate: Array) -> bool:
    return bool(reference.sum() == candidate.sum())


def failing(reference: Array, candidate: Array) -> bool:
    raise RuntimeError(reference.shape, candidate.shape)


@given(vectors, st.sampled_from(METRICS))
def test_every_metric_accepts_a_copy_however_large_or_small(array: Array, metric: Metric) -> None:
    assert compared(metric, array, array.copy()) == Equal()


@given(vectors, st.sampled_from(METRICS), st.sampled_from([np.nan, np.inf, -np.inf]))
def test_no_metric_excuses_a_special_value_at_another_place(
    array: Array, metric: Metric, special: float
) -> None:
    other = array.copy()
    other.reshape(-1)[-1] = special
    for pair in ((array, other), (other, array)):
        assert isinstance(compared(metric, *pair), Different)


@pytest.mark.parametrize("metric", METRICS)
def test_no_metric_excuses_another_type_or_shape(metric: Metric) -> None:
    row: Array = np.ones((1, 3), np.float32)
    for other in (row.astype(np.float64), np.ones((3, 3), np.float32), row[0]):
        found = compared(metric, row, other)
        assert isinstance(found, Different)
        assert found.kind in (Kind.DTYPE, Kind.SHAPE, Kind.RANK)


def test_the_lowest_cosine_decides() -> None:
    array = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.float32)
    turned = array.copy()
    turned[1] = [0.1, 1.0]
    lowest = 1.0 / np.hypot(0.1, 1.0)
    assert compared(Cosine(lowest - 1e-6), array, turned) == Equal()
    found = compared(Cosine(lowest + 1e-6), array, turned)
    assert isinstance(found, Different)
    assert (found.kind, "at vector 1" in found.what) == (Kind.METRIC, True)


def test_a_vector_of_zeros_points_like_zeros_alone() -> None:
    zeros: Array = np.zeros((1, 3), np.float32)
    assert compared(Cosine(1.0), zeros, zeros.copy()) == Equal()
    assert isinstance(compared(Cosine(0.1), zeros, zeros + 1), Different)
    assert isinstance(compared(Cosine(0.1), zeros + 1, zeros), Different)


def test_a_column_is_one_vector_and_a_single_number_is_none() -> None:
    column = np.array([[1.0], [2.0], [3.0]], np.float32)
    changed = np.array([[3.0], [2.0], [1.0]], np.float32)
    assert np.all(np.sign(column) == np.sign(changed)), "pointless unless each row points the same"
    assert isinstance(compared(Cosine(0.9), column, changed), Different)
    for metric in (Cosine(0.1), TopOne(0.1)):
        single = np.ones((1, 1), np.float32)
        assert isinstance(compared(metric, single, single * 2), Incomparable)


def test_the_top_one_agrees_in_a_share_of_the_vectors() -> None:
    logits = np.eye(4, dtype=np.float32)
    other = logits.copy()
    other[3] = [1.0, 0.0, 0.0, 0.5]
    assert compared(TopOne(0.75), logits, other) == Equal()
    found = compared(TopOne(0.76), logits, other)
    assert isinstance(found, Different)
    assert "agrees in 3 of 4 vectors" in found.what


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        (np.array([1, 2, 3, 4]), np.array([1, 2, 3, 5])),
        (np.array([True, True, True, True]), np.array([True, True, True, False])),
        (np.array(list("abcd"), object), np.array(list("abce"), object)),
    ],
)
def test_labels_are_exact_but_for_the_metric_that_is_about_them(
    reference: Array, candidate: Array
) -> None:
    assert compared(TopOne(0.75), reference, candidate) == Equal()
    assert isinstance(compared(TopOne(0.8), reference, candidate), Different)
    for metric in (Cosine(0.1), RelativeL2(1.0)):
        assert isinstance(compared(metric, reference, candidate), Different)
        assert compared(metric, reference, reference.copy()) == Equal()


def test_the_relative_distance_is_of_the_whole_tensor() -> None:
    array = np.full((4, 4), 2.0, np.float32)
    other = array.copy()
    other[0, 0] += 0.8
    distance = 0.8 / 8.0
    assert compared(RelativeL2(distance * 1.001), array, other) == Equal()
    assert isinstance(compared(RelativeL2(distance * 0.999), array, other), Different)
    zeros: Array = np.zeros(3, np.float32)
    assert compared(RelativeL2(0.1), zeros, zeros.copy()) == Equal()
    assert isinstance(compared(RelativeL2(1.0), zeros, zeros + 1), Different)


def test_the_largest_numbers_overflow_no_measure() -> None:
    huge = np.full((2, 8), np.finfo(np.float64).max)
    assert isinstance(compared(Cosine(0.9), huge, -huge), Different)
    assert isinstance(compared(RelativeL2(0.9), huge, -huge), Different)
    assert compared(RelativeL2(0.6), huge, huge / 2) == Equal()


def test_metrics_hold_for_the_members_of_sequences_and_maps() -> None:
    array = np.array([1.0, 2.0], np.float32)
    assert compared(Cosine(1.0), [array], [array * 2]) == Equal()
    assert isinstance(compared(Cosine(1.0), [array], [array[::-1]]), Different)
    assert compared(Cosine(1.0), {1: 1.0, 2: 2.0}, {1: 2.0, 2: 4.0}) == Equal()
    assert isinstance(compared(Cosine(1.0), {1: 1.0, 2: 2.0}, {1: 2.0, 2: 1.0}), Different)


def test_a_mostly_non_finite_or_empty_reference_proves_nothing_to_a_metric() -> None:
    special = np.array([np.nan, np.nan, 1.0], np.float32)
    assert isinstance(compared(Cosine(0.1), special, special.copy()), Incomparable)
    empty: Array = np.zeros((0, 3), np.float32)
    assert isinstance(compared(Cosine(0.1), empty, empty.copy()), Incomparable)
    complex_ = np.array([1j, 2.0])
    assert isinstance(compared(Cosine(0.1), complex_, complex_), Incomparable)


def test_a_function_of_the_users_decides_by_its_number_or_its_word() -> None:
    one, other = np.array([1.0, 2.0], np.float32), np.array([1.25, 1.75], np.float32)
    assert compared(MetricFunction(f"{HERE}:nearly", 0.75), one, other) == Equal()
    assert isinstance(compared(MetricFunction(f"{HERE}:nearly", 0.8), one, other), Different)
    assert compared(MetricFunction(f"{HERE}:same_sum"), one, other) == Equal()
    assert isinstance(compared(MetricFunction(f"{HERE}:same_sum"), one, one * 2), Different)


def test_a_function_that_raises_verifies_nothing_and_reaches_nobody() -> None:
    one = np.array([1.0, 2.0], np.float32)
    found = compared(MetricFunction(f"{HERE}:failing"), one, one)
    assert isinstance(found, Incomparable)
    assert "failing raised RuntimeError" in found.reason


@pytest.mark.parametrize(
    "place", ["", "nowhere", "a.b", "a:b:c", "os:path; x", 3, "a:" + "b" * 300]
)
def test_a_place_that_is_no_import_path_is_refused(place: Any) -> None:
    with pytest.raises(UsageError, match="import path"):
        MetricFunction(place)


@pytest.mark.parametrize("place", ["no_such_module:f", f"{HERE}:no_such_function", f"{HERE}:HERE"])
def test_a_function_that_is_not_there_is_refused_by_name(place: str) -> None:
    with pytest.raises(UsageError, match="tolerance, function") as caught:
        Tolerance(MetricFunction(place)).check(["y"])
    assert place in str(caught.value)


@pytest.mark.parametrize("share", [0, -0.5, 1.5, float("nan"), True, "0.9"])
def test_a_share_that_accepts_anything_or_nothing_is_refused(share: Any) -> None:
    for metric in (Cosine, TopOne, RelativeL2):
        with pytest.raises(UsageError, match="a number above 0, at most 1"):
            metric(share)
    with pytest.raises(UsageError, match="a finite number or None"):
        MetricFunction("a:b", float("nan"))
