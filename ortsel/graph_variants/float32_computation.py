"""A model in float16 computed in float32, its inputs and outputs as they were.

ONNX Runtime has few kernels for float16 on x86 and puts casts around each operator without one, so
values are rounded, and read and written, twice as often as need be. Weights stay in float16 in the
file; a session casts them once, when it is loaded. Results are nearer to exact ones than the
original's, and as near to those as float16 is: a plan of this kind is judged like any other.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.variant import (
    Census,
    GraphVariant,
    NotApplicableError,
    all_nodes,
)

if TYPE_CHECKING:
    import onnx_ir as ir

FLOAT: Final = 1
FLOAT16: Final = 10
TYPE_ATTRIBUTES: Final = frozenset(
    {"dtype", "output_dtype", "precision", "softmax_precision", "to"}
)
"""Attributes that name an element type by its number."""


def compute_in_float32(model: "ir.Model") -> "ir.Model":
    """Return the model with every value in float32 that was in float16, but inputs and outputs."""
    from onnx_ir.passes.common import InlinePass

    if model.functions:  # their types are those of whoever calls them
        model = InlinePass()(model).model
    _require_tensors(model)
    outputs = [value for value in model.graph.outputs if _is_half(value)]
    for node in list(all_nodes(model)):
        _retype_attributes(node)
        for value in node.outputs:
            _retype(value)
    found = False
    for graph in list(model.graphs()):
        found |= _widen_sources(graph, is_main=graph is model.graph)
    for number, value in enumerate(outputs):
        found |= _narrow_output(model, number, value)
    if not found:
        raise NotApplicableError("nothing is in float16")
    return model


def ensures_casts(before: Census, after: Census) -> str:
    """Casts came, for inputs, weights or outputs."""
    came = after["Cast"] - before["Cast"]
    return "" if came > 0 else f"{came} casts came"


def _is_half(value: "ir.Value") -> bool:
    import onnx_ir as ir

    return value.dtype == ir.DataType.FLOAT16


def _retype(value: "ir.Value") -> None:
    import onnx_ir as ir

    if _is_half(value):
        value.type = ir.TensorType(ir.DataType.FLOAT)


def _require_tensors(model: "ir.Model") -> None:
    import onnx_ir as ir

    values = [value for node in all_nodes(model) for value in (*node.inputs, *node.outputs)]
    for value in (*model.graph.inputs, *model.graph.outputs, *values):
        if value is None or isinstance(value.type, ir.TensorType) or not _is_half(value):
            continue
        reason = f"{value.name} is no tensor, but holds some in float16"
        raise NotApplicableError(reason)


def _retype_attributes(node: "ir.Node") -> None:
    import numpy as np
    import onnx_ir as ir

    for name, attribute in list(node.attributes.items()):
        if attribute.type == ir.AttributeType.INT:
            if name in TYPE_ATTRIBUTES and attribute.as_int() == FLOAT16:
                node.attributes[name] = ir.AttrInt64(name, FLOAT)
        elif attribute.type == ir.AttributeType.TENSOR:
            tensor = attribute.as_tensor()
            if tensor.dtype == ir.DataType.FLOAT16:
                wide = ir.tensor(tensor.numpy().astype(np.float32), name=tensor.name)
                node.attributes[name] = ir.AttrTensor(name, wide)
    if node.op_type == "Constant":
        for value in node.outputs:
            value.const_value = None


def _widen_sources(graph: "ir.Graph", *, is_main: bool) -> bool:
    """Cast what a graph gets in float16, by weights or from a caller; whether there was any."""
    import onnx_ir as ir

    if not is_main:
        for value in graph.inputs:  # as the operator around gives them, from now on
            if not value.is_initializer():
                _retype(value)
    sources = [*(graph.inputs if is_main else ()), *graph.initializers.values()]
    found = False
    for value in dict.fromkeys(sources):
        uses = list(value.uses())
        if not _is_half(value) or not uses:
            continue
        writer = NodeWriter(f"{value.name}__float32", 0)
        wide = writer.op("Cast", value, to=FLOAT)
        wide.type, wide.shape = ir.TensorType(ir.DataType.FLOAT), value.shape
        for use in uses:
            use.node.replace_input_with(use.idx, wide)
        _insert_first(graph, writer.nodes)
        found = True
    return found


def _insert_first(graph: "ir.Graph", nodes: "list[ir.Node]") -> None:
    if len(graph):
        graph.insert_before(graph[0], nodes)
    else:
        graph.extend(nodes)


def _narrow_output(model: "ir.Model", number: int, value: "ir.Value") -> bool:
    """Cast an output back, under its name; whether it was computed at all."""
    import onnx_ir as ir

    if value.producer() is None:
        return False
    name, writer = value.name, NodeWriter(f"{value.name}__float16", 0)
    narrow = writer.op("Cast", value, to=FLOAT16)
    value.name = f"{name}__wide_{number}"
    narrow.name, narrow.shape = name, value.shape
    narrow.type = ir.TensorType(ir.DataType.FLOAT16)
    model.graph.extend(writer.nodes)
    for index, output in enumerate(model.graph.outputs):
        if output is value:
            model.graph.outputs[index] = narrow
    return True


FLOAT32_COMPUTATION: Final = GraphVariant(
    "float32",
    "a model in float16 computed in float32",
    (),
    compute_in_float32,
    ensures_casts,
)
