"""Buckets of shapes, values that change the work, and which shapes are tuned at all."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

import ortsel
from ortsel.background import IDLE_WORK
from ortsel.selectors import forget_all
from ortsel.shape_buckets import AxisBuckets, as_buckets
from ortsel.workload import UntunableFeedError
from ortsel.workload_mapper import WorkloadMapper
from spec.canonical_json import Json, canonical
from tests.ortsel.session.session_models import (
    WIDTH,
    folding,
    unoptimized,
    wasteful_for_any_rows,
)

BOUNDS = (2, 4, 8)
BUCKETS = {"x": {0: BOUNDS}}


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # At the lowest priority, other tests beside this one would starve its searches.
    monkeypatch.setattr("ortsel.session_tuner.NICENESS", 0)
    forget_all()
    yield
    assert eventually(lambda: not IDLE_WORK.is_busy())
    forget_all()


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 90
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def rows(count: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(count).standard_normal((count, WIDTH)).astype(np.float32)}


def key(mapper: WorkloadMapper, count: int) -> str:
    return canonical(mapper.part(rows(count), ["y"], "numpy"))


@given(count=st.integers(0, 12), other=st.integers(0, 12))
def test_two_sizes_share_a_key_exactly_when_no_boundary_lies_between_them(
    count: int, other: int
) -> None:
    mapper = WorkloadMapper(as_buckets(BUCKETS))

    def bucket(size: int) -> int:
        return min((bound for bound in BOUNDS if bound >= size), default=size)

    same = bucket(count) == bucket(other)
    assert (key(mapper, count) == key(mapper, other)) is same


def test_a_bucket_is_not_the_exact_shape_that_names_it_nor_a_bucket_with_other_members() -> None:
    keys = {
        key(WorkloadMapper(as_buckets(given)), 4)
        for given in (None, BUCKETS, {"x": {0: (4, 8)}}, lambda _, shape: shape)
    }
    assert len(keys) == 4


def test_an_input_that_is_not_mentioned_stays_exact() -> None:
    mapper = WorkloadMapper(as_buckets({"z": {0: (8,)}}))
    assert key(mapper, 3) == key(WorkloadMapper(), 3)


@pytest.mark.parametrize("bucket", [(3,), (3, -1), (3.0, WIDTH), ("a", "b")])
def test_a_function_that_gives_no_shape_makes_the_call_untunable(bucket: Any) -> None:
    mapper = WorkloadMapper(lambda _, __: bucket)
    with pytest.raises(UntunableFeedError, match="bucket"):
        mapper.part(rows(3), ["y"], "numpy")


@pytest.mark.parametrize(
    "value",
    [
        3,
        {"x": (2, 4)},
        {1: {0: (2,)}},
        {"x": {0: ()}},
        {"x": {0: (4, 2)}},
        {"x": {0: (2, 2)}},
        {"x": {0: (0, 2)}},
        {"x": {-1: (2,)}},
        {"x": {0: (2.0,)}},
        {"x": {0: 2}},
    ],
)
def test_boundaries_that_are_none_are_refused_with_the_setting_named(value: Any) -> None:
    with pytest.raises(ortsel.UsageError, match="shape_buckets: got"):
        ortsel.SelectionConfig(shape_buckets=value)


def test_boundaries_are_a_value() -> None:
    config = ortsel.SelectionConfig(shape_buckets=BUCKETS)
    assert config == ortsel.SelectionConfig(shape_buckets={"x": {0: list(BOUNDS)}})
    assert isinstance(config.shape_buckets, AxisBuckets)
    assert hash(config.shape_buckets) == hash(as_buckets(BUCKETS))


@pytest.mark.slow
def test_a_bucket_is_measured_once_and_each_exact_shape_is_checked_before_it_is_served(
    tmp_path: Path,
) -> None:
    model = wasteful_for_any_rows(tmp_path / "model.onnx")
    config = ortsel.SelectionConfig(
        "blocking", None, 60.0, candidates=folding, shape_buckets=BUCKETS
    )
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for count in (3, 4, 3, 4):
        np.testing.assert_allclose(
            session.run(None, rows(count))[0], plain.run(None, rows(count))[0], rtol=1e-5
        )
    assert session.statistics().explorations == 1
    first, second = session.explain().rows()
    assert (first["plan"], first["source"]) == ("folding", "tuned")
    assert (second["plan"], second["source"]) == ("folding", "memory")
    assert first["key"] == second["key"]
    connection = session._ortsel_connection
    assert connection is not None
    assert len(connection.choices) == 2, "calls are looked up by their exact shapes"
    session.run(None, rows(5))
    assert session.statistics().explorations == 2


def looping(path: Path) -> Path:
    """y = 2**n * x, by n turns of a loop."""
    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["w"]),
            helper.make_node("Identity", ["go"], ["go_on"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, ["k"]),
        ],
        [
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, ["k"]),
        ],
    )
    graph = helper.make_graph(
        [helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)],
        "looping",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["k"]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["k"])],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return path


def turns(count: int) -> dict[str, np.ndarray]:
    return {"n": np.asarray(count, np.int64), "x": np.ones(3, np.float32)}


def test_named_values_make_other_workloads_and_unnamed_ones_do_not(tmp_path: Path) -> None:
    model = looping(tmp_path / "model.onnx")
    found: dict[tuple[str, ...], int] = {}
    for values in ((), ("n",)):
        config = ortsel.SelectionConfig("cache-only", None, workload_values=values)
        session = ortsel.InferenceSession(model, selection=config)
        for count in (1, 2, 2, 1):
            assert session.run(None, turns(count))[0][0] == 2.0**count
        found[values] = len(session.explain().rows())
    assert found == {(): 1, ("n",): 2}


@given(left=st.integers(0, 5), right=st.integers(0, 5))
def test_signature_and_key_tell_values_apart_alike(left: int, right: int) -> None:
    mapper = WorkloadMapper(None, ("n",))
    signatures = [mapper.signature(None, turns(count)) for count in (left, right)]
    parts: list[Json] = [mapper.part(turns(count), ["y"], "numpy") for count in (left, right)]
    assert (signatures[0] == signatures[1]) is (left == right)
    assert (canonical(parts[0]) == canonical(parts[1])) is (left == right)


@pytest.mark.parametrize(("name", "got"), [("x", "tensor\\(float\\)"), ("z", "'z'")])
def test_a_name_that_is_no_input_or_not_of_integers_is_refused_when_the_session_is_built(
    name: str, got: str, tmp_path: Path
) -> None:
    config = ortsel.SelectionConfig(store=None, workload_values=(name,))
    with pytest.raises(ortsel.UsageError, match=f"workload_values: got .*{got}"):
        ortsel.InferenceSession(looping(tmp_path / "model.onnx"), selection=config)
    with pytest.raises(ortsel.UsageError, match="shape_buckets: got 'z'"):
        ortsel.InferenceSession(
            looping(tmp_path / "model.onnx"),
            selection=ortsel.SelectionConfig(store=None, shape_buckets={"z": {0: (1,)}}),
        )


def test_a_bare_name_is_no_sequence_of_names() -> None:
    with pytest.raises(ortsel.UsageError, match="workload_values"):
        ortsel.SelectionConfig(workload_values="n")


def test_a_value_that_is_too_long_at_a_call_keeps_the_reference_and_says_so(
    tmp_path: Path,
) -> None:
    graph = helper.make_graph(
        [helper.make_node("Add", ["n", "n"], ["y"])],
        "twice",
        [helper.make_tensor_value_info("n", TensorProto.INT64, ["k"])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, ["k"])],
    )
    model = tmp_path / "model.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), model)
    config = ortsel.SelectionConfig(store=None, workload_values=("n",), idle_s=0.02)
    session = ortsel.InferenceSession(model, selection=config)
    for _ in range(2):
        served = session.run(None, {"n": np.arange(65)})[0]
        np.testing.assert_array_equal(served, 2 * np.arange(65))
    [row] = session.explain().rows()
    assert "65 elements" in str(row["reason"])
    assert not IDLE_WORK.is_busy()


@pytest.mark.slow
def test_of_more_shapes_than_may_be_tuned_the_most_used_is(tmp_path: Path) -> None:
    model = wasteful_for_any_rows(tmp_path / "model.onnx")
    config = ortsel.SelectionConfig(
        store=None, budget_s=60.0, candidates=folding, idle_s=0.3, max_tuned_shapes=1
    )
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    for count, uses in ((1, 2), (2, 9), (3, 3)):
        for _ in range(uses):
            session.run(None, rows(count))
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert session.statistics().explorations == 1
    decided = {str(row["workload"])[:12]: row for row in session.explain().rows()}
    assert decided["x float[2,16"]["plan"] == "folding"
    for name in ("x float[1,16", "x float[3,16"):
        assert "max_tuned_shapes" in str(decided[name]["reason"])


@pytest.mark.parametrize("bound", [False, True])
def test_shapes_without_end_take_no_memory_without_end(
    tmp_path: Path, bound: bool, newly_held_bytes: Callable[[], int]
) -> None:
    path, most = wasteful_for_any_rows(tmp_path / "model.onnx"), 8
    config = ortsel.SelectionConfig(store=None, max_shapes=most, idle_s=600)
    session = ortsel.InferenceSession(path, unoptimized(), selection=config)
    for rows in range(1, 6 * most):
        values = np.ones((rows, WIDTH), np.float32)
        if bound:
            binding = session.io_binding()
            binding.bind_cpu_input("x", values)
            binding.bind_output("y")
            session.run_with_iobinding(binding)
        else:
            session.run(None, {"x": values})
    held = newly_held_bytes()
    largest = 6 * most * WIDTH * np.dtype(np.float32).itemsize
    assert 0 < held <= most * largest
    assert held < sum(range(1, 6 * most)) * WIDTH * 4, "pointless unless most copies are gone"
    assert session._ortsel_connection is not None
    assert len(session._ortsel_connection.choices) == most
    assert len(session.explain().workloads) == most
