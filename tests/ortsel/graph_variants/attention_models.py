"""Small attention models with their feeds, and attention in double precision to judge them by."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import onnx
from attrs import frozen
from hypothesis import strategies as st
from onnx import TensorProto, helper

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@frozen
class Attention:
    """An attention problem: batch, heads, head size, query tokens, new keys, keys in the cache."""

    batch: int = 1
    heads: int = 2
    head_size: int = 8
    queries: int = 1
    keys: int = 5
    past: int | None = None
    """None has no cache inputs; 0 has empty ones."""
    scale: float | None = None
    """None is the operator's default, 1 / sqrt(head size)."""
    with_heads: bool = False
    """4-D operands with the heads before the sequence; of `MultiHeadAttention`, keys and values."""

    @property
    def factor(self) -> float:
        return 1 / math.sqrt(self.head_size) if self.scale is None else self.scale

    @property
    def hidden(self) -> int:
        return self.heads * self.head_size

    def shapes(self, *, query_with_heads: bool) -> dict[str, tuple[int, ...]]:
        flat = (self.batch, self.keys, self.hidden)
        with_heads = (self.batch, self.heads, self.keys, self.head_size)
        shapes: dict[str, tuple[int, ...]] = {
            "q": (self.batch, self.heads, self.queries, self.head_size)
            if query_with_heads
            else (self.batch, self.queries, self.hidden),
            "k": with_heads if self.with_heads else flat,
            "v": with_heads if self.with_heads else flat,
        }
        if self.past is not None:
            cache = (self.batch, self.heads, self.past, self.head_size)
            shapes |= {"past_k": cache, "past_v": cache}
        return shapes


def multi_head_attention(
    problem: Attention, *, opset: int = 17, dynamic: bool = True, **attributes: Any
) -> onnx.ModelProto:
    """One com.microsoft.MultiHeadAttention on graph inputs."""
    inputs = ["q", "k", "v"]
    if problem.past is not None:
        inputs += ["", "", "", "past_k", "past_v"]
    attributes = {"num_heads": problem.heads} | attributes
    node = helper.make_node(
        "MultiHeadAttention", inputs, _outputs(problem), "attention", domain="com.microsoft"
    )
    return _model(problem, node, attributes, opset, dynamic=dynamic)


def onnx_attention(
    problem: Attention, *, opset: int = 23, dynamic: bool = True, **attributes: Any
) -> onnx.ModelProto:
    """One ONNX Attention on graph inputs."""
    inputs = ["q", "k", "v"]
    if problem.past is not None:
        inputs += ["", "past_k", "past_v"]
    if not problem.with_heads:
        heads = {"q_num_heads": problem.heads, "kv_num_heads": problem.heads}
        attributes = heads | attributes
    node = helper.make_node("Attention", inputs, _outputs(problem), "attention")
    return _model(problem, node, attributes, opset, dynamic=dynamic)


def _outputs(problem: Attention) -> list[str]:
    return ["y", "present_k", "present_v"] if problem.past is not None else ["y"]


def _model(
    problem: Attention,
    node: onnx.NodeProto,
    attributes: dict[str, Any],
    opset: int,
    *,
    dynamic: bool,
) -> onnx.ModelProto:
    onnx_operator = node.domain == ""
    shapes = problem.shapes(query_with_heads=onnx_operator and problem.with_heads)
    if problem.scale is not None:
        attributes = {"scale": problem.scale} | attributes
    for name, attribute in attributes.items():
        node.attribute.append(helper.make_attribute(name, attribute))
    value = helper.make_tensor_value_info
    open_axes = {3: {0: "batch", 1: "length"}, 4: {0: "batch", 2: "length"}}

    def dimensions(name: str, shape: tuple[int, ...]) -> list[int | str]:
        named = open_axes[len(shape)] if dynamic else {}
        return [
            f"{name}_{named[axis]}" if axis in named else size for axis, size in enumerate(shape)
        ]

    graph = helper.make_graph(
        [node],
        "attention",
        [value(n, TensorProto.FLOAT, dimensions(n, shape)) for n, shape in shapes.items()],
        [value(name, TensorProto.FLOAT, None) for name in node.output],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def feed_for(model: onnx.ModelProto, problem: Attention, seed: int = 0) -> dict[str, Array]:
    """Return a seeded feed of the problem's exact shapes."""
    onnx_operator = model.graph.node[0].domain == ""
    generator = np.random.default_rng(seed)
    shapes = problem.shapes(query_with_heads=onnx_operator and problem.with_heads)
    return {
        name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()
    }


def in_double_precision(problem: Attention, feed: Mapping[str, Array]) -> list[Array]:
    """Return the outputs of the problem, computed in float64."""

    def with_heads(name: str) -> Array:
        value = feed[name].astype(np.float64)
        if value.ndim == 4:
            return value
        shape = (problem.batch, value.shape[1], problem.heads, problem.head_size)
        return value.reshape(shape).transpose(0, 2, 1, 3)

    query, key, value = with_heads("q"), with_heads("k"), with_heads("v")
    if problem.past is not None:
        key = np.concatenate([with_heads("past_k"), key], axis=2)
        value = np.concatenate([with_heads("past_v"), value], axis=2)
    scores = problem.factor * query @ key.transpose(0, 1, 3, 2)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    output = weights / weights.sum(axis=-1, keepdims=True) @ value
    if feed["q"].ndim == 3:
        flat = (problem.batch, problem.queries, problem.hidden)
        output = output.transpose(0, 2, 1, 3).reshape(flat)
    return [output] if problem.past is None else [output, key, value]


@st.composite
def attention_problems(draw: st.DrawFn, *, with_heads: bool | None = None) -> Attention:
    """Draw attention problems; every length of at least one token."""
    return Attention(
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
        draw(st.sampled_from((1, 4, 8, 24))),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 9)),
        draw(st.none() | st.integers(0, 5)),
        draw(st.none() | st.sampled_from((0.125, 0.3, 2.0))),
        draw(st.booleans()) if with_heads is None else with_heads,
    )
