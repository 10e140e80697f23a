"""A small model, and the provider library that the tests use."""

import importlib.util
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

PACKAGE: Final = "nxrt-ep-cpu"
PROVIDER: Final = "cpu_ep"
OLDEST: Final = (1, 29)
"""The first ONNX Runtime whose interface the library asks for."""
WIDTH: Final = 64

if importlib.util.find_spec("nxrt_ep_cpu") is None:
    pytest.skip(f"{PACKAGE} has no build for {sys.platform}", allow_module_level=True)
if tuple(map(int, onnxruntime.__version__.split(".")[:2])) < OLDEST:
    pytest.skip(f"{PACKAGE} needs a newer ONNX Runtime", allow_module_level=True)


def write_model(path: Path, width: int = WIDTH) -> Path:
    weights = np.random.default_rng(0).standard_normal((width, width)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", width])],
        [numpy_helper.from_array(weights, "w")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path
    )
    return path


def feed(rows: int = 2, width: int = WIDTH) -> dict[str, Any]:
    return {"x": np.random.default_rng(1).standard_normal((rows, width)).astype(np.float32)}
