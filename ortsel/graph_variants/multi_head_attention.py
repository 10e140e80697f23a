"""Attention as `MultiHeadAttention`, its keys and values flat or with an axis of heads.

Flat ones take ONNX Runtime's tiled kernel, which keeps no scores; it copies them at each call.
With an axis of heads there is nothing to copy, which decides where there is a single query token.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import (
    RANK_WITH_HEADS,
    Added,
    AttentionProblem,
    Causal,
    Chosen,
    Layout,
    same_tokens,
)
from ortsel.graph_variants.attention_rewriting import MICROSOFT, rewrite_attention
from ortsel.graph_variants.attention_site import ONNX_ATTENTION
from ortsel.graph_variants.layouts import flat, heads_first
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.products import head_size
from ortsel.graph_variants.score_steps import may_mask_rows
from ortsel.graph_variants.shape_inference import MULTI_HEAD_ATTENTION, PACKED_ATTENTION
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

REPLACED: Final = ("Softmax", ONNX_ATTENTION, PACKED_ATTENTION)
"""What it can stand for, one for one."""


def emit_multi_head(problem: AttentionProblem, *, keys_flat: bool) -> "tuple[ir.Value, ...]":
    """Write a problem as one operator. Raises `NotApplicableError` where it has no such rule."""
    _require(problem, keys_flat=keys_flat)
    writer = problem.writer
    heads = problem.query.heads
    assert heads is not None, "required above"
    layout = flat if keys_flat else heads_first
    causal = any(isinstance(step, Causal) for step in problem.steps)
    result = writer.op(
        "MultiHeadAttention",
        flat(writer, problem.query),
        layout(writer, problem.key),
        layout(writer, problem.value),
        None,
        None,
        _bias(writer, problem),
        domain=MICROSOFT,
        num_heads=heads,
        scale=problem.scale,
        unidirectional=int(causal),
    )
    if problem.result.layout is Layout.HEADS_FIRST:
        shape = [writer.dimension(result, axis) for axis in (0, 1)]
        size = writer.op("Div", writer.dimension(result, 2), writer.integers(heads))
        split = writer.reshape(result, writer.join(*shape, writer.integers(heads), size))
        result = writer.op("Transpose", split, perm=[0, 2, 1, 3])
    return result, *problem.presents


def _require(problem: AttentionProblem, *, keys_flat: bool) -> None:
    same = Layout.FLAT if keys_flat else Layout.HEADS_FIRST
    if problem.source == "MultiHeadAttention" and problem.key.layout is same:
        raise NotApplicableError("it is that operator already")
    if problem.rank != RANK_WITH_HEADS or problem.query.heads is None:
        raise NotApplicableError("the number of its heads is unknown")
    if problem.group > 1 or problem.key.heads not in {None, problem.query.heads}:
        raise NotApplicableError("its heads are grouped")
    sizes = {head_size(problem.key), head_size(problem.value)}
    if not keys_flat and (len(sizes) > 1 or None in sizes):
        raise NotApplicableError("heads of keys and values differ in size, or it is unknown")
    if problem.masked_rows_are_zero and may_mask_rows(problem):
        raise NotApplicableError("a row without any visible key would not give 0")
    for step in problem.steps:
        known = isinstance(step, (Added, Chosen)) or (
            isinstance(step, Causal) and step.offset is None
        )
        if not known:
            raise NotApplicableError("something is done to its scores that has no counterpart")
    kinds = {isinstance(step, Causal) for step in problem.steps}
    if len(kinds) > 1 or (True in kinds and not same_tokens(problem.query, problem.key)):
        raise NotApplicableError("it is causal over other lengths or with masks")


def _bias(writer: NodeWriter, problem: AttentionProblem) -> "ir.Value | None":
    """Write what is added to the scores, of shape (batch or 1, heads or 1, queries, keys)."""
    total: ir.Value | None = None
    for step in problem.steps:
        if isinstance(step, Added):
            added = step.value
        elif isinstance(step, Chosen):
            values = [writer.number(0.0), writer.number(float("-inf"))]
            added = writer.op(
                "Where", step.condition, *(values if step.scores_if else reversed(values))
            )
        else:
            continue
        total = added if total is None else writer.op("Add", total, added)
    if total is None:
        return None
    sizes = [
        writer.dimension(tensor.value, tensor.tokens_axis)
        for tensor in (problem.query, problem.key)
    ]
    return writer.op("Expand", total, writer.join(writer.integers(1, 1), *sizes))


def to_multi_head(model: "ir.Model", *, keys_flat: bool) -> "ir.Model":
    """Return the model with attention as `MultiHeadAttention`, wherever the two mean the same."""
    return rewrite_attention(model, partial(emit_multi_head, keys_flat=keys_flat))


def ensures_multi_head(before: Census, after: Census) -> str:
    """The operator is there, and other attention or a softmax went for each that came."""
    came = after[MULTI_HEAD_ATTENTION] - before[MULTI_HEAD_ATTENTION]
    gone = sum(before[name] - after[name] for name in REPLACED)
    kept = after[MULTI_HEAD_ATTENTION] > 0 and came == gone
    return "" if kept else f"{gone} attentions went, {came} MultiHeadAttention came"


MULTI_HEAD: Final = GraphVariant(
    "multi-head-attention",
    "attention as MultiHeadAttention over flat keys and values",
    (),
    partial(to_multi_head, keys_flat=True),
    ensures_multi_head,
)
MULTI_HEAD_4D: Final = GraphVariant(
    "multi-head-attention-4d",
    "attention as MultiHeadAttention over keys and values with an axis of heads",
    (),
    partial(to_multi_head, keys_flat=False),
    ensures_multi_head,
)
