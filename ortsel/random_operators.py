"""Operators that draw random numbers, wherever in a model they are.

Runs that agree do not show that there is none: one may sit in a branch that was not taken.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from attrs import frozen

from ortsel.model_outline import read_outline

if TYPE_CHECKING:
    import onnx

DRAWING: Final = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Sampling",
    }
)
"""Operators that always draw, with a seed too: each run goes on in the seed's stream."""

TRAINING_INPUT: Final[Mapping[str, int]] = {
    "Dropout": 2,
    "BitmaskDropout": 2,
    "BiasDropout": 4,
    "BitmaskBiasDropout": 4,
}
"""Operators that draw in training mode, with the position of the input that switches it on."""

_NO_TRAINING: Final = range(7, 12)
"""Operator sets of ONNX whose Dropout cannot train. Before, an attribute says that it does not;
later, an input says that it does."""
_ORT_IDENTIFIER: Final = b"ORTM"
_ONNX_DOMAINS: Final = ("", "ai.onnx")


def random_operators(model: Path | bytes) -> tuple[str, ...]:
    """Return the names of the operators that draw, sorted; a model is a file or its bytes.

    Graphs within nodes and local functions count, called or not. External data is not read. Empty
    where the model is no ONNX protobuf (ONNX Runtime's own format, say): only runs can tell there.
    Raises `OSError` where the file cannot be read.
    """
    data = read_outline(model).message
    if data[4:8] == _ORT_IDENTIFIER:
        return ()
    import onnx

    decode_error: type[Exception] = import_module("google.protobuf.message").DecodeError
    parsed = onnx.ModelProto()
    try:
        parsed.ParseFromString(data)
    except decode_error:
        return ()
    found = set(_in_graph(parsed.graph, _Scope(_version(parsed.opset_import))))
    for function in parsed.functions:
        scope = _Scope(_version(function.opset_import or parsed.opset_import))
        found.update(_in_nodes(function.node, scope))
    return tuple(sorted(found))


@frozen
class _Scope:
    """What a node can see."""

    opset: int
    """Version of ONNX's own operator set."""
    false: frozenset[str] = frozenset()
    """Values that are constant and false."""


def _version(imports: "Iterable[onnx.OperatorSetIdProto]") -> int:
    return max((one.version for one in imports if one.domain in _ONNX_DOMAINS), default=0)


def _in_graph(graph: "onnx.GraphProto", outer: _Scope) -> Iterator[str]:
    given = {value.name for value in graph.input}  # a caller may replace those initializers
    false = {
        tensor.name
        for tensor in graph.initializer
        if tensor.name not in given and _is_false(tensor)
    }
    yield from _in_nodes(graph.node, _Scope(outer.opset, (outer.false - given) | false))


def _in_nodes(nodes: "Iterable[onnx.NodeProto]", outer: _Scope) -> Iterator[str]:
    listed = list(nodes)
    false = {node.output[0] for node in listed if _is_constant_false(node)}
    scope = _Scope(outer.opset, outer.false | false)
    for node in listed:
        if node.op_type in DRAWING or _trains(node, scope):
            yield node.op_type
        for attribute in node.attribute:
            graphs = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
            for graph in graphs:
                yield from _in_graph(graph, scope)


def _trains(node: "onnx.NodeProto", scope: _Scope) -> bool:
    position = TRAINING_INPUT.get(node.op_type)
    if position is None:
        return False
    if node.domain in _ONNX_DOMAINS:
        if scope.opset in _NO_TRAINING:
            return False
        if scope.opset < _NO_TRAINING.start:
            return not any(one.name == "is_test" and one.i for one in node.attribute)
    switch = node.input[position] if len(node.input) > position else ""
    return bool(switch) and switch not in scope.false


def _is_constant_false(node: "onnx.NodeProto") -> bool:
    return (
        node.op_type == "Constant"
        and node.domain in _ONNX_DOMAINS
        and len(node.output) == 1
        and any(one.name == "value" and _is_false(one.t) for one in node.attribute)
    )


def _is_false(tensor: "onnx.TensorProto") -> bool:
    """Say whether a tensor is one boolean, false; what lies in another file is not looked at."""
    import onnx

    if tensor.data_type != onnx.TensorProto.BOOL or tensor.data_location == tensor.EXTERNAL:
        return False
    values: list[Any] = list(tensor.raw_data) or list(tensor.int32_data)
    return bool(values) and not any(values)
