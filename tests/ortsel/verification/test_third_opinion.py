"""Which of two answers is nearer to the model in double precision: told, and decides nothing."""

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import ortsel
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.rig import Rig
from ortsel.trial.third_opinion import third_opinion
from ortsel.trial.values import write_values
from ortsel.verification.double_precision import (
    NoDoublePrecisionError,
    distance,
    outputs_in_double,
)
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE, candidate, floats, save


def deadline() -> int:
    return time.monotonic_ns() + 60 * SECOND_NS


def opinion_on(folder: Path, model: Path, reference: Any, other: Any, deadline_ns: int) -> str:
    feed, ours, theirs = (folder / name for name in ("feed", "reference", "candidate"))
    write_values(feed, FEED)
    write_values(ours, {"y": reference})
    write_values(theirs, {"y": other})
    return third_opinion(model, feed, ours, theirs, deadline_ns)


def test_the_nearer_side_is_told_whichever_it_is(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    truth = FEED["x"].astype(np.float64) @ models.weights().astype(np.float64)
    near, far = truth.astype(np.float32), (1.01 * truth).astype(np.float32)
    for sides, nearer in (((near, far), "reference"), ((far, near), "candidate")):
        told = opinion_on(tmp_path, model, *sides, deadline())
        assert told.startswith(f"the {nearer} is nearer to the model in double precision"), told
        assert "0.01" in told
    assert opinion_on(tmp_path, model, near, near, deadline()).startswith("both are as near")


def test_why_there_is_no_opinion_is_said(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    near = FEED["x"] @ models.weights()
    assert opinion_on(tmp_path, model, near, near, 0) == "none, no time is left"
    nodes = [helper.make_node("FusedMatMul", ["x", "w"], ["y"], domain="com.microsoft")]
    foreign = save(
        tmp_path / "foreign.onnx", nodes, [floats("y", "n", models.WIDTH)], {"w": models.weights()}
    )
    told = opinion_on(tmp_path, foreign, near, near, deadline())
    assert told.startswith("none, ONNX's evaluator raised"), told
    too_soon = time.monotonic_ns() + SECOND_NS // 20
    assert "took more than" in opinion_on(tmp_path, model, near, near, too_soon)


@pytest.mark.slow
def test_a_rejection_carries_it_only_where_it_was_asked_for(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    wrong = {"wrong": models.linear(tmp_path / "wrong.onnx", factor=1.01)}
    told = []
    for wanted in (True, False):
        with (
            Rig(model, REFERENCE, [FEED], None, variant_models=wrong, third_opinion=wanted) as rig,
            pytest.raises(TrialFailedError) as caught,
        ):
            rig.validate(candidate("wrong"), deadline())
        told.append(caught.value.failure)
    assert [failure.code for failure in told] == ["wrong-value", "wrong-value"]
    assert "third opinion: the reference is nearer" in told[0].detail
    assert "third opinion" not in told[1].detail


def test_constants_casts_and_subgraphs_are_widened_too() -> None:
    third = np.float32(1 / 3)
    branch = helper.make_graph(
        [
            helper.make_node("Constant", [], ["c"], value_float=float(third)),
            helper.make_node("Cast", ["x"], ["half"], to=TensorProto.FLOAT16),
            helper.make_node("Cast", ["half"], ["whole"], to=TensorProto.FLOAT),
            helper.make_node("Mul", ["whole", "c"], ["r"]),
        ],
        "branch",
        [],
        [helper.make_tensor_value_info("r", TensorProto.FLOAT, None)],
    )
    nodes = [helper.make_node("If", ["yes"], ["y"], then_branch=branch, else_branch=branch)]
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1])],
        [numpy_helper.from_array(np.asarray(True), "yes")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    x = np.array([1.0 + 2.0**-20], np.float32)
    assert x.astype(np.float16) == 1, "pointless unless half precision would lose something"
    [y] = outputs_in_double(model, {"x": x}, ["y"])
    assert isinstance(y, np.ndarray)
    assert y.dtype == np.float64
    assert y[0] == np.float64(x[0]) * np.float64(third)


def test_a_model_that_is_too_large_is_refused_with_the_limit() -> None:
    model = onnx.ModelProto()
    model.graph.initializer.append(onnx.TensorProto(dims=[10_000, 10_000]))
    with pytest.raises(NoDoublePrecisionError, match="got 100000000 weights, need at most"):
        outputs_in_double(model, {}, ["y"])


@pytest.mark.parametrize(
    ("truth", "value", "expected"),
    [
        (np.array([1.0, -4.0]), np.array([1.0, -3.0], np.float32), 0.25),
        (np.array([1, 2, 3, 4]), np.array([1, 2, 3, 5]), 0.25),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), 0.5),
        (np.zeros(2), np.zeros(2), 0.0),
        (np.zeros((0, 2)), np.zeros((0, 2)), 0.0),
        (np.zeros(2), np.zeros(3), np.inf),
        (np.array([1.0, np.nan]), np.array([1.0, 2.0]), np.inf),
        ([np.ones(1), np.ones(1)], [np.ones(1), np.array([0.5])], 0.5),
        ([np.ones(1)], [], np.inf),
        ({"a": 1.0}, {"a": 0.5}, 0.5),
        ({"a": 1.0}, {"b": 1.0}, np.inf),
        (None, None, 0.0),
        (None, np.ones(1), np.inf),
    ],
)
def test_distances_are_shares(truth: object, value: object, expected: float) -> None:
    assert distance(truth, value) == expected


def test_the_switch_takes_true_or_false_only() -> None:
    not_a_switch: dict[str, Any] = {"third_opinion": "yes"}
    assert ortsel.SelectionConfig(third_opinion=True).third_opinion
    with pytest.raises(ortsel.UsageError, match="third_opinion"):
        ortsel.SelectionConfig(**not_a_switch)
