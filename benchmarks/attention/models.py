"""Models with one attention, as decoders and encoders have them: 8 heads of 64, batch 1."""

from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS: Final = 8
SIZE: Final = 64
HIDDEN: Final = HEADS * SIZE
Shape: TypeAlias = list[str | int]
Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

FLAT_KEYS, KEYS_WITH_HEADS, CHAIN, CACHE = "mha-3d", "mha-4d", "chain", "gqa-cache"
MODELS: Final = (FLAT_KEYS, KEYS_WITH_HEADS, CHAIN, CACHE)


def write_model(kind: str, path: Path) -> None:
    """Write a model with its lengths left open."""
    flat: Shape = ["batch", "tokens", HIDDEN]
    flat_keys: Shape = ["batch", "keys", HIDDEN]
    with_heads: Shape = ["batch", HEADS, "keys", SIZE]
    constants: dict[str, Array] = {}
    outputs: dict[str, Shape | None] = {"y": None}
    opset = 23
    if kind in {FLAT_KEYS, KEYS_WITH_HEADS}:
        keys = flat_keys if kind == FLAT_KEYS else with_heads
        inputs = {"q": flat, "k": keys, "v": keys}
        nodes = [_microsoft("MultiHeadAttention", ["q", "k", "v"], ["y"], num_heads=HEADS)]
    elif kind == CHAIN:
        opset = 17
        inputs = {"q": ["batch", HEADS, "tokens", SIZE], "k": with_heads, "v": with_heads}
        constants = {"scale": np.array(0.125, np.float32)}
        nodes = [
            helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
            helper.make_node("MatMul", ["q", "kt"], ["products"]),
            helper.make_node("Mul", ["products", "scale"], ["scores"]),
            helper.make_node("Softmax", ["scores"], ["p"], axis=-1),
            helper.make_node("MatMul", ["p", "v"], ["y"]),
        ]
    else:
        past: Shape = ["batch", HEADS, "past", SIZE]
        inputs = {"q": flat, "k": flat, "v": flat, "past_k": past, "past_v": past}
        names = [*inputs, "last", "total"]
        nodes = [
            _microsoft(
                "GroupQueryAttention",
                names,
                ["y", "present_k", "present_v"],
                num_heads=HEADS,
                kv_num_heads=HEADS,
            )
        ]
        present: Shape = ["batch", HEADS, "all", SIZE]
        outputs |= {"present_k": present, "present_v": present}
    value = helper.make_tensor_value_info
    graph_inputs = [value(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    if kind == CACHE:
        graph_inputs.append(value("last", TensorProto.INT32, ["batch"]))
        graph_inputs.append(value("total", TensorProto.INT32, []))
    graph = helper.make_graph(
        nodes,
        kind,
        graph_inputs,
        [value(name, TensorProto.FLOAT, shape) for name, shape in outputs.items()],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)


def feed_for(kind: str, tokens: int, keys: int) -> dict[str, Array]:
    """Return a seeded feed; of a cache, `keys` counts the new token too."""
    generator = np.random.default_rng(0)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    if kind == FLAT_KEYS:
        return {"q": normal(1, tokens, HIDDEN)} | {n: normal(1, keys, HIDDEN) for n in "kv"}
    if kind == CACHE:
        flat = {name: normal(1, tokens, HIDDEN) for name in "qkv"}
        past = {name: normal(1, HEADS, keys - tokens, SIZE) for name in ("past_k", "past_v")}
        lengths = {"last": np.array([keys - 1], np.int32), "total": np.array(keys, np.int32)}
        return flat | past | lengths
    query = (1, HEADS, tokens, SIZE) if kind == CHAIN else (1, tokens, HIDDEN)
    return {"q": normal(*query)} | {name: normal(1, HEADS, keys, SIZE) for name in "kv"}


def _microsoft(
    op_type: str, inputs: list[str], outputs: list[str], **attributes: Any
) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs, outputs, domain="com.microsoft", **attributes)
