"""Feeds that nobody sent (E7)."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ortsel.trial.second_feed import same_feed, second_feeds

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
dtypes = st.sampled_from(("i4", "i8", "u1", "f4", "f2", "bool"))
numbers: st.SearchStrategy[Array] = dtypes.flatmap(lambda dtype: npst.arrays(dtype, shapes))
alike: st.SearchStrategy[Array] = numbers.map(
    lambda array: np.full_like(array, array.flat[0]) if array.size else array
)
feeds = st.dictionaries(st.text(max_size=3), numbers | alike, max_size=3)


def arrays_of(feed: dict[str, object]) -> dict[str, Array]:
    return {name: value for name, value in feed.items() if isinstance(value, np.ndarray)}


@given(feeds)
def test_they_differ_from_the_feed_and_each_other_in_values_only(feed: dict[str, Array]) -> None:
    before = {name: array.copy() for name, array in feed.items()}
    found = second_feeds(feed)
    assert all(feed[name].tobytes() == array.tobytes() for name, array in before.items())
    whole: list[Mapping[str, object]] = [feed, *found]
    assert not any(
        same_feed(one, other) for index, one in enumerate(whole) for other in whole[index + 1 :]
    )
    for second in found:
        changed = arrays_of(second)
        assert list(changed) == list(feed)
        for name, array in feed.items():
            assert (changed[name].dtype, changed[name].shape) == (array.dtype, array.shape)


@given(feeds)
def test_values_stay_within_what_was_there_and_zero_and_one(feed: dict[str, Array]) -> None:
    for second in second_feeds(feed):
        for name, array in arrays_of(second).items():
            old = feed[name]
            if old.dtype.kind in "iu" and old.size:
                assert array.min() >= min(0, old.min())
                assert array.max() <= max(1, old.max())


@given(feeds)
def test_there_is_one_wherever_a_number_can_be_changed(feed: dict[str, Array]) -> None:
    possible = any(
        array.size
        and (array.dtype.kind in "iub" or np.all((array == 0) | (np.abs(array) > 0.001)))
        and np.isfinite(array).all()
        for array in feed.values()
    )
    if possible:
        assert second_feeds(feed)


@given(feeds)
def test_they_are_the_same_each_time(feed: dict[str, Array]) -> None:
    first, second = second_feeds(feed), second_feeds(feed)
    assert all(same_feed(one, other) for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("array", [np.array([1, 2, 1]), np.array([[3, 5], [5, 3]])])
def test_a_palindrome_is_moved_too(array: Array) -> None:
    first = np.asarray(second_feeds({"x": array})[0]["x"])
    assert not np.array_equal(first, array)
    assert sorted(first.flat) == sorted(array.flat)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_floating_point_numbers_that_are_all_alike_are_drawn(dtype: type[np.generic]) -> None:
    zeros = np.asarray(second_feeds({"x": np.zeros(64, dtype)})[0]["x"]).astype(float)
    assert np.all(np.abs(zeros) < 4)
    assert len(set(zeros.flat)) > 8
    ones = np.asarray(second_feeds({"x": np.ones(64, dtype)})[0]["x"]).astype(float)
    assert np.all((ones >= 0.5) & (ones <= 1.0))
    assert len(set(ones.flat)) > 8


def test_equal_integers_change_at_the_end_by_one_and_booleans_turn() -> None:
    feed = {
        "ids": np.full((2, 8), 7),
        "mask": np.ones((2, 8), np.int64),
        "types": np.zeros((2, 8), np.int32),
        "flags": np.ones(4, bool),
        "steps": np.full((3, 1), -2),
    }
    second = arrays_of(second_feeds(feed)[0])
    assert second["ids"].tolist() == [[7] * 6 + [6] * 2] * 2
    assert second["mask"].tolist() == [[1] * 6 + [0] * 2] * 2
    assert second["types"].tolist() == [[0] * 6 + [1] * 2] * 2
    assert second["flags"].tolist() == [True, True, True, False]
    assert second["steps"].tolist() == [[-2], [-2], [-1]]


def test_single_numbers_are_changed_last_since_they_may_be_parameters() -> None:
    feed = {"x": np.zeros(5, np.float32), "rate": np.array(16000), "cached": np.array([False])}
    found = second_feeds(feed)
    assert len(found) > 1
    for second in found[:-1]:
        assert second["rate"] is feed["rate"]
        assert second["cached"] is feed["cached"]
        assert not np.array_equal(np.asarray(second["x"]), feed["x"])
    assert found[-1]["x"] is feed["x"]
    assert np.asarray(found[-1]["rate"]) == np.asarray(15999)
    assert np.asarray(found[-1]["cached"]) == np.asarray([True])


def test_one_of_them_changes_what_a_sum_sees() -> None:
    for array in (np.arange(8), np.arange(8, dtype=np.float32), np.array([True, False, True])):
        sums = {float(np.asarray(second["x"]).sum()) for second in second_feeds({"x": array})}
        assert sums - {float(array.sum())}


def test_one_of_them_is_far_away_for_models_that_see_no_small_step() -> None:
    array = np.array([0.2, 0.9, 0.4], np.float32)
    found = [np.asarray(second["x"]) for second in second_feeds({"x": array})]
    assert any(np.array_equal(other, -2 * array) for other in found)
    assert not np.array_equal(found[0], -2 * array), "only where nearer ones show nothing"


@pytest.mark.parametrize(
    "feed", [{}, {"l": [1, 2]}, {"n": None}, {"e": np.zeros((0, 3))}, {"s": np.array(["a", "a"])}]
)
def test_there_is_none_where_nothing_can_be_changed(feed: dict[str, object]) -> None:
    assert second_feeds(feed) == []


def test_strings_are_moved_and_so_are_the_tensors_of_a_sequence() -> None:
    feed = {"s": np.array(["a", "b"], object), "l": [np.arange(3), np.zeros(2, np.float32)]}
    second = second_feeds(feed)[0]
    assert list(np.asarray(second["s"])) == ["b", "a"]
    sequence = second["l"]
    assert isinstance(sequence, list)
    assert list(sequence[0]) == [2, 1, 0]
    assert np.any(sequence[1])
