"""What ONNX Runtime's own offline tools make of a model: its optimizer and its quantiser."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.graph_variants import VariantRefusedError, build_variant, variant_names
from ortsel.graph_variants.dynamic_int8 import ensures_integers
from ortsel.graph_variants.ort_optimizer import ensures_fused
from ortsel.graph_variants.variant import Census

CPU = ["CPUExecutionProvider"]


def layer_model() -> onnx.ModelProto:
    """Two products with weights around a normalisation written out in full."""
    generator = np.random.default_rng(0)
    node = helper.make_node
    weights = {
        "w": generator.standard_normal((64, 128)).astype(np.float32),
        "v": generator.standard_normal((128, 64)).astype(np.float32),
        "two": np.array(2, np.float32),
        "tiny": np.array(1e-5, np.float32),
        "gain": generator.standard_normal(128).astype(np.float32),
        "shift": generator.standard_normal(128).astype(np.float32),
    }
    nodes = [
        node("MatMul", ["x", "w"], ["a"]),
        node("ReduceMean", ["a"], ["mean"], axes=[-1]),
        node("Sub", ["a", "mean"], ["centred"]),
        node("Pow", ["centred", "two"], ["squares"]),
        node("ReduceMean", ["squares"], ["variance"], axes=[-1]),
        node("Add", ["variance", "tiny"], ["positive"]),
        node("Sqrt", ["positive"], ["deviation"]),
        node("Div", ["centred", "deviation"], ["normal"]),
        node("Mul", ["normal", "gain"], ["scaled"]),
        node("Add", ["scaled", "shift"], ["b"]),
        node("Erf", ["b"], ["c"]),
        node("MatMul", ["c", "v"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "layer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opset, ir_version=8)


def outputs(path: Path) -> "np.ndarray[tuple[int, ...], np.dtype[np.float32]]":
    session = onnxruntime.InferenceSession(path, providers=CPU)
    feed = np.random.default_rng(1).standard_normal((5, 64)).astype(np.float32)
    output = session.run(None, {"x": feed})[0]
    assert isinstance(output, np.ndarray)
    return output


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(layer_model(), path)
    return path


def test_quantised_products_are_near_and_not_equal(model: Path, tmp_path: Path) -> None:
    target, before = tmp_path / "int8.onnx", model.read_bytes()
    build_variant("dynamic-int8", model, target)
    assert model.read_bytes() == before
    operators = {node.op_type for node in onnx.load(target).graph.node}
    assert "MatMulInteger" in operators
    got, expected = outputs(target), outputs(model)
    assert not np.allclose(got, expected, 1e-4, 1e-5), "pointless unless it is lossy"
    cosine = (got * expected).sum() / np.linalg.norm(got) / np.linalg.norm(expected)
    assert cosine > 0.99


def test_a_lossy_variant_is_never_among_the_exact_ones() -> None:
    assert variant_names(lossy=True) == ("dynamic-int8",)
    assert "dynamic-int8" not in variant_names()


def test_a_model_without_weights_to_quantise_is_refused(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "z"], ["y"])],
        "g",
        [value(name, TensorProto.FLOAT, [4, 4]) for name in "xz"],
        [value("y", TensorProto.FLOAT, [4, 4])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "m.onnx")
    with pytest.raises(VariantRefusedError, match="no product with weights could be quantised"):
        build_variant("dynamic-int8", tmp_path / "m.onnx", tmp_path / "int8.onnx")


def test_the_checks_can_fail() -> None:
    assert ensures_integers(Census(MatMul=1), Census(MatMul=1))
    assert ensures_fused(Census(MatMul=1), Census(MatMul=1))
    assert not ensures_fused(Census(), Census({"com.microsoft::Gelu": 1}))
