"""A model with ONNX `Attention` of operator set 25 or newer as one of operator set 24.

ONNX Runtime has a kernel for `Attention` 23 and 24 on the CPU. A newer one is taken apart into some
sixty operators, since it might have a window (1.32). Operator set 25 adds windows to `Attention`,
and to every other operator that it changes only two element types of 2 bits; a model that uses
neither is a model of operator set 24.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_site import ONNX_ATTENTION
from ortsel.graph_variants.variant import (
    Census,
    GraphVariant,
    NotApplicableError,
    all_nodes,
    operator,
)

if TYPE_CHECKING:
    import onnx_ir as ir

TARGET_OPSET: Final = 24
ONLY_TYPES_ADDED: Final = 25
"""The operator set whose other changes are element types alone."""

WINDOWS: Final = ("left_window_size", "right_window_size")
UNBOUNDED: Final = -1
QK_OUTPUT: Final = 3
"""The output with scores: where a key is masked, the kernel of 24 has the lowest number, and what
a newer operator is taken apart into has minus infinity (ONNX Runtime 1.32)."""


def lower(model: "ir.Model") -> "ir.Model":
    """Return the model with operator set 24 imported, where it means the same there."""
    opset = model.opset_imports.get("", 0)
    obstacle = _obstacle(model, opset)
    if obstacle:
        raise NotApplicableError(obstacle)
    model.opset_imports[""] = TARGET_OPSET
    for node in all_nodes(model):
        if operator(node) == ONNX_ATTENTION:
            for name in WINDOWS:
                node.attributes.pop(name, None)
    return model


def ensures_lowered(before: Census, after: Census) -> str:
    """Every operator is still there."""
    return "" if before == after and before[ONNX_ATTENTION] else "the operators changed"


def _obstacle(model: "ir.Model", opset: int) -> str:
    """Return why the model is none of operator set 24; empty if it is one."""
    import onnx_ir as ir

    if opset <= TARGET_OPSET:
        return f"got operator set {opset}, need a newer one than {TARGET_OPSET}"
    if model.functions:
        return "local functions import operator sets of their own"
    small = {ir.DataType.INT2, ir.DataType.UINT2}
    found = False
    for node in all_nodes(model):
        if operator(node) == ONNX_ATTENTION:
            found = True
            if any(node.attributes.get_int(name, UNBOUNDED) != UNBOUNDED for name in WINDOWS):
                return f"Attention {node.name or ''} has a window"
            if len(node.outputs) > QK_OUTPUT and node.outputs[QK_OUTPUT].name:
                return f"the scores of Attention {node.name or ''} are an output too"
        elif node.domain == "" and _changed_at(node.op_type, opset) > ONLY_TYPES_ADDED:
            return f"{node.op_type} means something else in operator set {opset}"
        if any(
            value is not None and value.dtype in small for value in (*node.inputs, *node.outputs)
        ):
            return f"{node.op_type} uses an element type of 2 bits"
    return "" if found else "no ONNX Attention"


def _changed_at(op_type: str, opset: int) -> int:
    """Return the operator set that last changed an operator; the next one if it is unknown."""
    import onnx

    try:
        return int(onnx.defs.get_schema(op_type, opset, "").since_version)
    except onnx.defs.SchemaError:
        return opset + 1


ATTENTION_24: Final = GraphVariant(
    "attention-24",
    "ONNX Attention of a newer operator set as that of 24, for which there are kernels",
    (),
    lower,
    ensures_lowered,
)
