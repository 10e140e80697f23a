"""What can be seen of a model without running it."""

import os
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from attrs import frozen

from ortsel.model_outline import read_outline

if TYPE_CHECKING:
    import onnx

MAX_BYTES: Final = 512 * 2**20
"""Larger files are not looked at: parsing weights takes seconds that a trial spends better."""

ATTENTION: Final = frozenset({"Attention", "GroupQueryAttention", "MultiHeadAttention", "Softmax"})

_ORT_IDENTIFIER: Final = b"ORTM"


@frozen
class ModelTraits:
    """What is known of a model. Unknown (None) rules nothing out: a trial finds out."""

    operator_types: frozenset[str] | None = None
    """Operator types anywhere in the graph, its subgraphs and local functions, without domain."""
    dynamic_shapes: bool | None = None
    """Whether any graph input has a dimension without a fixed size."""
    opset: int | None = None
    """Version of ONNX's own operator set that the model imports; 0 where it imports none."""
    onnx_format: bool | None = None
    """False for ONNX Runtime's own `.ort` format, from which no graph variant can be built."""
    inputs: tuple[tuple[str, tuple[int | str | None, ...]], ...] | None = None
    """Shape of each graph input that is a tensor, as the model writes it: a size, the name of an
    open dimension, or None for one without a name."""
    attention_nodes: int | None = None
    """Softmaxes and fused attention operators in the graph itself: no fewer than places where
    attention is computed."""

    float16: bool | None = None
    """Whether an input or a weight of the graph itself is in float16."""

    def may_contain(self, *operator_types: str) -> bool:
        """Whether any of these operator types can be in the model."""
        return self.operator_types is None or not self.operator_types.isdisjoint(operator_types)


def read_model_traits(model: str | os.PathLike[str] | bytes) -> ModelTraits:
    """Return the traits of a model; unknown ones where it is too large or can't be parsed."""
    import onnx

    decode_error: type[Exception] = import_module("google.protobuf.message").DecodeError
    try:
        if isinstance(model, bytes):
            head, size = model[:8], len(model)
        else:
            path = Path(model)
            size = path.stat().st_size
            with path.open("rb") as file:
                head = file.read(8)
        if head[4:8] == _ORT_IDENTIFIER:
            return ModelTraits(onnx_format=False)
        if size > MAX_BYTES:
            return ModelTraits()
        source = model if isinstance(model, bytes) else Path(model)
        proto = onnx.load_model_from_string(read_outline(source).message)
    except (OSError, decode_error):
        return ModelTraits()
    bodies: list[onnx.GraphProto | onnx.FunctionProto] = [proto.graph, *proto.functions]
    return ModelTraits(
        frozenset(operator for body in bodies for operator in _operator_types(body.node)),
        any(_is_dynamic(value) for value in proto.graph.input),
        max(
            (one.version for one in proto.opset_import if one.domain in {"", "ai.onnx"}), default=0
        ),
        onnx_format=True,
        inputs=tuple((value.name, _dimensions(value)) for value in _fed(proto.graph)),
        float16=onnx.TensorProto.FLOAT16
        in {
            *(tensor.data_type for tensor in proto.graph.initializer),
            *(value.type.tensor_type.elem_type for value in proto.graph.input),
        },
        attention_nodes=sum(node.op_type in ATTENTION for node in proto.graph.node),
    )


def _operator_types(nodes: "Iterable[onnx.NodeProto]") -> Iterable[str]:
    for node in nodes:
        yield node.op_type
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                yield from _operator_types(graph.node)


def _fed(graph: "onnx.GraphProto") -> "list[onnx.ValueInfoProto]":
    """Return the inputs of known rank that are no weights: old models list those, too."""
    weights = {tensor.name for tensor in graph.initializer}
    return [
        value
        for value in graph.input
        if value.name not in weights and value.type.tensor_type.HasField("shape")
    ]


def _dimensions(value: "onnx.ValueInfoProto") -> tuple[int | str | None, ...]:
    return tuple(
        dimension.dim_value if dimension.HasField("dim_value") else dimension.dim_param or None
        for dimension in value.type.tensor_type.shape.dim
    )


def _is_dynamic(value: "onnx.ValueInfoProto") -> bool:
    dimensions = value.type.tensor_type.shape.dim
    return any(not dimension.HasField("dim_value") for dimension in dimensions)
