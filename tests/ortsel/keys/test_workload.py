from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_st

from ortsel.workload import UntunableFeedError, describe_workload, run_signature, workload_part
from spec.canonical_json import canonical

X = np.zeros((2, 3), np.float32)


def _part(feed: dict[str, Any], outputs: tuple[str, ...] = ("y",), calling: str = "numpy") -> str:
    return canonical(workload_part(feed, outputs, calling))


def test_the_part_names_type_shape_layout_outputs_and_way_of_calling() -> None:
    assert _part({"x": X, "n": np.array(3)}, ("z", "y")) == (
        '{"calling":"numpy","inputs":{'
        '"n":{"layout":"contiguous","shape":[],"type":"tensor(int64)"},'
        '"x":{"layout":"contiguous","shape":[2,3],"type":"tensor(float)"}},'
        '"load":"alone","outputs":["y","z"]}'
    )


def test_the_order_of_inputs_and_outputs_makes_no_difference() -> None:
    one, two = {"a": X, "b": X}, {"b": X, "a": X}
    assert _part(one, ("y", "z")) == _part(two, ("z", "y"))


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("type", {"x": X.astype(np.float64)}),
    ("shape", {"x": np.zeros((3, 2), np.float32)}),
    ("rank", {"x": np.zeros((2, 3, 1), np.float32)}),
    ("layout", {"x": np.zeros((3, 2), np.float32).T}),
    ("name", {"x2": X}),
    ("optional input", {"x": X, "mask": X}),
    ("nothing", {}),
    ("text", {"x": np.full((2, 3), "a")}),
    ("bfloat16", {"x": X.astype(ml_dtypes.bfloat16)}),
    ("half", {"x": X.astype(np.float16)}),
]


@pytest.mark.parametrize("feed", [feed for _, feed in OTHERS], ids=[name for name, _ in OTHERS])
def test_another_call_has_another_part_and_another_signature(feed: dict[str, Any]) -> None:
    assert _part(feed) != _part({"x": X})
    assert run_signature(None, feed) != run_signature(None, {"x": X})
    assert run_signature(None, feed) is not None


def test_other_outputs_another_way_of_calling_and_another_load_have_another_part() -> None:
    assert _part({"x": X}, ("z",)) != _part({"x": X}, ("y",))
    assert _part({"x": X}, calling="bound") != _part({"x": X}, calling="numpy")
    loaded = canonical(workload_part({"x": X}, ("y",), "numpy", "8 callers"))
    assert loaded != _part({"x": X})
    assert run_signature(["y"], {"x": X}) != run_signature(None, {"x": X})


def test_values_and_the_width_of_text_make_no_difference() -> None:
    assert _part({"x": X + 1}) == _part({"x": X})
    short, long = {"x": np.array(["a"])}, {"x": np.array(["a" * 9])}
    objects = {"x": np.array(["a"], dtype=object)}
    assert _part(short) == _part(long) == _part(objects)
    assert run_signature(None, short) == run_signature(None, long)


def test_a_tensor_in_memory_is_described_like_an_array() -> None:
    tensor = onnxruntime.OrtValue.ortvalue_from_numpy(X)
    assert _part({"x": tensor}) == _part({"x": X})
    assert run_signature(None, {"x": tensor}) is not None


@pytest.mark.parametrize(
    "value",
    [
        [1.0],
        (1.0,),
        1.0,
        np.float32(1),
        None,
        "text",
        {"a": 1},
        X.astype(">f4"),
        np.ma.masked_array(X, X == 0),
        memoryview(b"x"),
    ],
)
def test_what_is_not_a_plain_array_is_for_the_reference(value: object) -> None:
    assert run_signature(None, {"x": value}) is None
    with pytest.raises(UntunableFeedError, match="input x: got"):
        workload_part({"x": value}, ("y",), "numpy")
    assert describe_workload({"x": value}, ("y",), "numpy").startswith("x (")


@pytest.mark.parametrize("feed", [None, [], 3, {"x": X}.items(), "x"])
def test_a_feed_that_is_no_dictionary_of_names_has_no_signature(feed: object) -> None:
    assert run_signature(None, feed) is None


def test_outputs_that_are_no_names_have_no_signature_or_a_harmless_one() -> None:
    broken: Any = 3
    assert run_signature(broken, {"x": X}) is None


def test_a_workload_is_described_in_one_line() -> None:
    feed = {"x": X, "ids": np.zeros((1,), np.int64)}
    assert describe_workload(feed, ("y",), "numpy") == "ids int64[1], x float[2,3] to y (numpy)"


TYPES = [np.dtype(name) for name in ("f4", "i8", "?", "u1", "f2", "U3")]


def _views(array: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([array, array.T, array[..., ::-1]] if array.ndim else [array])


@st.composite
def _arrays(draw: st.DrawFn) -> Any:
    shape = draw(numpy_st.array_shapes(min_dims=0, max_dims=3, max_side=3))
    return draw(_views(np.zeros(shape, draw(st.sampled_from(TYPES)))))


ARRAYS = _arrays()
FEEDS = st.dictionaries(st.sampled_from("abc"), ARRAYS, max_size=3)


@given(FEEDS, FEEDS)
def test_equal_signatures_mean_equal_parts(left: dict[str, Any], right: dict[str, Any]) -> None:
    if run_signature(None, left) == run_signature(None, right):
        assert _part(left) == _part(right)
    if _part(left) == _part(right) and not any(v.dtype.kind == "U" for v in left.values()):
        assert run_signature(None, left) == run_signature(None, right)
