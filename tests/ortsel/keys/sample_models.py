"""Small models for the tests of keys."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4)


def model(
    weights: "np.ndarray[Any, np.dtype[Any]]" = WEIGHTS, nodes: Sequence[Any] | None = None
) -> onnx.ModelProto:
    """Return y = x @ w, or other nodes between x and y."""
    graph = helper.make_graph(
        nodes or [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(
        graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)], producer_name="tests"
    )


def save_with_external_weights(made: onnx.ModelProto, path: Path, location: str) -> None:
    """Save a copy of a model whose weights lie in a file of their own."""
    copy = onnx.ModelProto()
    copy.CopyFrom(made)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(copy, path, save_as_external_data=True, location=location, size_threshold=0)
