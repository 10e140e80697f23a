"""Reading attention operators as attention problems: ONNX `Attention`, `MultiHeadAttention`."""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import (
    Added,
    AttentionProblem,
    Capped,
    Causal,
    Chosen,
    Layout,
    Lengths,
    Step,
    Tensor,
    same_tokens,
)
from ortsel.graph_variants.attention_site import (
    RANK_WITH_HEADS,
    RANK_WITHOUT_HEADS,
    FusedAttention,
)
from ortsel.graph_variants.layouts import heads_first
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.variant import NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

FLOAT: Final = 1
"""ONNX's number of float32, which `softmax_precision` may name."""
BOOL: Final = 9
MASK_FILTER: Final = -10_000.0
"""What `MultiHeadAttention` adds to scores of padding, unless it is told otherwise."""
UNBOUNDED: Final = -1

ONNX_MASK, ONNX_PAST_KEY, ONNX_PAST_VALUE, ONNX_LENGTHS = 3, 4, 5, 6
BIAS, PADDING, ADDITION, PAST_KEY, PAST_VALUE = 3, 4, 5, 6, 7
OTHER_INPUTS: Final = (8, 9)
"""Past length of a shared buffer, and beams: no problem of ours has them."""
QK_OUTPUT: Final = 3

UNEQUAL: Final = (
    "it is causal, and the graph does not say that there are as many new keys as queries: ONNX "
    "Runtime's kernels then have rules of their own"
)
"""Found with ONNX Runtime 1.32: a single query sees all keys, and `MultiHeadAttention` with fewer
queries than keys fits no offset."""


def read_fused(site: FusedAttention, opset: int) -> AttentionProblem:
    """Return the problem that an operator solves. Raises `NotApplicableError` with the reason."""
    if site.output(QK_OUTPUT) is not None:
        raise NotApplicableError("its scores are an output too")
    writer = NodeWriter(site.node.outputs[0].name or "", opset)
    return _onnx(site, writer) if site.is_onnx else _multi_head(site, writer)


def _onnx(site: FusedAttention, writer: NodeWriter) -> AttentionProblem:
    attributes = site.node.attributes
    _require_plain(site.node)
    q_heads, kv_heads = (
        attributes.get_int(name, 0) or None for name in ("q_num_heads", "kv_num_heads")
    )
    query = _operand(site, 0, q_heads, "query")
    new = _operand(site, 1, kv_heads, "key"), _operand(site, 2, kv_heads, "value")
    if len({query.rank, new[0].rank, new[1].rank}) > 1:
        raise NotApplicableError("query, key and value differ in rank")
    past = _past(site, ONNX_PAST_KEY, ONNX_PAST_VALUE)
    key, value = _with_past(writer, past, new)
    return AttentionProblem(
        "Attention",
        site.node,
        writer,
        query,
        key,
        value,
        site.scale,
        _onnx_steps(site, writer, query, new[0]),
        masked_rows_are_zero=True,
        result=Tensor(site.node.outputs[0], query.layout, query.heads, query.rank),
        past=past,
        new=new,
        presents=_presents(writer, site, key, value),
    )


def _require_plain(node: "ir.Node") -> None:
    if node.attributes.get_int("softmax_precision", 0) not in {0, FLOAT}:
        raise NotApplicableError("its softmax has a precision of its own")
    for name in ("left_window_size", "right_window_size"):
        if node.attributes.get_int(name, UNBOUNDED) != UNBOUNDED:
            raise NotApplicableError("it has a window")


def _onnx_steps(
    site: FusedAttention, writer: NodeWriter, query: Tensor, key: Tensor
) -> tuple[Step, ...]:
    """Return what is done to the scores; `key` is without the cache."""
    attributes, past = site.node.attributes, site.input(ONNX_PAST_KEY)
    steps: list[Step] = []
    if limit := attributes.get_float("softcap", 0.0):
        steps.append(Capped(limit))
    mask = site.input(ONNX_MASK)
    if mask is not None:
        keys = key.tokens if past is None else None
        steps.append(_onnx_mask(mask, keys))
    lengths = site.input(ONNX_LENGTHS)
    column = None
    if lengths is not None:
        column = writer.op("Reshape", lengths, writer.integers(-1, 1, 1, 1))
        steps.append(Lengths(column))
    if attributes.get_int("is_causal", 0):
        if past is not None and not same_tokens(query, key):
            raise NotApplicableError(UNEQUAL)
        offset: ir.Value | None = None
        if column is not None:
            offset = writer.op("Sub", column, writer.dimension(query.value, query.tokens_axis))
        elif past is not None:
            offset = writer.dimension(past, 2)
        steps.append(Causal(offset))
    return tuple(steps)


def _onnx_mask(mask: "ir.Value", keys: int | None) -> Step:
    import onnx_ir as ir

    if mask.shape is None:
        raise NotApplicableError("the rank of its mask is unknown")
    masked = mask.shape[-1]
    if isinstance(masked, int) and keys is not None and masked != keys:
        reason = f"got a mask of {masked} keys, need {keys}"
        raise NotApplicableError(reason)
    if mask.dtype == ir.DataType.BOOL:
        return Chosen(mask, scores_if=True)
    if mask.dtype == ir.DataType.FLOAT:
        return Added(mask)
    reason = f"got a mask of type {mask.dtype}, need BOOL or FLOAT"
    raise NotApplicableError(reason)


def _multi_head(site: FusedAttention, writer: NodeWriter) -> AttentionProblem:
    heads = site.node.attributes.get_int("num_heads")
    for index in OTHER_INPUTS:
        if site.input(index) is not None:
            raise NotApplicableError("it has a cache of a fixed length, or beams")
    query = _operand(site, 0, heads, "query")
    new = _operand(site, 1, heads, "key"), _operand(site, 2, heads, "value")
    if query.layout is not Layout.FLAT:
        raise NotApplicableError("its operands are packed")
    if site.input(BIAS) is not None:
        query, new = _biased(site, writer, query, new)
    past = _past(site, PAST_KEY, PAST_VALUE)
    key, value = _with_past(writer, past, new)
    return AttentionProblem(
        "MultiHeadAttention",
        site.node,
        writer,
        query,
        key,
        value,
        site.scale,
        _multi_head_steps(site, writer, query, new[0]),
        masked_rows_are_zero=False,
        result=Tensor(site.node.outputs[0], Layout.FLAT, heads, RANK_WITHOUT_HEADS),
        past=past,
        new=new,
        presents=_presents(writer, site, key, value),
    )


def _multi_head_steps(
    site: FusedAttention, writer: NodeWriter, query: Tensor, key: Tensor
) -> tuple[Step, ...]:
    """Return what is done to the scores; `key` is without the cache."""
    attributes, past = site.node.attributes, site.input(PAST_KEY)
    steps: list[Step] = []
    addition, padding = site.input(ADDITION), site.input(PADDING)
    causal = attributes.get_int("unidirectional", 0)
    if causal and (addition is not None or padding is not None):
        raise NotApplicableError("its rows may be masked by both order and masks")
    if addition is not None:
        if addition.shape is None:
            raise NotApplicableError("the rank of its attention_bias is unknown")
        steps.append(Added(addition))
    if padding is not None:
        filter_value = attributes.get_float("mask_filter_value", MASK_FILTER)
        steps.append(Added(padding_addition(writer, padding, filter_value)))
    if causal:
        if not same_tokens(query, key):
            raise NotApplicableError(UNEQUAL)
        steps.append(Causal(None if past is None else writer.dimension(past, 2)))
    return tuple(steps)


def _operand(site: FusedAttention, index: int, heads: int | None, name: str) -> Tensor:
    value = site.input(index)
    if value is None or value.shape is None:
        reason = f"the rank of its {name} is unknown"
        raise NotApplicableError(reason)
    rank = len(value.shape)
    if rank == RANK_WITH_HEADS:
        size = value.shape[1]
        return Tensor(value, Layout.HEADS_FIRST, size if isinstance(size, int) else heads, rank)
    if rank == RANK_WITHOUT_HEADS and heads:
        return Tensor(value, Layout.FLAT, heads, rank)
    reason = f"got a {name} of rank {rank}, need 3 or 4"
    raise NotApplicableError(reason)


def _past(site: FusedAttention, key: int, value: int) -> "tuple[ir.Value, ir.Value] | None":
    past_key, past_value = site.input(key), site.input(value)
    if (past_key is None) != (past_value is None):
        raise NotApplicableError("its cache has keys or values alone")
    return None if past_key is None or past_value is None else (past_key, past_value)


def _with_past(
    writer: NodeWriter, past: "tuple[ir.Value, ir.Value] | None", new: tuple[Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    if past is None:
        return new
    joined = [_joined(writer, cached, tensor) for cached, tensor in zip(past, new, strict=True)]
    return joined[0], joined[1]


def _joined(writer: NodeWriter, cached: "ir.Value", tensor: Tensor) -> Tensor:
    import onnx_ir as ir

    value = writer.op("Concat", cached, heads_first(writer, tensor), axis=2)
    if cached.shape is not None and len(cached.shape) == RANK_WITH_HEADS:
        sizes, length = list(cached.shape), cached.shape[2]
        added = tensor.tokens
        if isinstance(length, int) and added is not None:
            sizes[2] = length + added
        else:
            sizes[2] = ir.SymbolicDim(None)
        value.type, value.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(sizes)
    return Tensor(value, Layout.HEADS_FIRST, tensor.heads, RANK_WITH_HEADS)


def _presents(
    writer: NodeWriter, site: FusedAttention, key: Tensor, value: Tensor
) -> "tuple[ir.Value, ...]":
    """Write what the outputs for the cache hold, as far as the operator has them."""
    asked = range(1, min(len(site.node.outputs), QK_OUTPUT))
    return tuple(heads_first(writer, (key, value)[index - 1]) for index in asked)


def padding_addition(writer: NodeWriter, padding: "ir.Value", filter_value: float) -> "ir.Value":
    """Write a mask of tokens, or of tokens by query, as something to add to the scores."""
    import onnx_ir as ir

    rank = 0 if padding.shape is None else len(padding.shape)
    if rank not in {2, 3}:
        reason = f"got a key_padding_mask of rank {rank or '?'}, need 2 or 3"
        raise NotApplicableError(reason)
    visible = writer.op("Cast", padding, to=BOOL)
    added = writer.op("Where", visible, writer.number(0.0), writer.number(filter_value))
    sizes = [writer.dimension(added, axis) for axis in range(rank)]
    ones = [writer.integers(1)] * (RANK_WITH_HEADS - rank)
    result = writer.reshape(added, writer.join(sizes[0], *ones, *sizes[1:]))
    assert padding.shape is not None, "of a known rank"
    shape = list(padding.shape)
    result.type = ir.TensorType(ir.DataType.FLOAT)
    result.shape = ir.Shape([shape[0], *[1] * len(ones), *shape[1:]])
    return result


def _biased(
    site: FusedAttention, writer: NodeWriter, query: Tensor, new: tuple[Tensor, Tensor]
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    """Write the addition of biases to query, key and value, which one vector holds."""
    bias = site.input(BIAS)
    if any(tensor.layout is not Layout.FLAT for tensor in new):
        raise NotApplicableError("it adds biases to keys with heads")
    begin, added = 0, []
    for tensor in (query, *new):
        size = None if tensor.value.shape is None else tensor.value.shape[-1]
        if not isinstance(size, int):
            raise NotApplicableError("the size of its biases is unknown")
        part = writer.op("Slice", bias, writer.integers(begin), writer.integers(begin + size))
        begin += size
        value = writer.op("Add", tensor.value, part)
        value.shape, value.type = tensor.value.shape, tensor.value.type
        added.append(Tensor(value, tensor.layout, tensor.heads, tensor.rank))
    return added[0], (added[1], added[2])
