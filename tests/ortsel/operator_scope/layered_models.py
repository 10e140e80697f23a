"""Models of several layers with attention, small enough to search in seconds."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 32
HEADS = 2
LENGTH = 64


def layered(
    path: Path,
    *,
    layers: int = 4,
    seed: int = 0,
    heads: tuple[int, ...] = (HEADS,),
    external: bool = False,
    opset: int = 25,
) -> Path:
    """Layers of weights and ONNX Attention, `heads` in turn.

    In operator set 25 attention has no kernel of its own on a CPU, so that the same in operator set
    24 is several times as fast, on any machine.
    """
    random = np.random.default_rng(seed)
    nodes, weights = [], []
    state = "x"
    for layer in range(layers):
        for name in "qkv":
            values = random.standard_normal((WIDTH, WIDTH)) / WIDTH**0.5
            weight = f"w{name}{layer}"
            weights.append(numpy_helper.from_array(values.astype(np.float32), weight))
            nodes.append(helper.make_node("MatMul", [state, weight], [f"{name}{layer}"]))
        count = heads[layer % len(heads)]
        nodes.append(
            helper.make_node(
                "Attention",
                [f"q{layer}", f"k{layer}", f"v{layer}"],
                [f"y{layer}"],
                q_num_heads=count,
                kv_num_heads=count,
            )
        )
        state = f"y{layer}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "layered",
        [value("x", TensorProto.FLOAT, ["batch", "length", WIDTH])],
        [value(state, TensorProto.FLOAT, ["batch", "length", WIDTH])],
        weights,
    )
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    if external:
        onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    else:
        onnx.save(model, path)
    return path


def layered_feed(seed: int = 0, length: int = LENGTH) -> dict[str, Any]:
    values = np.random.default_rng(seed).standard_normal((1, length, WIDTH))
    return {"x": values.astype(np.float32)}
