"""Types and shapes of the values in a graph, ONNX Runtime's own operators included.

ONNX's inference stops at an operator that it does not know, and so at the first fused attention of
a model with twenty. The few rules here carry it on.
"""

import math
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.variant import all_nodes, operator

if TYPE_CHECKING:
    import onnx_ir as ir

SAME_AS_FIRST_INPUT: Final = frozenset(
    f"com.microsoft::{name}"
    for name in (
        "BiasGelu",
        "FastGelu",
        "Gelu",
        "QuickGelu",
        "RotaryEmbedding",
        "SkipLayerNormalization",
        "SkipSimplifiedLayerNormalization",
    )
) | {"SimplifiedLayerNormalization"}
"""Operators whose first output has the type and shape of their first input."""

MULTI_HEAD_ATTENTION: Final = "com.microsoft::MultiHeadAttention"
GROUP_QUERY_ATTENTION: Final = "com.microsoft::GroupQueryAttention"
PACKED_ATTENTION: Final = "com.microsoft::Attention"
ATTENTION: Final = frozenset({MULTI_HEAD_ATTENTION, GROUP_QUERY_ATTENTION, PACKED_ATTENTION})
"""Operators whose first output has the batch and the tokens of their first input."""

VALUE: Final = 2
WITH_HEADS: Final = 4
"""Rank of values with an axis of heads: batch, heads, sequence, head size."""

MAX_ROUNDS: Final = 128
"""Each round gets at least one unknown operator further; deeper models stay partly unknown."""


def infer_shapes(model: "ir.Model") -> None:
    """Fill in the types and shapes of a model's values, as far as they can be known."""
    from onnx_ir.passes.common import ShapeInferencePass

    for _ in range(MAX_ROUNDS):
        ShapeInferencePass()(model)
        gained = sum(_carry_on(node) for node in all_nodes(model))
        if not gained:
            return


def _carry_on(node: "ir.Node") -> bool:
    """Give an operator's first output its type and shape; whether that was new."""
    import onnx_ir as ir

    name = operator(node)
    if name not in SAME_AS_FIRST_INPUT and name not in ATTENTION:
        return False
    source, output = node.inputs[0], node.outputs[0]
    if source is None:
        return False
    new_type = output.type is None and source.type is not None
    if new_type:
        output.type = source.type
    new_shape = output.shape is None and source.shape is not None
    if new_shape and source.shape is not None:
        dimensions = list(source.shape)
        if name in ATTENTION:
            size = _result_size(node)
            dimensions = [*dimensions[:2], ir.SymbolicDim(None) if size is None else size]
        output.shape = ir.Shape(dimensions)
    return new_type or new_shape


def _result_size(node: "ir.Node") -> int | None:
    """Return the last dimension of an attention's output."""
    if operator(node) == PACKED_ATTENTION:
        sizes = node.attributes.get_ints("qkv_hidden_sizes", ())
        weights = node.inputs[1]
        joined = None if weights is None or weights.shape is None else weights.shape[-1]
        if sizes:
            return sizes[VALUE]
        return joined // 3 if isinstance(joined, int) else None
    if operator(node) == GROUP_QUERY_ATTENTION:
        query = node.inputs[0]
        hidden = None if query is None or query.shape is None else query.shape[-1]
        if not isinstance(hidden, int) or node.inputs[1] is not None:
            return hidden if isinstance(hidden, int) else None
        heads = node.attributes.get_int("num_heads")
        return hidden // (heads + 2 * node.attributes.get_int("kv_num_heads")) * heads
    return _value_size(node)


def _value_size(node: "ir.Node") -> int | None:
    """Return the last dimension of an attention's output, which the values decide."""
    value = node.inputs[VALUE] if len(node.inputs) > VALUE else None
    if value is None or value.shape is None:
        return None
    sizes = (
        (value.shape[1], value.shape[-1]) if len(value.shape) == WITH_HEADS else value.shape[-1:]
    )
    known = [size for size in sizes if isinstance(size, int)]
    return math.prod(known) if len(known) == len(sizes) else None
