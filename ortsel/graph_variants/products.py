"""Writing the two products of attention, with groups of heads sharing keys at no copy."""

from typing import TYPE_CHECKING

import numpy as np

from ortsel.graph_variants.attention_problem import AttentionProblem, Layout, Tensor
from ortsel.graph_variants.layouts import heads_first, merged
from ortsel.graph_variants.node_writer import NodeWriter

if TYPE_CHECKING:
    import onnx_ir as ir


def scaled_query(writer: NodeWriter, problem: AttentionProblem, query: Tensor) -> "ir.Value":
    """Write the query, or some tokens of it, heads first and multiplied by the scale.

    The factor is a vector where the head size is known, since ONNX Runtime would put a scalar back
    into the product, whose fast form for a single row needs a factor of 1.
    """
    value = heads_first(writer, query)
    if problem.scale == 1.0:
        return value
    size = head_size(problem.query)
    factor = np.full(size or (), problem.scale, np.float32)
    return writer.op("Mul", value, writer.constant(factor))


def write_scores(
    writer: NodeWriter, problem: AttentionProblem, query: "ir.Value", keys: "ir.Value"
) -> "ir.Value":
    """Write query times keys; the keys have their tokens last."""
    if problem.group == 1:
        return writer.op("MatMul", query, keys)
    grouped = grouped_rows(writer, problem, query)
    return ungrouped_rows(writer, query, writer.op("MatMul", grouped, keys))


def write_result(
    writer: NodeWriter, problem: AttentionProblem, probabilities: "ir.Value", values: "ir.Value"
) -> "ir.Value":
    """Write probabilities times values, both heads first, as is the result."""
    if problem.group == 1:
        return writer.op("MatMul", probabilities, values)
    grouped = grouped_rows(writer, problem, probabilities)
    return ungrouped_rows(writer, probabilities, writer.op("MatMul", grouped, values))


def in_result_layout(
    writer: NodeWriter, problem: AttentionProblem, result: "ir.Value"
) -> "ir.Value":
    """Write a result with its heads first in the layout that the model expects."""
    if problem.result.layout is Layout.HEADS_FIRST:
        return result
    return merged(writer, writer.op("Transpose", result, perm=[0, 2, 1, 3]))


def head_size(tensor: Tensor) -> int | None:
    """Return the size of one head, where the shape tells."""
    axis = -2 if tensor.layout is Layout.KEYS_LAST else -1
    size = None if tensor.value.shape is None else tensor.value.shape[axis]
    if not isinstance(size, int):
        return None
    return size // (tensor.heads or 1) if tensor.layout is Layout.FLAT else size


def grouped_rows(writer: NodeWriter, problem: AttentionProblem, value: "ir.Value") -> "ir.Value":
    """Write (batch, heads, rows, n) as (batch, key heads, group * rows, n): the same memory."""
    sizes = [writer.dimension(value, axis) for axis in range(4)]
    rows = writer.op("Mul", sizes[2], writer.integers(problem.group))
    heads = writer.integers(problem.key.heads or 1)
    return writer.reshape(value, writer.join(sizes[0], heads, rows, sizes[3]))


def ungrouped_rows(writer: NodeWriter, like: "ir.Value", value: "ir.Value") -> "ir.Value":
    """Undo `grouped_rows` on a product of what `like` was grouped to."""
    sizes = [writer.dimension(like, axis) for axis in range(3)]
    return writer.reshape(value, writer.join(*sizes, writer.dimension(value, 3)))
