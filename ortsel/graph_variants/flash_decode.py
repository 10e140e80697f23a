"""Attention with its keys in a fixed number of splits, combined by their maxima and sums.

With one query token and few heads, a product over all keys has little to share out; the splits are
an axis that products are run over in parallel. Each split has a softmax of its own; the combination
weighs it with exp(its maximum - the largest) times its sum, which is exact. Lengths may differ from
call to call: keys that are not divisible are padded, and padding is never visible.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import AttentionProblem
from ortsel.graph_variants.attention_rewriting import FUSED, rewrite_attention
from ortsel.graph_variants.layouts import heads_first, swapped
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.products import (
    grouped_rows,
    in_result_layout,
    scaled_query,
    ungrouped_rows,
)
from ortsel.graph_variants.score_steps import write_steps
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

SPLITS: Final = 8
MOST_QUERIES: Final = 16
"""With more query tokens there are rows enough to share out."""


def emit_by_keys(problem: AttentionProblem) -> "tuple[ir.Value, ...]":
    """Write a problem as one over splits of its keys, padded where need be."""
    import onnx_ir as ir

    if (problem.query.tokens or 1) > MOST_QUERIES:
        reason = f"got a query of {problem.query.tokens} tokens, need at most {MOST_QUERIES}"
        raise NotApplicableError(reason)
    writer = problem.writer
    query = scaled_query(writer, problem, problem.query)
    keys, values = heads_first(writer, problem.key), heads_first(writer, problem.value)
    rank = problem.rank
    tokens = writer.dimension(keys, rank - 2)
    splits, one = writer.integers(SPLITS), writer.integers(1)
    size = writer.op("Div", writer.op("Sub", writer.op("Add", tokens, splits), one), splits)
    size = writer.op("Max", size, one)
    missing = writer.op("Sub", writer.op("Mul", size, splits), tokens)

    def branch(body: NodeWriter, *, padded: bool) -> "ir.Value":
        parts = [
            _split(body, _padded(body, value, missing, rank) if padded else value, size, rank)
            for value in (keys, values)
        ]
        result = _attention(body, problem, query, parts[0], parts[1], missing if padded else None)
        result.type = ir.TensorType(ir.DataType.FLOAT)
        return result

    if problem.key.tokens is not None:  # the other branch would not even have fitting shapes
        result = branch(writer, padded=problem.key.tokens % SPLITS > 0 or not problem.key.tokens)
    else:
        bodies = {padded: writer.body(f"padded_{padded}") for padded in (False, True)}
        graphs = {
            padded: ir.Graph(
                [], [branch(body, padded=padded)], nodes=body.nodes, name=body.fresh_name("branch")
            )
            for padded, body in bodies.items()
        }
        divisible = writer.op(
            "Equal", writer.op("Squeeze", missing), writer.op("Squeeze", _zero(writer))
        )
        result = writer.op("If", divisible, then_branch=graphs[False], else_branch=graphs[True])
    return in_result_layout(writer, problem, result), *problem.presents


def _attention(
    writer: NodeWriter,
    problem: AttentionProblem,
    query: "ir.Value",
    keys: "ir.Value",
    values: "ir.Value",
    missing: "ir.Value | None",
) -> "ir.Value":
    """Write attention over (..., splits, size, head size); so many of the last keys are padding."""
    rank, one = problem.rank, writer.integers(1)
    grouped = query if problem.group == 1 else grouped_rows(writer, problem, query)
    row_shape = writer.join(
        writer.leading_dimensions(grouped, rank, 2),
        one,
        writer.op(
            "Slice", writer.op("Shape", grouped), writer.integers(rank - 2), writer.integers(rank)
        ),
    )
    by_split = writer.op(
        "MatMul",
        writer.reshape(grouped, row_shape),
        writer.op("Transpose", keys, perm=swapped(rank + 1)),
    )
    scores = _keys_together(writer, by_split, rank)
    if problem.group > 1:
        scores = ungrouped_rows(writer, query, scores)
    visible = scores
    if missing is not None:
        end = writer.op("Sub", writer.dimension(scores, rank - 1), missing)
        visible = writer.op("Slice", scores, _zero(writer), end, writer.integers(rank - 1))
    scores = write_steps(writer, problem, visible, None)
    if missing is not None:
        scores = _with_hidden(writer, scores, missing, rank)
    if problem.group > 1:
        scores = grouped_rows(writer, problem, scores)
    by_split = _keys_apart(writer, scores, rank)
    return _combined(writer, problem, query, by_split, values)


def _combined(
    writer: NodeWriter,
    problem: AttentionProblem,
    query: "ir.Value",
    scores: "ir.Value",
    values: "ir.Value",
) -> "ir.Value":
    """Write the sum over splits of scores (..., splits, rows, size) and their values."""
    rank, hidden = problem.rank, writer.number(float("-inf"))
    maxima = writer.maximum_of_last_axis(scores)
    nothing = writer.op("Equal", maxima, hidden)
    finite = writer.op("Where", nothing, writer.number(0.0), maxima)
    weights = writer.op("Exp", writer.op("Sub", scores, finite))
    last, splits_axis = writer.integers(-1), writer.integers(rank - 2)
    sums = writer.op("ReduceSum", weights, last, keepdims=1)
    partial = writer.op("MatMul", weights, values)
    largest = _over_splits(writer, maxima, rank)
    none = writer.op("Equal", largest, hidden)
    reference = writer.op("Where", none, writer.number(0.0), largest)
    factor = writer.op("Exp", writer.op("Sub", maxima, reference))
    total = writer.op("ReduceSum", writer.op("Mul", factor, sums), splits_axis, keepdims=0)
    result = writer.op("ReduceSum", writer.op("Mul", factor, partial), splits_axis, keepdims=0)
    if problem.masked_rows_are_zero:
        empty = writer.op("Equal", total, writer.number(0.0))
        total = writer.op("Where", empty, writer.number(1.0), total)
    result = writer.op("Div", result, total)
    return result if problem.group == 1 else ungrouped_rows(writer, query, result)


def _over_splits(writer: NodeWriter, maxima: "ir.Value", rank: int) -> "ir.Value":
    """Write the largest of (..., splits, rows, 1) over splits, which stay with size 1."""
    order = [*range(rank - 2), rank - 1, rank, rank - 2]
    back = [*range(rank - 2), rank, rank - 2, rank - 1]
    largest = writer.maximum_of_last_axis(writer.op("Transpose", maxima, perm=order))
    return writer.op("Transpose", largest, perm=back)


def _split(writer: NodeWriter, value: "ir.Value", size: "ir.Value", rank: int) -> "ir.Value":
    """Write (..., tokens, n) as (..., splits, size, n): the same memory."""
    shape = writer.join(
        writer.leading_dimensions(value, rank, 2),
        writer.integers(SPLITS),
        size,
        writer.dimension(value, rank - 1),
    )
    return writer.reshape(value, shape)


def _padded(writer: NodeWriter, value: "ir.Value", missing: "ir.Value", rank: int) -> "ir.Value":
    zeros = writer.integers(*([0] * (2 * rank - 2)))
    return writer.op("Pad", value, writer.join(zeros, missing, _zero(writer)))


def _with_hidden(
    writer: NodeWriter, scores: "ir.Value", missing: "ir.Value", rank: int
) -> "ir.Value":
    zeros = writer.integers(*([0] * (2 * rank - 1)))
    return writer.op("Pad", scores, writer.join(zeros, missing), writer.number(float("-inf")))


def _keys_together(writer: NodeWriter, scores: "ir.Value", rank: int) -> "ir.Value":
    """Write (..., splits, rows, size) as (..., rows, keys)."""
    order = [*range(rank - 2), rank - 1, rank - 2, rank]
    by_row = writer.op("Transpose", scores, perm=order)
    keys = writer.op("Mul", writer.integers(SPLITS), writer.dimension(by_row, rank))
    shape = writer.join(writer.leading_dimensions(by_row, rank + 1, 2), keys)
    return writer.reshape(by_row, shape)


def _keys_apart(writer: NodeWriter, scores: "ir.Value", rank: int) -> "ir.Value":
    """Write (..., rows, keys) as (..., splits, rows, size)."""
    splits = writer.integers(SPLITS)
    size = writer.op("Div", writer.dimension(scores, rank - 1), splits)
    shape = writer.join(writer.leading_dimensions(scores, rank, 1), splits, size)
    order = [*range(rank - 2), rank - 1, rank - 2, rank]
    return writer.op("Transpose", writer.reshape(scores, shape), perm=order)


def _zero(writer: NodeWriter) -> "ir.Value":
    return writer.integers(0)


def by_keys(model: "ir.Model") -> "ir.Model":
    """Return the model with attention of few query tokens done by splits of the keys."""
    return rewrite_attention(model, emit_by_keys)


def ensures_splits(before: Census, after: Census) -> str:
    """Exponentials came in place of a softmax or an operator."""
    came = after["Exp"] - before["Exp"]
    gone = sum(before[name] - after[name] for name in ("Softmax", *FUSED))
    return "" if came > 0 and gone > 0 else f"{gone} attentions went, {came} exponentials came"


FLASH_DECODE: Final = GraphVariant(
    "flash-decode",
    "attention of few query tokens by splits of the keys, combined by maxima and sums",
    (),
    by_keys,
    ensures_splits,
)
