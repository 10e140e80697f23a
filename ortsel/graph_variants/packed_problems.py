"""Reading ONNX Runtime's own `Attention`, which projects one input to query, key and value.

The projection becomes a product with the joined weights and a split: what the operator does itself.
"""

import math
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import (
    Added,
    AttentionProblem,
    Causal,
    Layout,
    Step,
    Tensor,
)
from ortsel.graph_variants.attention_site import RANK_WITHOUT_HEADS
from ortsel.graph_variants.fused_problems import MASK_FILTER, padding_addition
from ortsel.graph_variants.layouts import heads_first
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.shape_inference import PACKED_ATTENTION
from ortsel.graph_variants.variant import NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

INPUT, WEIGHTS, BIAS, MASK, PAST, ADDITION, PAST_LENGTH = range(7)
INT64: Final = 7
PRESENT: Final = 1
OPERANDS: Final = 3


def read_packed(node: "ir.Node", opset: int) -> AttentionProblem:
    """Return the problem that the operator solves. Raises `NotApplicableError` with the reason."""
    import onnx_ir as ir

    source, weights = _input(node, INPUT), _input(node, WEIGHTS)
    attributes = node.attributes
    if source is None or weights is None or source.shape is None or weights.shape is None:
        raise NotApplicableError("the shape of its input or its weights is unknown")
    if source.dtype != ir.DataType.FLOAT:
        reason = f"got an input of type {source.dtype}, need FLOAT"
        raise NotApplicableError(reason)
    if len(source.shape) != RANK_WITHOUT_HEADS:
        reason = f"got an input of rank {len(source.shape)}, need {RANK_WITHOUT_HEADS}"
        raise NotApplicableError(reason)
    shared = attributes.get_int("past_present_share_buffer", 0)
    if shared or _input(node, PAST_LENGTH) is not None:
        raise NotApplicableError("it has a cache of a fixed length")
    if attributes.get_int("do_rotary", 0):
        raise NotApplicableError("it rotates query and keys itself")
    heads, sizes = attributes.get_int("num_heads"), _sizes(node, weights)
    writer = NodeWriter(node.outputs[0].name or "", opset)
    query, key, value = _projected(node, writer, heads, sizes)
    new_key = key
    past, steps = _input(node, PAST), _steps(node, writer, source)
    if past is not None:
        key, value = (
            _grown(writer, past, index, tensor) for index, tensor in enumerate((key, value))
        )
    if attributes.get_int("unidirectional", 0):
        if steps:
            raise NotApplicableError("its rows may be masked by both order and masks")
        steps = (Causal(None if past is None else writer.dimension(past, 3)),)
    presents: tuple[ir.Value, ...] = ()
    if len(node.outputs) > PRESENT:
        first = writer.integers(0)
        halves = [
            writer.op("Unsqueeze", heads_first(writer, tensor), first) for tensor in (key, value)
        ]
        presents = (writer.op("Concat", *halves, axis=0),)
    return AttentionProblem(
        PACKED_ATTENTION,
        node,
        writer,
        query,
        key,
        value,
        attributes.get_float("scale", 0.0) or 1 / math.sqrt(sizes[0] // heads),
        steps,
        masked_rows_are_zero=False,
        result=Tensor(node.outputs[0], Layout.FLAT, heads, RANK_WITHOUT_HEADS),
        # What has keys and values as two outputs could not stand for the one that has both.
        new=None if past is not None or presents else (new_key, value),
        presents=presents,
    )


def _input(node: "ir.Node", index: int) -> "ir.Value | None":
    return node.inputs[index] if index < len(node.inputs) else None


def _sizes(node: "ir.Node", weights: "ir.Value") -> list[int]:
    """Return the sizes of query, key and value of one token, all heads together."""
    sizes = list(node.attributes.get_ints("qkv_hidden_sizes", ()))
    if sizes:
        return sizes
    joined = None if weights.shape is None else weights.shape[-1]
    if not isinstance(joined, int):
        raise NotApplicableError("the size of its weights is unknown")
    return [joined // OPERANDS] * OPERANDS


def _projected(
    node: "ir.Node", writer: NodeWriter, heads: int, sizes: list[int]
) -> tuple[Tensor, Tensor, Tensor]:
    import onnx_ir as ir

    source = node.inputs[INPUT]
    assert source is not None, "required by the caller"
    assert source.shape is not None, "required by the caller"
    joined = writer.op("MatMul", source, node.inputs[WEIGHTS])
    if (bias := _input(node, BIAS)) is not None:
        joined = writer.op("Add", joined, bias)
    parts = writer.node("Split", joined, writer.integers(*sizes), outputs=OPERANDS, axis=2)
    for part, size in zip(parts, sizes, strict=True):
        part.type = ir.TensorType(ir.DataType.FLOAT)
        part.shape = ir.Shape([*source.shape[:2], size])
    query, key, value = (Tensor(part, Layout.FLAT, heads, RANK_WITHOUT_HEADS) for part in parts)
    return query, key, value


def _grown(writer: NodeWriter, past: "ir.Value", index: int, tensor: Tensor) -> Tensor:
    """Write keys or values with the cache, which holds both, before them."""
    import numpy as np
    import onnx_ir as ir

    cached = writer.op("Gather", past, writer.constant(np.array(index)), axis=0)
    value = writer.op("Concat", cached, heads_first(writer, tensor), axis=2)
    size = None if tensor.value.shape is None else tensor.value.shape[-1]
    assert isinstance(size, int), "set where it was written"
    assert tensor.heads is not None, "a flat tensor has a number of heads"
    batch = None if tensor.value.shape is None else tensor.value.shape[0]
    value.type = ir.TensorType(ir.DataType.FLOAT)
    value.shape = ir.Shape([batch, tensor.heads, None, size // tensor.heads])
    return Tensor(value, Layout.HEADS_FIRST, tensor.heads, 4)


def _steps(node: "ir.Node", writer: NodeWriter, source: "ir.Value") -> tuple[Step, ...]:
    steps: list[Step] = []
    addition, mask = _input(node, ADDITION), _input(node, MASK)
    if addition is not None:
        if addition.shape is None:
            raise NotApplicableError("the rank of its attention_bias is unknown")
        steps.append(Added(addition))
    if mask is not None:
        filter_value = node.attributes.get_float("mask_filter_value", MASK_FILTER)
        if mask.shape is not None and len(mask.shape) == 1:
            mask = _visible(node, writer, mask, source)
        steps.append(Added(padding_addition(writer, mask, filter_value)))
    return tuple(steps)


def _visible(
    node: "ir.Node", writer: NodeWriter, lengths: "ir.Value", source: "ir.Value"
) -> "ir.Value":
    """Write a mask of tokens for numbers of tokens."""
    import numpy as np
    import onnx_ir as ir

    batch = None if source.shape is None else source.shape[0]
    count = None if lengths.shape is None else lengths.shape[0]
    if batch != count or (not isinstance(batch, int) and (batch is None or batch.value is None)):
        raise NotApplicableError("a mask of rank 1 may hold more than one number for each row")
    tokens = writer.dimension(source, 1)
    if (past := _input(node, PAST)) is not None:
        tokens = writer.op("Add", tokens, writer.dimension(past, 3))
    zero, one = (writer.constant(np.array(number)) for number in (0, 1))
    position = writer.op("Range", zero, writer.op("Squeeze", tokens), one)
    column = writer.op("Reshape", writer.op("Cast", lengths, to=INT64), writer.integers(-1, 1))
    visible = writer.op("Less", position, column)
    visible.type, visible.shape = ir.TensorType(ir.DataType.BOOL), ir.Shape([batch, None])
    return visible
