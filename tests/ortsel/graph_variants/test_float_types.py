"""Models in one floating-point type, computed in another."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.candidates.model_traits import read_model_traits
from ortsel.graph_variants import VariantRefusedError, build_variant

CPU = ["CPUExecutionProvider"]
HALF = TensorProto.FLOAT16


def half_model(*, branches: bool = False) -> onnx.ModelProto:
    """A product, a cast by number, a constant, a mask, and a branch on top, in float16."""
    generator = np.random.default_rng(0)
    weights = generator.standard_normal((16, 16)).astype(np.float16)
    node, value = helper.make_node, helper.make_tensor_value_info
    limit = numpy_helper.from_array(np.array(0.25, np.float16))
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("Constant", [], ["limit"], value=limit),
        node("Cast", ["n"], ["m"], to=HALF),
        node("Mul", ["a", "limit"], ["b"]),
        node("Add", ["b", "m"], ["c"]),
        node("Softmax", ["c"], ["p"], axis=-1),
    ]
    last = "p"
    if branches:
        bodies = {
            name: helper.make_graph(
                [node("Add", ["p", f"{name}_w"], [f"{name}_y"])],
                name,
                [],
                [value(f"{name}_y", HALF, ["rows", 16])],
                [numpy_helper.from_array(weights[index], f"{name}_w")],
            )
            for index, name in enumerate(("then_branch", "else_branch"))
        }
        nodes.append(node("If", ["c1"], ["q"], **bodies))
        last = "q"
    nodes.append(node("Sqrt", [last], ["y"]))
    inputs = [value("x", HALF, ["rows", 16]), value("n", TensorProto.INT64, [16])]
    if branches:
        inputs.append(value("c1", TensorProto.BOOL, []))
    graph = helper.make_graph(
        nodes,
        "half",
        inputs,
        [value("y", HALF, ["rows", 16]), value("p", HALF, ["rows", 16])],
        [numpy_helper.from_array(weights, "w")],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def feed(*, branches: bool = False) -> dict[str, Any]:
    generator = np.random.default_rng(1)
    fed: dict[str, Any] = {
        "x": generator.standard_normal((5, 16)).astype(np.float16),
        "n": np.arange(16) % 3,
    }
    return fed | ({"c1": np.array(True)} if branches else {})


def run(path: Path, fed: dict[str, Any]) -> list[Any]:
    return list(onnxruntime.InferenceSession(path, providers=CPU).run(None, fed))


@pytest.mark.parametrize("branches", [False, True])
def test_a_model_in_float16_is_computed_in_float32(tmp_path: Path, branches: bool) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "wide.onnx"
    onnx.save(half_model(branches=branches), source)
    build_variant("float32", source, target)
    model = onnx.load(target)
    operators = [node.op_type for node in model.graph.node]
    assert operators.count("Cast") == 1 + 2 + 2, "what was cast, x and w, y and p"
    assert [one.data_type for one in model.graph.initializer] == [HALF], "no larger than it was"
    onnx.checker.check_model(model, full_check=True)
    fed = feed(branches=branches)
    for got, expected in zip(run(target, fed), run(source, fed), strict=True):
        assert got.dtype == expected.dtype == np.float16
        np.testing.assert_allclose(got, expected, rtol=4e-3, atol=1e-3)


def test_traits_tell_float16(tmp_path: Path) -> None:
    onnx.save(half_model(), tmp_path / "model.onnx")
    assert read_model_traits(tmp_path / "model.onnx").float16 is True


def test_what_lies_between_is_not_rounded(tmp_path: Path) -> None:
    source, target = tmp_path / "model.onnx", tmp_path / "wide.onnx"
    model = half_model()
    onnx.save(model, source)
    build_variant("float32", source, target)
    fed = feed()
    weights = numpy_helper.to_array(model.graph.initializer[0]).astype(np.float64)
    scores = fed["x"].astype(np.float64) @ weights * 0.25 + fed["n"]
    exact = np.exp(scores - scores.max(axis=-1, keepdims=True))
    exact /= exact.sum(axis=-1, keepdims=True)
    got = run(target, fed)[1].astype(np.float64)
    assert np.abs(got / exact - 1).max() <= 2.0**-11 * 1.01, "rounded once, at the end"


def test_local_functions_are_taken_along(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    function = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], opsets[:1]
    )
    graph = helper.make_graph(
        [helper.make_node("Twice", ["x"], ["y"], domain="own")],
        "g",
        [value("x", HALF, [3])],
        [value("y", HALF, [3])],
    )
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=8)
    source, target = tmp_path / "model.onnx", tmp_path / "wide.onnx"
    onnx.save(model, source)
    build_variant("float32", source, target)
    (got,) = run(target, {"x": np.array([1, 2, 3], np.float16)})
    assert got.dtype == np.float16
    assert got.tolist() == [2, 4, 6]


def test_a_model_without_float16_is_refused(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, [3])],
        [value("y", TensorProto.FLOAT, [3])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    with pytest.raises(VariantRefusedError, match="nothing is in float16"):
        build_variant("float32", tmp_path / "m.onnx", tmp_path / "wide.onnx")
