"""Writing operands of attention in the layout that an operator wants."""

from typing import TYPE_CHECKING

from ortsel.graph_variants.attention_problem import Layout, Tensor
from ortsel.graph_variants.node_writer import NodeWriter

if TYPE_CHECKING:
    import onnx_ir as ir


def heads_first(writer: NodeWriter, tensor: Tensor) -> "ir.Value":
    """Write a tensor with its heads, or whatever stands for them, before its tokens."""
    match tensor.layout:
        case Layout.HEADS_FIRST:
            return tensor.value
        case Layout.FLAT:
            return writer.op("Transpose", with_heads(writer, tensor), perm=[0, 2, 1, 3])
        case Layout.TOKENS_FIRST:
            return writer.op("Transpose", tensor.value, perm=[0, 2, 1, 3])
        case Layout.KEYS_LAST:
            return writer.op("Transpose", tensor.value, perm=swapped(tensor.rank))


def keys_last(writer: NodeWriter, tensor: Tensor) -> "ir.Value":
    """Write a tensor for the right side of a product of matrices."""
    match tensor.layout:
        case Layout.KEYS_LAST:
            return tensor.value
        case Layout.HEADS_FIRST:
            return writer.op("Transpose", tensor.value, perm=swapped(tensor.rank))
        case Layout.FLAT:
            return writer.op("Transpose", with_heads(writer, tensor), perm=[0, 2, 3, 1])
        case Layout.TOKENS_FIRST:
            return writer.op("Transpose", tensor.value, perm=[0, 2, 3, 1])


def flat(writer: NodeWriter, tensor: Tensor) -> "ir.Value":
    """Write a tensor with all heads of a token beside each other. Its heads must be an axis."""
    match tensor.layout:
        case Layout.FLAT:
            return tensor.value
        case Layout.HEADS_FIRST:
            return merged(writer, writer.op("Transpose", tensor.value, perm=[0, 2, 1, 3]))
        case Layout.TOKENS_FIRST:
            return merged(writer, tensor.value)
        case Layout.KEYS_LAST:
            return merged(writer, writer.op("Transpose", tensor.value, perm=[0, 3, 1, 2]))


def with_heads(writer: NodeWriter, tensor: Tensor) -> "ir.Value":
    """Write a flat tensor with an axis of heads after that of tokens."""
    assert tensor.heads is not None, "a flat tensor has a number of heads"
    size = None if tensor.value.shape is None else tensor.value.shape[-1]
    if isinstance(size, int):  # an empty tensor leaves nothing to infer a size from
        return writer.op(
            "Reshape", tensor.value, writer.integers(0, 0, tensor.heads, size // tensor.heads)
        )
    heads = writer.integers(tensor.heads)
    sizes = [writer.dimension(tensor.value, axis) for axis in range(3)]
    shape = writer.join(*sizes[:2], heads, writer.op("Div", sizes[2], heads))
    return writer.reshape(tensor.value, shape)


def merged(writer: NodeWriter, value: "ir.Value") -> "ir.Value":
    """Write a tensor of batch, tokens, heads, size with the last two as one."""
    sizes = [writer.dimension(value, axis) for axis in range(4)]
    shape = writer.join(*sizes[:2], writer.op("Mul", *sizes[2:]))
    return writer.reshape(value, shape)


def swapped(rank: int) -> list[int]:
    """Return the permutation that swaps the last two axes."""
    return [*range(rank - 2), rank - 1, rank - 2]
