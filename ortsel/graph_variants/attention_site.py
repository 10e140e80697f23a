"""Fused attention nodes of a graph, as far as rewrites look at them."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ortsel.graph_variants.shape_inference import MULTI_HEAD_ATTENTION, infer_shapes
from ortsel.graph_variants.variant import operator

if TYPE_CHECKING:
    import onnx_ir as ir

ONNX_ATTENTION: Final = "Attention"
HEADS: Final = 1
"""Axis of the heads in a 4-D operand: batch, heads, sequence, head size."""
RANK_WITH_HEADS: Final = 4
RANK_WITHOUT_HEADS: Final = 3


@frozen(eq=False)
class FusedAttention:
    """A `MultiHeadAttention` or ONNX `Attention` node on separate float32 operands."""

    node: "ir.Node"
    scale: float
    """Factor on the scores before masks and softmax; ONNX Runtime's default is worked out."""
    query_length: int | None
    """Tokens of the query, None where the graph leaves it open."""

    @property
    def is_onnx(self) -> bool:
        """Whether it is ONNX's own operator rather than ONNX Runtime's."""
        return operator(self.node) == ONNX_ATTENTION

    def input(self, index: int) -> "ir.Value | None":
        """Return an input, None where it is left out."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    def output(self, index: int) -> "ir.Value | None":
        """Return an output, None where it is left out."""
        outputs = self.node.outputs
        return outputs[index] if index < len(outputs) and outputs[index].name else None


def fused_attention(model: "ir.Model") -> Iterator[FusedAttention]:
    """Yield the fused attention nodes of a model, in order, subgraphs included.

    Infers types and shapes first. Left out are nodes inside local functions, nodes on another type
    than float32, packed operands, and nodes whose scale can't be known.
    """
    import onnx_ir as ir

    infer_shapes(model)
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        if operator(node) in {MULTI_HEAD_ATTENTION, ONNX_ATTENTION}:
            site = _site(node)
            if site is not None:
                yield site


def _site(node: "ir.Node") -> FusedAttention | None:
    import onnx_ir as ir

    operands = [*node.inputs[:3], None, None, None][:3]
    query, key, value = operands
    if query is None or key is None or value is None or node.graph is None:
        return None
    if query.dtype != ir.DataType.FLOAT:
        return None
    head_size = _head_size(node, query) or _last(key, RANK_WITH_HEADS)
    scale = node.attributes.get_float("scale", 0.0)
    if not scale and not head_size:
        return None
    length = None
    if query.shape is not None:
        axis = -2 if len(query.shape) == RANK_WITH_HEADS else 1
        dimension = query.shape[axis]
        length = dimension if isinstance(dimension, int) else None
    return FusedAttention(node, scale or 1 / math.sqrt(head_size or 1), length)


def _head_size(node: "ir.Node", query: "ir.Value") -> int | None:
    """Return the size of one query head where the query's shape tells."""
    if head_size := _last(query, RANK_WITH_HEADS):
        return head_size
    hidden_size = _last(query, RANK_WITHOUT_HEADS)
    name = "q_num_heads" if operator(node) == ONNX_ATTENTION else "num_heads"
    heads = node.attributes.get_int(name, 0)
    return hidden_size // heads if hidden_size and heads else None


def _last(value: "ir.Value", rank: int) -> int | None:
    """Return the last dimension of a value of this rank, None where it isn't known."""
    if value.shape is None or len(value.shape) != rank:
        return None
    size = value.shape[-1]
    return size if isinstance(size, int) else None
