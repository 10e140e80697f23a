"""Models made for a purpose: how small a call is, or how much is gained by folding constants."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 160
CHAIN = 24
LAYER = 1024


def summed(inputs: int) -> bytes:
    """Return a model that adds so many inputs: as little work as a call can be."""
    names = [f"i{place}" for place in range(inputs)]
    return _model(
        [helper.make_node("Sum", names, ["y"])] if inputs > 1 else [_doubled()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in names],
        ["n"],
        [],
    )


def _doubled() -> onnx.NodeProto:
    return helper.make_node("Add", ["i0", "i0"], ["y"])


def layers(count: int, *, wasteful: bool = False) -> bytes:
    """Return `count` layers of 4 MiB of weights; with `wasteful`, and constants to fold.

    Without optimisation the constants are multiplied again at every call, so a plan that folds them
    is clearly faster on any machine.
    """
    rng = np.random.default_rng(0)
    nodes, weights, last = [], [], "i0"
    for place in range(count):
        weight = rng.standard_normal((LAYER, LAYER)).astype(np.float32) / 32
        weights.append(numpy_helper.from_array(weight, f"w{place}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{place}"], [f"h{place}"]))
        nodes.append(helper.make_node("Relu", [f"h{place}"], [f"r{place}"]))
        last = f"r{place}"
    if wasteful:
        matrix = np.eye(WIDTH, dtype=np.float32) * np.float32(0.5)
        weights.append(numpy_helper.from_array(matrix, "m0"))
        nodes += [
            helper.make_node("MatMul", [f"m{place}", "m0"], [f"m{place + 1}"])
            for place in range(CHAIN)
        ]
        nodes.append(helper.make_node("ReduceSum", [f"m{CHAIN}"], ["total"], keepdims=0))
        nodes.append(helper.make_node("Add", [last, "total"], ["y"]))
    else:
        nodes.append(helper.make_node("Identity", [last], ["y"]))
    shape = ["n", LAYER if count else "k"]
    entry = helper.make_tensor_value_info("i0", TensorProto.FLOAT, shape)
    return _model(nodes, [entry], shape, weights)


def _model(
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    shape: list[str | int],
    weights: list[onnx.TensorProto],
) -> bytes:
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "sample", inputs, outputs, weights)
    opset = [helper.make_opsetid("", 17)]
    data: bytes = helper.make_model(graph, opset_imports=opset, ir_version=9).SerializeToString()
    return data
