"""Writing the way from products of query and keys to probabilities, for all rows or for some.

Scores are of shape ..., query tokens, keys. Rows are looked at one by one, so that a rewrite may do
some of them at a time and get the same result.
"""

from typing import TYPE_CHECKING, Final, assert_never

from attrs import frozen

from ortsel.graph_variants.attention_problem import (
    Added,
    AttentionProblem,
    Capped,
    Causal,
    Chosen,
    Elementwise,
    Lengths,
    Step,
)
from ortsel.graph_variants.node_writer import NodeWriter

if TYPE_CHECKING:
    import onnx_ir as ir

ROWS, KEYS = -2, -1
"""Axes of scores."""
INT64: Final = 7


@frozen(eq=False)
class Rows:
    """Query tokens that are looked at: from a start on, so many. Vectors of one integer."""

    start: "ir.Value"
    count: "ir.Value"


def write_steps(
    writer: NodeWriter, problem: AttentionProblem, scores: "ir.Value", rows: Rows | None
) -> "ir.Value":
    """Write everything that is done to scores before the softmax."""
    for step in problem.steps:
        scores = _step(writer, step, scores, rows)
    return scores


def write_probabilities(
    writer: NodeWriter, problem: AttentionProblem, scores: "ir.Value"
) -> "ir.Value":
    """Write the softmax over keys."""
    probabilities = writer.op("Softmax", scores, axis=-1)
    if not problem.masked_rows_are_zero or not may_mask_rows(problem):
        return probabilities
    largest = writer.maximum_of_last_axis(scores)
    visible = writer.op("Greater", largest, writer.number(float("-inf")))
    return writer.op("Where", visible, probabilities, writer.number(0.0))


def may_mask_rows(problem: AttentionProblem) -> bool:
    """Whether a row could be left without any visible key."""
    # An offset is never negative on its own: with lengths, those count.
    return any(not isinstance(step, (Capped, Causal)) for step in problem.steps)


def rows_of(writer: NodeWriter, value: "ir.Value", rows: Rows | None) -> "ir.Value":
    """Write the rows of something that is broadcast over scores: all, where it has one for all."""
    assert value.shape is not None, "readers refuse what has no rank"
    rank = len(value.shape)
    if rows is None or rank <= 1 or value.shape[ROWS] == 1:
        return value
    start = rows.start
    if not isinstance(value.shape[ROWS], int):
        one = writer.integers(1)
        several = writer.op("Greater", writer.dimension(value, rank - 2), one)
        start = writer.op("Mul", start, writer.op("Cast", several, to=INT64))
    end = writer.op("Add", start, rows.count)
    return writer.op("Slice", value, start, end, writer.integers(ROWS))


def _step(writer: NodeWriter, step: Step, scores: "ir.Value", rows: Rows | None) -> "ir.Value":
    match step:
        case Capped():
            limit = writer.number(step.limit)
            return writer.op("Mul", writer.op("Tanh", writer.op("Div", scores, limit)), limit)
        case Added():
            return writer.op("Add", scores, rows_of(writer, step.value, rows))
        case Chosen():
            condition = rows_of(writer, step.condition, rows)
            hidden = writer.number(float("-inf"))
            kept = (scores, hidden) if step.scores_if else (hidden, scores)
            return writer.op("Where", condition, *kept)
        case Causal():
            queries = _positions(writer, scores, ROWS)
            if rows is not None:
                queries = writer.op("Add", queries, rows.start)
            if step.offset is not None:
                queries = writer.op("Add", queries, step.offset)
            later = writer.op("Greater", _positions(writer, scores, KEYS), queries)
            return writer.op("Where", later, writer.number(float("-inf")), scores)
        case Lengths():
            visible = writer.op("Less", _positions(writer, scores, KEYS), step.value)
            return writer.op("Where", visible, scores, writer.number(float("-inf")))
        case Elementwise():
            return _copied(writer, step, scores, rows)
        case _:
            assert_never(step)


def _positions(writer: NodeWriter, scores: "ir.Value", axis: int) -> "ir.Value":
    """Write 0, 1, 2, ... along one of the last two axes: of shape (rows, 1) or (1, keys)."""
    import numpy as np

    size = writer.op("Gather", writer.op("Shape", scores), writer.constant(np.array(axis)), axis=0)
    zero, one = (writer.constant(np.array(number)) for number in (0, 1))
    shape = writer.integers(-1, 1) if axis == ROWS else writer.integers(1, -1)
    return writer.op("Reshape", writer.op("Range", zero, size, one), shape)


def _copied(
    writer: NodeWriter, step: Elementwise, scores: "ir.Value", rows: Rows | None
) -> "ir.Value":
    node = step.node
    inputs = [
        scores
        if index == step.position
        else (None if value is None else rows_of(writer, value, rows))
        for index, value in enumerate(node.inputs)
    ]
    (copied,) = writer.node(node.op_type, *inputs, outputs=1, domain=node.domain)
    for name, attribute in node.attributes.items():
        writer.nodes[-1].attributes[name] = attribute
    return copied
