"""What a caller sees of a model: inputs, outputs, versions. A variant must not change it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import onnx_ir as ir

FIRST_WITH_DEFAULTS: Final = 4
"""IR version before which every initialiser was an input, and a constant all the same."""


def interface_obstacle(model: "ir.Model") -> str:
    """Return why no variant of this model can be equal to it; empty if one can.

    From IR version 4 on, an initialiser that is also a graph input is a default that a feed may
    override. A rewrite folds it into the graph as if it were constant.
    """
    if (model.ir_version or 0) < FIRST_WITH_DEFAULTS:
        return ""
    overridable = [value.name for value in model.graph.inputs if value.is_initializer()]
    return f"a feed may override the initialisers {overridable}" if overridable else ""


def interface_difference(original: "ir.Model", variant: "ir.Model") -> str:
    """Return how the variant's interface differs from the original's; empty if it does not.

    Inputs must be the same in name, order, type and shape. Outputs must be the same in name, order
    and type; a dimension that was open may have been inferred. No version may have risen.
    """
    before = [value for value in original.graph.inputs if not value.is_initializer()]
    after = [value for value in variant.graph.inputs if not value.is_initializer()]
    if [_exact(value) for value in before] != [_exact(value) for value in after]:
        return f"inputs changed from {_listing(before)} to {_listing(after)}"
    outputs, new_outputs = original.graph.outputs, variant.graph.outputs
    if [(value.name, value.type) for value in outputs] != [
        (value.name, value.type) for value in new_outputs
    ] or not all(map(_refines, outputs, new_outputs)):
        return f"outputs changed from {_listing(outputs)} to {_listing(new_outputs)}"
    if (variant.ir_version or 0) > (original.ir_version or 0):
        return f"IR version rose from {original.ir_version} to {variant.ir_version}"
    for domain, version in original.opset_imports.items():
        risen = variant.opset_imports.get(domain, version)
        if risen > version:
            return f"operator set {domain or 'ai.onnx'} rose from {version} to {risen}"
    used = {node.domain for node in variant.graph.all_nodes()}
    missing = sorted(used - variant.opset_imports.keys())
    return f"operator sets {missing} are used and not imported" if missing else ""


def _exact(value: "ir.Value") -> tuple[str | None, object, object]:
    return value.name, value.type, value.shape


def _refines(original: "ir.Value", variant: "ir.Value") -> bool:
    if original.shape is None:
        return True
    if variant.shape is None or len(original.shape) != len(variant.shape):
        return False
    return all(
        before == after or not isinstance(before, int)
        for before, after in zip(original.shape, variant.shape, strict=True)
    )


def _listing(values: "Iterable[ir.Value]") -> str:
    return ", ".join(f"{value.name}: {value.type} {value.shape}" for value in values)
