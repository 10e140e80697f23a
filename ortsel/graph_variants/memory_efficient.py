"""Attention over some query tokens at a time, so that few scores exist at once.

A loop takes as many tokens as a fixed number of scores allows, whatever the lengths are at that
call: memory for scores does not grow with the product of the lengths. Every row is computed as
before, by the same operators, so masks and rows without any visible key mean what they meant.
"""

from typing import TYPE_CHECKING, Final

import numpy as np

from ortsel.graph_variants.attention_problem import (
    RANK_WITH_HEADS,
    AttentionProblem,
    Layout,
    Tensor,
)
from ortsel.graph_variants.attention_rewriting import rewrite_attention
from ortsel.graph_variants.layouts import heads_first, keys_last
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.products import scaled_query, write_result, write_scores
from ortsel.graph_variants.score_steps import Rows, write_probabilities, write_steps
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

SCORES_AT_ONCE: Final = 1 << 22
"""16 MiB of scores, which exist twice. With fewer, products have too few rows to be fast; with
more, scores leave the caches between product and softmax."""
FEWEST_ROWS: Final = 16
"""Products of fewer rows are much slower by the row; long rows of many heads take more memory."""


def emit_by_rows(problem: AttentionProblem) -> "tuple[ir.Value, ...]":
    """Write a problem as a loop over query tokens."""
    import onnx_ir as ir

    if problem.query.tokens == 1:
        raise NotApplicableError("its query is a single token")
    writer = problem.writer
    keys, values = keys_last(writer, problem.key), heads_first(writer, problem.value)
    tokens = writer.dimension(problem.query.value, problem.query.tokens_axis)
    count, rows = _partition(problem, tokens)
    body = writer.body("rows")
    number, going_on = (
        ir.Value(name=body.fresh_name(name), type=ir.TensorType(of), shape=ir.Shape([]))
        for name, of in (("number", ir.DataType.INT64), ("condition", ir.DataType.BOOL))
    )
    last_start = writer.op("Sub", tokens, rows)
    start = body.op("Min", body.op("Mul", number, rows), last_start)
    part = _tokens(body, problem.query, Rows(start, rows))
    scores = write_scores(body, problem, scaled_query(body, problem, part), keys)
    scores = write_steps(body, problem, scores, Rows(start, rows))
    probabilities = write_probabilities(body, problem, scores)
    result = write_result(body, problem, probabilities, values)
    outputs = [body.op("Identity", going_on), result]
    for output, of in zip(outputs, (ir.DataType.BOOL, ir.DataType.FLOAT), strict=True):
        output.type = ir.TensorType(of)
    outputs[0].shape = ir.Shape([])
    graph = ir.Graph([number, going_on], outputs, nodes=body.nodes, name=body.fresh_name("body"))
    parts = writer.op("Loop", writer.op("Squeeze", count), None, body=graph)
    return _joined(problem, parts, tokens, count, rows), *problem.presents


def _partition(problem: AttentionProblem, tokens: "ir.Value") -> "tuple[ir.Value, ir.Value]":
    """Write how many times to take how many rows: as equal as possible, the last ones again."""
    writer = problem.writer
    one = writer.integers(1)
    key_count = writer.dimension(problem.key.value, problem.key.tokens_axis)
    heads = writer.dimension(problem.query.value, 0)
    if problem.query.layout is Layout.FLAT:
        heads = writer.op("Mul", heads, writer.integers(problem.query.heads or 1))
    elif problem.query.rank == RANK_WITH_HEADS:
        heads = writer.op("Mul", heads, writer.dimension(problem.query.value, 1))
    scores = writer.op("Max", writer.op("Mul", heads, key_count), one)
    most = writer.op("Div", writer.integers(SCORES_AT_ONCE), scores)
    most = writer.op("Max", most, writer.integers(FEWEST_ROWS))
    count = writer.op("Max", _divided_up(writer, tokens, most), one)
    return count, _divided_up(writer, tokens, count)


def _divided_up(writer: NodeWriter, dividend: "ir.Value", divisor: "ir.Value") -> "ir.Value":
    one = writer.integers(1)
    return writer.op("Div", writer.op("Sub", writer.op("Add", dividend, divisor), one), divisor)


def _tokens(writer: NodeWriter, query: Tensor, rows: Rows) -> Tensor:
    """Write some tokens of a query."""
    import onnx_ir as ir

    axis = writer.integers(query.tokens_axis)
    end = writer.op("Add", rows.start, rows.count)
    part = writer.op("Slice", query.value, rows.start, end, axis)
    if query.value.shape is not None:
        sizes = list(query.value.shape)
        sizes[query.tokens_axis] = ir.SymbolicDim(None)
        part.type, part.shape = ir.TensorType(ir.DataType.FLOAT), ir.Shape(sizes)
    return Tensor(part, query.layout, query.heads, query.rank)


def _joined(
    problem: AttentionProblem,
    parts: "ir.Value",
    tokens: "ir.Value",
    count: "ir.Value",
    rows: "ir.Value",
) -> "ir.Value":
    """Write the parts one after the other, without the rows that the last two both have."""
    writer = problem.writer
    rank = problem.rank
    flat = problem.result.layout is Layout.FLAT
    leading = list(range(1, rank - 1))
    order = [1, 0, 3, 2, 4] if flat else [*leading, 0, rank - 1, rank]
    sizes = [writer.dimension(parts, axis) for axis in range(rank + 1)]
    together = writer.op("Mul", count, rows)
    if flat:
        shape = [sizes[1], together, writer.op("Mul", sizes[2], sizes[4])]
    else:
        shape = [*(sizes[axis] for axis in leading), together, sizes[rank]]
    joined = writer.reshape(writer.op("Transpose", parts, perm=order), writer.join(*shape))
    zero, one = (writer.constant(np.array(number)) for number in (0, 1))
    number = writer.op("Range", zero, writer.op("Squeeze", tokens), one)
    repeated = writer.op("Sub", together, tokens)
    first_of_last = writer.op("Sub", together, rows)
    is_last = writer.op("Not", writer.op("Less", number, first_of_last))
    index = writer.op("Where", is_last, writer.op("Add", number, repeated), number)
    return writer.op("Gather", joined, index, axis=1 if flat else rank - 2)


def by_rows(model: "ir.Model") -> "ir.Model":
    """Return the model with attention over many query tokens done some at a time."""
    return rewrite_attention(model, emit_by_rows)


def ensures_loops(before: Census, after: Census) -> str:
    """A loop came for each attention that went into one."""
    came = after["Loop"] - before["Loop"]
    return "" if came > 0 else f"{came} loops came"


MEMORY_EFFICIENT: Final = GraphVariant(
    "memory-efficient",
    "attention over some query tokens at a time, with bounded memory for scores",
    (),
    by_rows,
    ensures_loops,
)
