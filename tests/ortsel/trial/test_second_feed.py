"""The feed that nobody sent (E7)."""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ortsel.trial.second_feed import second_feed

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

shapes = npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
numbers: st.SearchStrategy[Array] = st.sampled_from(("i4", "i8", "u1", "f4", "f2", "bool")).flatmap(
    lambda dtype: npst.arrays(dtype, shapes)
)


@given(st.dictionaries(st.text(max_size=3), numbers, max_size=3))
def test_it_differs_in_values_only_and_integers_are_only_moved(feed: dict[str, Array]) -> None:
    before = {name: array.copy() for name, array in feed.items()}
    second = second_feed(feed)
    assert all(feed[name].tobytes() == array.tobytes() for name, array in before.items())
    movable = any(len({item.tobytes() for item in array.flat}) > 1 for array in feed.values())
    if second is None:
        assert not movable
        return
    assert list(second) == list(feed)
    assert any(second[name] is not array for name, array in feed.items())
    for name, array in feed.items():
        other = second[name]
        assert isinstance(other, np.ndarray)
        assert (other.dtype, other.shape) == (array.dtype, array.shape)
        if array.dtype.kind in "iub" or movable:
            bits = [sorted(item.tobytes() for item in one.flat) for one in (array, other)]
            assert bits[0] == bits[1]


@pytest.mark.parametrize("array", [np.array([1, 2, 1]), np.array([[3, 5], [5, 3]])])
def test_a_palindrome_is_moved_too(array: Array) -> None:
    second = second_feed({"x": array})
    assert second is not None
    assert not np.array_equal(np.asarray(second["x"]), array)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ml_dtypes.bfloat16])
def test_floating_point_numbers_that_are_all_alike_shrink(dtype: type[np.generic]) -> None:
    second = second_feed({"x": np.ones(3, dtype), "n": np.array([4])})
    assert second is not None
    assert np.all(np.asarray(second["x"]).astype(float) == 0.75)
    assert second["n"] == np.array([4])


@pytest.mark.parametrize(
    "feed",
    [{}, {"n": np.array(3)}, {"n": np.zeros(4, np.int64)}, {"x": np.zeros(3)}, {"l": [1, 2]}],
)
def test_there_is_none_where_nothing_can_be_moved(feed: dict[str, object]) -> None:
    assert second_feed(feed) is None


def test_strings_are_moved() -> None:
    second = second_feed({"s": np.array(["a", "b"], object)})
    assert second is not None
    assert list(np.asarray(second["s"])) == ["b", "a"]
