"""Reading `GroupQueryAttention` as an attention problem.

Each row of a batch has a length of its own: how many tokens of its cache count, and where its new
ones go. The cache is written anew as the operator does it; what it holds beyond is zero.
"""

import math
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import (
    Added,
    AttentionProblem,
    Capped,
    Causal,
    Layout,
    Step,
    Tensor,
)
from ortsel.graph_variants.attention_site import RANK_WITH_HEADS, RANK_WITHOUT_HEADS
from ortsel.graph_variants.layouts import heads_first
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.shape_inference import GROUP_QUERY_ATTENTION
from ortsel.graph_variants.variant import NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

INT64: Final = 7
QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LENGTHS, TOTAL, COS, SIN, POSITIONS, ADDITION = range(11)
FURTHER: Final = {
    11: "it has a sink",
    12: "its cache is quantised",
    13: "its cache is quantised",
    14: "it normalises queries",
    15: "it normalises keys",
    16: "its rows have numbers of new tokens of their own",
}
"""Inputs that no problem has, with why it is refused."""
PLAIN: Final = {
    "causal": (1, "it is not causal"),
    "kv_cache_bit_width": (0, "its cache is quantised"),
    "local_window_size": (-1, "it has a window"),
    "qk_output": (0, "its scores are an output too"),
    "sliding_window_cache": (0, "its cache is a window"),
    "smooth_softmax": (0, "its softmax is smoothed"),
}
"""Attributes with the only values that are read, and why another one is refused."""
QK_OUTPUT: Final = 3


def read_group_query(node: "ir.Node", opset: int) -> AttentionProblem:
    """Return the problem that the operator solves. Raises `NotApplicableError` with the reason."""
    _require_plain(node)
    attributes = node.attributes
    heads, key_heads = attributes.get_int("num_heads"), attributes.get_int("kv_num_heads")
    writer = NodeWriter(node.outputs[0].name or "", opset)
    query, key, value, size = _operands(node, writer, heads, key_heads)
    past = _input(node, PAST_KEY), _input(node, PAST_VALUE)
    before = _tokens_before(node, writer, query)
    if attributes.get_int("do_rotary", 0):
        query, key = (_rotated(node, writer, tensor, before, size) for tensor in (query, key))
    steps: list[Step] = []
    if limit := attributes.get_float("softcap", 0.0):
        steps.append(Capped(limit))
    if (addition := _input(node, ADDITION)) is not None:
        if past[0] is not None or addition.shape is None:
            raise NotApplicableError("it adds to scores over a cache, or of unknown rank")
        steps.append(Added(addition))
    column = None
    if past[0] is not None:
        column = writer.op("Reshape", before, writer.integers(-1, 1, 1, 1))
    steps.append(Causal(column))
    if past[0] is not None and past[1] is not None and column is not None:
        key, value = (
            _grown(node, writer, cached, tensor, column)
            for cached, tensor in ((past[0], key), (past[1], value))
        )
    asked = range(1, min(len(node.outputs), QK_OUTPUT))
    return AttentionProblem(
        GROUP_QUERY_ATTENTION,
        node,
        writer,
        query,
        key,
        value,
        attributes.get_float("scale", 0.0) or 1 / math.sqrt(size),
        tuple(steps),
        masked_rows_are_zero=False,
        result=Tensor(node.outputs[0], Layout.FLAT, heads, RANK_WITHOUT_HEADS),
        presents=tuple(heads_first(writer, (key, value)[index - 1]) for index in asked),
    )


def _input(node: "ir.Node", index: int) -> "ir.Value | None":
    return node.inputs[index] if index < len(node.inputs) else None


def _require_plain(node: "ir.Node") -> None:
    import onnx_ir as ir

    attributes, query = node.attributes, _input(node, QUERY)
    for index, reason in FURTHER.items():
        if _input(node, index) is not None:
            raise NotApplicableError(reason)
    if query is None or query.dtype != ir.DataType.FLOAT:
        reason = f"got a query of type {None if query is None else query.dtype}, need FLOAT"
        raise NotApplicableError(reason)
    named = len(node.outputs) > QK_OUTPUT and node.outputs[QK_OUTPUT].name
    if named:
        raise NotApplicableError("its scores are an output too")
    for name, (plain, reason) in PLAIN.items():
        if attributes.get_int(name, plain) != plain:
            raise NotApplicableError(reason)
    if (_input(node, PAST_KEY) is None) != (_input(node, PAST_VALUE) is None):
        raise NotApplicableError("its cache has keys or values alone")


def _operands(
    node: "ir.Node", writer: NodeWriter, heads: int, key_heads: int
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Return query, new keys and new values, and the size of a head; splits what is packed."""
    import onnx_ir as ir

    query, key, value = (_input(node, index) for index in (QUERY, KEY, VALUE))
    assert query is not None, "required above"
    hidden = None if query.shape is None else query.shape[-1]
    if query.shape is None or len(query.shape) != RANK_WITHOUT_HEADS or not isinstance(hidden, int):
        raise NotApplicableError("the shape of its query is unknown")
    if key is not None and value is not None:
        size = hidden // heads
    else:
        size = hidden // (heads + 2 * key_heads)
        sizes = [heads * size, key_heads * size, key_heads * size]
        parts = writer.node("Split", query, writer.integers(*sizes), outputs=3, axis=2)
        for part, of in zip(parts, sizes, strict=True):
            part.type = ir.TensorType(ir.DataType.FLOAT)
            part.shape = ir.Shape([*query.shape[:2], of])
        query, key, value = parts
    return (
        Tensor(query, Layout.FLAT, heads, RANK_WITHOUT_HEADS),
        Tensor(key, Layout.FLAT, key_heads, RANK_WITHOUT_HEADS),
        Tensor(value, Layout.FLAT, key_heads, RANK_WITHOUT_HEADS),
        size,
    )


def _tokens_before(node: "ir.Node", writer: NodeWriter, query: Tensor) -> "ir.Value":
    """Write how many tokens of the cache count, one number for each row of the batch.

    The operator is told the last position instead. A prompt that is padded on the right has a
    length below its number of tokens, and nothing before it.
    """
    last = writer.op("Cast", _input(node, LENGTHS), to=INT64)
    tokens = writer.dimension(query.value, 1)
    length = writer.op("Add", writer.op("Reshape", last, writer.integers(-1)), writer.integers(1))
    return writer.op("Max", writer.op("Sub", length, tokens), writer.integers(0))


def _rotated(
    node: "ir.Node", writer: NodeWriter, tensor: Tensor, before: "ir.Value", size: int
) -> Tensor:
    """Write the rotation of queries or keys by their positions."""
    import numpy as np

    cos, sin = _input(node, COS), _input(node, SIN)
    if _input(node, POSITIONS) is not None:
        raise NotApplicableError("its positions are an input")
    half = None if cos is None or cos.shape is None else cos.shape[-1]
    if not isinstance(half, int):
        raise NotApplicableError("the size of its rotation is unknown")
    zero, one = (writer.constant(np.array(number)) for number in (0, 1))
    tokens = writer.op("Squeeze", writer.dimension(tensor.value, 1))
    column = writer.op("Reshape", before, writer.integers(-1, 1))
    positions = writer.op("Add", column, writer.op("Range", zero, tokens, one))
    rotated = writer.op(
        "RotaryEmbedding",
        tensor.value,
        positions,
        cos,
        sin,
        domain="com.microsoft",
        num_heads=tensor.heads or 1,
        rotary_embedding_dim=2 * half if 2 * half < size else 0,
        interleaved=node.attributes.get_int("rotary_interleaved", 0),
    )
    rotated.type, rotated.shape = tensor.value.type, tensor.value.shape
    return Tensor(rotated, tensor.layout, tensor.heads, tensor.rank)


def _grown(
    node: "ir.Node", writer: NodeWriter, cached: "ir.Value", tensor: Tensor, column: "ir.Value"
) -> Tensor:
    """Write the cache with the new tokens of each row where its own cache ends."""
    import numpy as np
    import onnx_ir as ir

    zeros, zero, one = writer.integers(0), *(writer.constant(np.array(n)) for n in (0, 1))
    new = heads_first(writer, tensor)
    total = writer.op("Cast", _input(node, TOTAL), to=INT64)
    room = writer.dimension(cached, 2)
    length = writer.op("Max", room, writer.op("Reshape", total, writer.integers(1)))
    missing = writer.op("Sub", length, room)
    pads = writer.join(writer.integers(*[0] * 6), missing, zeros)
    padded = writer.op("Pad", cached, pads)
    position = writer.op("Range", zero, writer.op("Squeeze", length), one)
    row = writer.op("Reshape", position, writer.integers(1, 1, -1, 1))
    kept = writer.op("Where", writer.op("Less", row, column), padded, writer.number(0.0))
    tokens = writer.op("Squeeze", writer.dimension(new, 2))
    number = writer.op("Reshape", writer.op("Range", zero, tokens, one), writer.integers(-1, 1))
    index = writer.op("Expand", writer.op("Add", column, number), writer.op("Shape", new))
    value = writer.op("ScatterElements", kept, index, new, axis=2)
    shape = tensor.value.shape
    if shape is not None and isinstance(shape[-1], int):
        heads = tensor.heads or 1
        value.type = ir.TensorType(ir.DataType.FLOAT)
        value.shape = ir.Shape([shape[0], heads, None, shape[-1] // heads])
    return Tensor(value, Layout.HEADS_FIRST, tensor.heads, RANK_WITH_HEADS)
