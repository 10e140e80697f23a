"""Causal attention with a cache as `GroupQueryAttention`, which has a kernel for single tokens.

It also has the one kernel of ONNX Runtime on the CPU that can grow a cache in place: see
`ortsel.kv_cache`.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from ortsel.graph_variants.attention_problem import (
    RANK_WITH_HEADS,
    AttentionProblem,
    Causal,
    Layout,
    Tensor,
    same_tokens,
)
from ortsel.graph_variants.attention_rewriting import MICROSOFT, rewrite_attention
from ortsel.graph_variants.layouts import flat
from ortsel.graph_variants.products import head_size
from ortsel.graph_variants.shape_inference import GROUP_QUERY_ATTENTION
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

INT32: Final = 6
HEAD_SIZE_UNIT: Final = 8
"""Other sizes of heads are refused by the kernel when it runs."""


def emit_group_query(problem: AttentionProblem) -> "tuple[ir.Value, ...]":
    """Write a problem as one operator. Raises `NotApplicableError` where it has no such rule."""
    new_key, new_value = _require(problem)
    writer = problem.writer
    query = flat(writer, problem.query)
    total = writer.dimension(flat(writer, new_key), 1)
    past: tuple[ir.Value | None, ir.Value | None] = (None, None)
    if problem.past is not None:
        past = problem.past
        total = writer.op("Add", total, writer.dimension(problem.past[0], 2))
    total = writer.op("Cast", total, to=INT32)
    one = writer.constant(np.array([1], np.int32))
    batch = writer.dimension(query, 0)
    lengths = writer.op("Expand", writer.op("Sub", total, one), batch)
    result, present_key, present_value = writer.node(
        "GroupQueryAttention",
        query,
        flat(writer, new_key),
        flat(writer, new_value),
        *past,
        lengths,
        writer.op("Squeeze", total),
        outputs=3,
        domain=MICROSOFT,
        num_heads=problem.query.heads or 1,
        kv_num_heads=problem.key.heads or 1,
        scale=problem.scale,
    )
    if problem.result.layout is Layout.HEADS_FIRST:
        size = head_size(problem.query)
        assert size is not None, "required above"
        shape = writer.integers(0, 0, problem.query.heads or 1, size)
        split = writer.op("Reshape", result, shape)
        result = writer.op("Transpose", split, perm=[0, 2, 1, 3])
    return result, *(present_key, present_value)[: len(problem.presents)]


def _require(problem: AttentionProblem) -> tuple[Tensor, Tensor]:
    if problem.new is None or problem.rank != RANK_WITH_HEADS:
        raise NotApplicableError("it is no operator, or its heads are unknown")
    key, value = problem.new
    if problem.query.heads is None or problem.key.heads is None:
        raise NotApplicableError("the number of its heads is unknown")
    sizes = {head_size(tensor) for tensor in (problem.query, key, value)}
    if len(sizes) > 1 or None in sizes:
        raise NotApplicableError("its heads differ in size, or their size is unknown")
    if any(size is not None and size % HEAD_SIZE_UNIT for size in sizes):
        reason = f"got a head size of {sizes.pop()}, need a multiple of {HEAD_SIZE_UNIT}"
        raise NotApplicableError(reason)
    if not same_tokens(problem.query, key):
        raise NotApplicableError("the graph does not say that there are as many keys as queries")
    single = problem.query.tokens == 1
    if problem.past is not None and not single and _batch(problem.query) != 1:
        raise NotApplicableError("it has a cache, and neither one query token nor a batch of one")
    causal = [step for step in problem.steps if isinstance(step, Causal)]
    if len(causal) < len(problem.steps) or not (causal or single):
        raise NotApplicableError("it is not causal alone")
    return key, value


def _batch(tensor: Tensor) -> int | None:
    size = None if tensor.value.shape is None else tensor.value.shape[0]
    return size if isinstance(size, int) else None


def to_group_query(model: "ir.Model") -> "ir.Model":
    """Return the model with causal attention as `GroupQueryAttention`."""
    return rewrite_attention(model, emit_group_query, unfused=False)


def ensures_group_query(before: Census, after: Census) -> str:
    """The operator came."""
    came = after[GROUP_QUERY_ATTENTION] - before[GROUP_QUERY_ATTENTION]
    return "" if came > 0 else f"{came} GroupQueryAttention came"


GROUP_QUERY: Final = GraphVariant(
    "group-query-attention",
    "causal attention with a cache as GroupQueryAttention",
    (),
    to_group_query,
    ensures_group_query,
)
