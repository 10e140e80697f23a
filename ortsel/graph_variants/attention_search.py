"""Finding attention in a model: fused operators, and the chain product, softmax, product.

The chain is recognised by what it computes, not by how an exporter writes it: a softmax whose input
is a product of two activations, and whose result is multiplied with a third. Scales, masks, casts,
quantisation and changes of shape may stand between. Weights on either side make it something else:
a classifier, or additive attention.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import frozen

from ortsel.errors import MissingPackageError
from ortsel.graph_variants.loading import load_model
from ortsel.graph_variants.shape_inference import infer_shapes
from ortsel.graph_variants.variant import all_nodes, operator

if TYPE_CHECKING:
    import onnx_ir as ir

Shape: TypeAlias = tuple[int | str | None, ...]

UNFUSED: Final = "unfused"

FUSED_OPERATORS: Final = {
    "Attention": ((0, 1, 2), (3, 6)),
    "com.microsoft::Attention": ((0,), (3, 5)),
    "com.microsoft::DecoderMaskedMultiHeadAttention": ((0, 1, 2), (3, 4)),
    "com.microsoft::DecoderMaskedSelfAttention": ((0,), (3, 5)),
    "com.microsoft::GroupQueryAttention": ((0, 1, 2), (10,)),
    "com.microsoft::LongformerAttention": ((0,), (3,)),
    "com.microsoft::MultiHeadAttention": ((0, 1, 2), (4, 5)),
    "com.microsoft::PackedAttention": ((0,), (5,)),
    "com.microsoft::PackedMultiHeadAttention": ((0, 1, 2), (6,)),
    "com.microsoft::PagedAttention": ((0, 1, 2), ()),
    "com.microsoft::QAttention": ((0,), (5,)),
    "com.microsoft::SparseAttention": ((0, 1, 2), ()),
}
"""Fused operators, with the positions of query, key and value among their inputs, and of masks and
additions to the scores. Those with one operand project it to all three themselves."""

PRODUCTS: Final = {
    "MatMul": (0, 1),
    "Einsum": (0, 1),
    "QLinearMatMul": (0, 3),
    "com.microsoft::FusedMatMul": (0, 1),
    "com.microsoft::QLinearMatMul": (0, 3),
    "com.microsoft::TransposeMatMul": (0, 1),
}
"""Products of two tensors, with the positions of the two among the inputs."""
SOFTMAX: Final = frozenset(
    {"Softmax", "com.microsoft::BiasSoftmax", "com.microsoft::QLinearSoftmax"}
)
MASKING: Final = frozenset({"Add", "Sub", "Where", "Max", "Min"})
PASSED_THROUGH: Final = MASKING | {
    "Cast",
    "CastLike",
    "Clip",
    "DequantizeLinear",
    "Div",
    "Dropout",
    "Expand",
    "Identity",
    "Mul",
    "QuantizeLinear",
    "Reshape",
    "Squeeze",
    "Tanh",
    "Unsqueeze",
}
"""What may stand between a product and the softmax."""
OF_CONSTANTS: Final = frozenset({"Cast", "DequantizeLinear", "Identity", "Reshape", "Transpose"})
"""What makes a weight out of a weight."""
MAX_DISTANCE: Final = 12
"""Nodes between softmax and product: the longest seen is 7 (soft cap, two masks, quantisation)."""


@frozen
class Operand:
    """A tensor that takes part in attention."""

    name: str
    shape: Shape | None
    """Sizes, names of open dimensions, None for an unnamed one; None where the rank is unknown."""


@frozen
class AttentionSite:
    """One place in a model where attention is computed."""

    operator: str
    """The fused operator, or "unfused"."""
    nodes: tuple[str, ...]
    """Names of the fused node, or of score product, softmax and value product."""
    query: Operand | None
    key: Operand | None
    value: Operand | None
    masked: bool
    """Whether anything is added to the scores or chosen over them by an input of the operator."""


def find_attention(model: str | os.PathLike[str]) -> tuple[AttentionSite, ...]:
    """Return the attention sites of a model file, in the order of their softmax or operator.

    Subgraphs and local functions are searched too. Raises `UnreadableModelError` for a file in ONNX
    Runtime's own format among others, `MissingPackageError` without onnx-ir.
    """
    if find_spec("onnx_ir") is None:
        raise MissingPackageError("finding attention", "onnx-ir", "variants")
    loaded = load_model(Path(model))
    infer_shapes(loaded)
    return tuple(_sites(loaded))


def _sites(model: "ir.Model") -> Iterator[AttentionSite]:
    for node in all_nodes(model):
        name = operator(node)
        if name in FUSED_OPERATORS:
            yield _fused(node)
        elif name in SOFTMAX and _over_last_axis(node):
            site = _unfused(node)
            if site is not None:
                yield site


def _fused(node: "ir.Node") -> AttentionSite:
    operands, masks = FUSED_OPERATORS[operator(node)]
    inputs = dict(enumerate(node.inputs))
    query, key, value = ([_operand(inputs.get(index)) for index in operands] + [None, None])[:3]
    masked = any(inputs.get(index) is not None for index in masks)
    return AttentionSite(operator(node), (node.name or "",), query, key, value, masked)


def _unfused(softmax: "ir.Node") -> AttentionSite | None:
    before = _product_before(softmax.inputs[0], MAX_DISTANCE)
    after = _product_after(softmax.outputs[0], MAX_DISTANCE)
    if before is None or after is None:
        return None
    (scores, masked), (values, position) = before, after
    query, key = (scores.inputs[index] for index in PRODUCTS[operator(scores)])
    other = next(index for index in PRODUCTS[operator(values)] if index != position)
    return AttentionSite(
        UNFUSED,
        (scores.name or "", softmax.name or "", values.name or ""),
        _operand(query),
        _operand(key),
        _operand(values.inputs[other]),
        masked or len(softmax.inputs) > 1,
    )


def _product_before(value: "ir.Value | None", distance: int) -> "tuple[ir.Node, bool] | None":
    """Return the product of two activations behind a value, and whether a mask is between."""
    node = None if value is None else value.producer()
    if node is None or not distance:
        return None
    name = operator(node)
    if name in PRODUCTS:
        operands = [node.inputs[index] for index in PRODUCTS[name]]
        return None if any(map(_is_constant, operands)) else (node, False)
    if name not in PASSED_THROUGH:
        return None
    for source in node.inputs:
        found = _product_before(source, distance - 1)
        if found is not None:
            return found[0], found[1] or name in MASKING
    return None


def _product_after(value: "ir.Value", distance: int) -> "tuple[ir.Node, int] | None":
    """Return the product with another activation that a value goes into, and its position there."""
    if not distance:
        return None
    for use in value.uses():
        name = operator(use.node)
        if name in PRODUCTS and use.idx in PRODUCTS[name]:
            others = (use.node.inputs[index] for index in PRODUCTS[name] if index != use.idx)
            if not any(map(_is_constant, others)):
                return use.node, use.idx
        elif name in PASSED_THROUGH:
            found = _product_after(use.node.outputs[0], distance - 1)
            if found is not None:
                return found
    return None


def _is_constant(value: "ir.Value | None", distance: int = MAX_DISTANCE) -> bool:
    """Whether a value does not depend on the inputs, as a weight does not."""
    if value is None or value.const_value is not None or value.is_initializer():
        return True
    node = value.producer()
    if node is None or not distance:
        return False
    if node.op_type == "Constant":
        return True
    return operator(node) in OF_CONSTANTS and _is_constant(node.inputs[0], distance - 1)


def _over_last_axis(softmax: "ir.Node") -> bool:
    axis = softmax.attributes.get_int("axis", -1)
    shape = softmax.outputs[0].shape or (softmax.inputs[0].shape if softmax.inputs[0] else None)
    return axis == -1 or shape is None or axis == len(shape) - 1


def _operand(value: "ir.Value | None") -> Operand | None:
    if value is None:
        return None
    if value.shape is None:
        return Operand(value.name or "", None)
    return Operand(
        value.name or "",
        tuple(size if isinstance(size, int) else size.value for size in value.shape),
    )
