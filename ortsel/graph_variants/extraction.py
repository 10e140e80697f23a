"""Attention cut out of a model: each place where it is computed, as a model that stands alone.

Its inputs are the tensors that enter attention and its outputs those that leave. Changes of shape
right before and after come along, since rewrites that want another layout pay for those or save
them. Names say nothing about the model it was cut from, so that equal attention gives equal bytes.
"""

import hashlib
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from attrs import field, frozen

from ortsel.graph_variants.attention_problem import AttentionProblem
from ortsel.graph_variants.attention_rewriting import OLDEST_OPSET
from ortsel.graph_variants.attention_site import fused_attention
from ortsel.graph_variants.shape_inference import PACKED_ATTENTION, infer_shapes
from ortsel.graph_variants.unfused_problems import PRODUCTS, read_unfused
from ortsel.graph_variants.variant import NotApplicableError, operator

if TYPE_CHECKING:
    import onnx_ir as ir

UNFUSED: Final = "unfused"
GROUP_QUERY: Final = "com.microsoft::GroupQueryAttention"
OPERANDS: Final = 3
"""Query, key and value are the first inputs of every fused operator."""
LAYOUT: Final = frozenset({"Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"})
"""Operators that change how an operand lies in memory."""
SCALING: Final = frozenset({"Div", "Mul"})
FARTHEST: Final = 8
"""Changes of layout that come along before an operand, and after the result."""
MOST_INTEGERS: Final = 16
"""Integers in a constant that comes along: shapes and axes. Larger constants are data, and differ
from layer to layer."""
GRAPH_NAME: Final = "attention"
OLDEST_IR_VERSION: Final = 7
"""That of the oldest operator set that rewrites read; for a model that does not say."""


@frozen(eq=False)
class CutOut:
    """One attention, cut out."""

    operator: str
    """The fused operator, or "unfused"."""
    node: str
    """Name of the fused node, or of the product of query and keys."""
    model: "ir.Model"
    inputs: tuple[str, ...]
    """What its inputs are called in the model that it was cut from, in order."""
    outputs: tuple[str, ...]
    """Likewise."""
    constants: "tuple[tuple[str, ir.TensorProtocol], ...]" = ()
    """Inputs that are constants there, by their own names here."""
    serialized: bytes = field(init=False, repr=False)
    """The model in bytes: equal for equal attention."""

    @serialized.default
    def _serialize(self) -> bytes:
        import onnx_ir as ir

        return bytes(ir.serde.serialize_model(self.model).SerializeToString(deterministic=True))

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of the bytes."""
        return hashlib.sha256(self.serialized).hexdigest()

    @property
    def input_names(self) -> tuple[str, ...]:
        """What its inputs are called here."""
        return tuple(value.name or "" for value in self.model.graph.inputs)


def cut_out_attention(model: "ir.Model") -> tuple[CutOut, ...]:
    """Return every attention that rewrites can read, and `GroupQueryAttention`, in graph order.

    Infers the types and shapes of `model`, which stays as it is otherwise; weights are not read.
    Empty where there is none. Raises `NotApplicableError` with the reason where one of them cannot
    be cut out: what is left would not stand for the whole.
    """
    if model.opset_imports.get("", 0) < OLDEST_OPSET:
        return ()
    infer_shapes(model)
    found = [(name, _grown(nodes)) for name, nodes in _sites(model)]
    return tuple(_cut_out(model, name, nodes) for name, nodes in found)


def _sites(model: "ir.Model") -> "Iterator[tuple[str, tuple[ir.Node, ...]]]":
    """Yield the operator of each attention, with the nodes that compute it."""
    import onnx_ir as ir

    fused = {id(site.node) for site in fused_attention(model)}
    opset = model.opset_imports.get("", 0)
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        name = operator(node)
        if name == PACKED_ATTENTION:
            reason = f"{node.name or name} projects its input itself"
            raise NotApplicableError(reason)
        if id(node) in fused or name == GROUP_QUERY:
            nodes: tuple[ir.Node, ...] = (node,)
        elif name == "Softmax" and (problem := _unfused(node, opset)) is not None:
            name, nodes = UNFUSED, problem.chain
        else:
            continue
        if node.graph is not model.graph:
            reason = f"{node.name or name} is in a subgraph"
            raise NotApplicableError(reason)
        yield name, nodes


def _unfused(softmax: "ir.Node", opset: int) -> AttentionProblem | None:
    try:
        return read_unfused(softmax, opset)
    except NotApplicableError:
        return None


def _grown(nodes: "tuple[ir.Node, ...]") -> "list[ir.Node]":
    """Return the nodes with the changes of layout around them, in no order."""
    grown = list(nodes)
    for value in _operands(nodes):
        _grow_back(grown, value)
    last = nodes[-1].outputs[0]
    for _ in range(FARTHEST):
        uses = list(last.uses())
        if len(uses) != 1 or last.is_graph_output() or uses[0].idx != 0:
            break
        if uses[0].node.graph is not last.graph or not _is_layout(uses[0].node):
            break
        grown.append(uses[0].node)
        last = uses[0].node.outputs[0]
    return grown


def _operands(nodes: "tuple[ir.Node, ...]") -> "list[ir.Value]":
    """Return query, key and value as they enter the nodes."""
    first, last = nodes[0], nodes[-1]
    if operator(first) in PRODUCTS:
        values = (*first.inputs[:2], last.inputs[1])
    else:
        values = tuple(first.inputs[:OPERANDS])
    return [value for value in values if value is not None]


def _grow_back(grown: "list[ir.Node]", value: "ir.Value") -> None:
    for _ in range(FARTHEST):
        node = value.producer()
        outside = any(use.node not in grown for use in value.uses())
        if node is None or node in grown or outside or value.is_graph_output():
            return
        source = node.inputs[0]
        if source is None or node.graph is not grown[0].graph:
            return
        if not _is_layout(node) and not _is_scaling(node):
            return
        if _constant(source) is not None:
            return
        grown.append(node)
        value = source


def _is_layout(node: "ir.Node") -> bool:
    """Whether it changes a layout in a way that is the same in every call."""
    others = node.inputs[1:]
    return operator(node) in LAYOUT and all(one is None or _comes_along(one) for one in others)


def _is_scaling(node: "ir.Node") -> bool:
    return operator(node) in SCALING and node.inputs[1] is not None and _comes_along(node.inputs[1])


def _comes_along(value: "ir.Value") -> bool:
    """Whether it is a constant that is part of what is computed, such as a shape or a factor."""
    tensor = _constant(value)
    if tensor is None:
        return False
    return tensor.size == 1 or (tensor.dtype.is_integer() and tensor.size <= MOST_INTEGERS)


def _constant(value: "ir.Value") -> "ir.TensorProtocol | None":
    import onnx_ir as ir

    if value.is_graph_input():
        return None
    return ir.convenience.get_const_tensor(value)


class _Names:
    """Names by order of appearance, in place of a model's own."""

    def __init__(self) -> None:
        self._dimensions: dict[str, str] = {}

    def shape(self, value: "ir.Value") -> "ir.Shape | None":
        """Return the shape of a value, its open sizes named anew; equal names stay equal."""
        import onnx_ir as ir

        if value.shape is None:
            return None
        sizes: list[int | str | None] = []
        for size in value.shape:
            name = size if isinstance(size, int) else size.value
            if isinstance(name, str):
                name = self._dimensions.setdefault(name, f"d{len(self._dimensions)}")
            sizes.append(name)
        return ir.Shape(sizes)


def _cut_out(model: "ir.Model", name: str, region: "list[ir.Node]") -> CutOut:
    import onnx_ir as ir

    inside = {id(node) for node in region}
    nodes = [node for node in model.graph if id(node) in inside]
    names = _Names()
    new: dict[ir.Value, ir.Value] = {}
    inputs: list[ir.Value] = []
    initializers: list[ir.Value] = []
    constants: list[tuple[str, ir.TensorProtocol]] = []
    for value in chain.from_iterable(node.inputs for node in nodes):
        if value is None or value in new or id(value.producer()) in inside:
            continue
        tensor = _constant(value)
        if tensor is not None and _comes_along(value):
            held = ir.tensor(tensor.numpy().copy(), name=f"c{len(initializers)}")
            new[value] = ir.Value(
                name=held.name,
                shape=ir.Shape(tensor.numpy().shape),
                type=ir.TensorType(held.dtype),
                const_value=held,
            )
            initializers.append(new[value])
            continue
        label = f"i{len(inputs)}"
        if tensor is not None:
            constants.append((label, tensor))
        elif value.type is None:
            reason = f"the type of {value.name} is unknown"
            raise NotApplicableError(reason)
        kind = value.type if tensor is None else ir.TensorType(tensor.dtype)
        shape = names.shape(value) if tensor is None else ir.Shape(tensor.numpy().shape)
        new[value] = ir.Value(name=label, shape=shape, type=kind)
        inputs.append(value)
    copies = [_copied(node, serial, new) for serial, node in enumerate(nodes)]
    outputs = [value for node in nodes for value in node.outputs if _leaves(value, inside)]
    for value in outputs:
        new[value].type = value.type or ir.TensorType(ir.DataType.FLOAT)
        new[value].shape = names.shape(value)
    domains = {node.domain for node in nodes} | {""}
    graph = ir.Graph(
        [new[value] for value in inputs],
        [new[value] for value in outputs],
        nodes=copies,
        initializers=initializers,
        opset_imports={
            domain: version
            for domain, version in sorted(model.opset_imports.items())
            if domain in domains
        },
        name=GRAPH_NAME,
    )
    return CutOut(
        name,
        region[0].name or "",
        ir.Model(graph, ir_version=model.ir_version or OLDEST_IR_VERSION),
        tuple(value.name or "" for value in inputs),
        tuple(value.name or "" for value in outputs),
        tuple(constants),
    )


def _copied(node: "ir.Node", serial: int, new: "dict[ir.Value, ir.Value]") -> "ir.Node":
    import onnx_ir as ir

    copy = ir.Node(
        node.domain,
        node.op_type,
        [None if value is None else new[value] for value in node.inputs],
        [node.attributes[name] for name in sorted(node.attributes)],
        overload=node.overload,
        num_outputs=len(node.outputs),
        name=f"n{serial}",
    )
    for index, (old, copied) in enumerate(zip(node.outputs, copy.outputs, strict=True)):
        # An output that is left out has no name, and keeps none.
        copied.name = f"v{serial}_{index}" if old.name else ""
        new[old] = copied
    return copy


def _leaves(value: "ir.Value", inside: set[int]) -> bool:
    used = any(id(use.node) not in inside for use in value.uses())
    return bool(value.name) and (used or value.is_graph_output())
