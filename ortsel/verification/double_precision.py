"""A model computed in double precision by ONNX's own evaluator: slow, and no kernel of anybody's.

Numbers that the model holds or computes in a smaller floating-point type become double; what it
computes in integers, and quantised values, stay what they are.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from ortsel.errors import OrtselError

if TYPE_CHECKING:
    import onnx

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

MAX_WEIGHTS: Final = 64_000_000
"""Elements of a model's weights; they take eight bytes each."""
TYPE_ATTRIBUTES: Final = ("to", "dtype", "output_datatype", "output_dtype")
"""Attributes that name the type of what an operator computes."""
ONNX_DOMAINS: Final = ("", "ai.onnx")


class NoDoublePrecisionError(OrtselError):
    """The evaluator cannot compute this model."""


def outputs_in_double(
    model: "onnx.ModelProto", feed: Mapping[str, object], output_names: Sequence[str]
) -> list[object]:
    """Return the outputs of that name. The model is changed.

    Raises `NoDoublePrecisionError` where it is too large or has what the evaluator does not know.
    """
    from onnx.reference import ReferenceEvaluator

    weights = sum(_elements(tensor.dims) for tensor in model.graph.initializer)
    if weights > MAX_WEIGHTS:
        message = f"got {weights} weights, need at most {MAX_WEIGHTS}"
        raise NoDoublePrecisionError(message)
    widen(model)
    inputs = {name: _wide_value(value) for name, value in feed.items()}
    try:
        with np.errstate(all="ignore"):
            found: Any = ReferenceEvaluator(model).run(list(output_names), inputs)
    except Exception as error:  # an evaluator of all operators may raise anything
        lines = str(error).strip().splitlines() or [""]
        message = f"ONNX's evaluator raised {type(error).__name__}: {lines[0][:200]}"
        raise NoDoublePrecisionError(message) from error
    return list(found)


def widen(model: "onnx.ModelProto") -> None:
    """Make double of every smaller floating-point type in a model, subgraphs and functions too."""
    _widen_graph(model.graph)
    for function in model.functions:
        _widen_nodes(function.node)


def _elements(dims: Iterable[int]) -> int:
    count = 1
    for size in dims:
        count *= size
    return count


def _narrow() -> frozenset[int]:
    from onnx import TensorProto

    return frozenset((TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16))


def _wide_value(value: object) -> object:
    if isinstance(value, list):
        return [_wide_value(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.name in ("float16", "float32", "bfloat16"):
        return value.astype(np.float64)
    return value


def _widen_tensor(tensor: "onnx.TensorProto") -> None:
    from onnx import numpy_helper

    if tensor.data_type in _narrow():
        wide = np.asarray(numpy_helper.to_array(tensor)).astype(np.float64)
        tensor.CopyFrom(numpy_helper.from_array(wide, tensor.name))


def _widen_type(type_: "onnx.TypeProto") -> None:
    from onnx import TensorProto

    kind = type_.WhichOneof("value")
    if kind == "tensor_type" and type_.tensor_type.elem_type in _narrow():
        type_.tensor_type.elem_type = TensorProto.DOUBLE
    elif kind == "sequence_type":
        _widen_type(type_.sequence_type.elem_type)
    elif kind == "optional_type":
        _widen_type(type_.optional_type.elem_type)


def _widen_graph(graph: "onnx.GraphProto") -> None:
    for tensor in graph.initializer:
        _widen_tensor(tensor)
    for value in (*graph.input, *graph.output):
        _widen_type(value.type)
    del graph.value_info[:]
    _widen_nodes(graph.node)


def _widen_nodes(nodes: "Iterable[onnx.NodeProto]") -> None:
    from onnx import TensorProto, helper, numpy_helper

    for node in nodes:
        own = node.domain in ONNX_DOMAINS
        if own and node.op_type == "ConstantOfShape" and not node.attribute:
            zero = numpy_helper.from_array(np.zeros(1))
            node.attribute.append(helper.make_attribute("value", zero))
        for attribute in node.attribute:
            if attribute.HasField("t"):
                _widen_tensor(attribute.t)
            if attribute.HasField("g"):
                _widen_graph(attribute.g)
            for tensor in attribute.tensors:
                _widen_tensor(tensor)
            for graph in attribute.graphs:
                _widen_graph(graph)
            if attribute.name in TYPE_ATTRIBUTES and attribute.i in _narrow():
                attribute.i = TensorProto.DOUBLE
        if own and node.op_type == "Constant":
            _widen_constant(node)


def _widen_constant(node: "onnx.NodeProto") -> None:
    """Turn a constant that is written as numbers into one that is written as a tensor."""
    from onnx import helper, numpy_helper

    for attribute in list(node.attribute):
        if attribute.name in ("value_float", "value_floats"):
            number = attribute.f if attribute.name == "value_float" else list(attribute.floats)
            wide = numpy_helper.from_array(np.asarray(number, np.float64))
            node.attribute.remove(attribute)
            node.attribute.append(helper.make_attribute("value", wide))


def distance(truth: object, value: object) -> float:
    """Return how far a value is from the truth: 0 is equal, infinity is another structure.

    Of numbers the largest distance over the largest magnitude; of everything else the share of
    elements that differ. Of sequences and maps the largest of their members'.
    """
    if isinstance(truth, Mapping) and isinstance(value, Mapping):
        if truth.keys() != value.keys():
            return float("inf")
        return max((distance(truth[key], value[key]) for key in truth), default=0.0)
    if isinstance(truth, list) and isinstance(value, list):
        if len(truth) != len(value):
            return float("inf")
        return max(map(distance, truth, value), default=0.0)
    if truth is None or value is None:
        return 0.0 if truth is value else float("inf")
    return _array_distance(np.asarray(truth), np.asarray(value))


def _array_distance(truth: Array, value: Array) -> float:
    if truth.shape != value.shape:
        return float("inf")
    if truth.size == 0:
        return 0.0
    if truth.dtype.kind not in "fc":
        return float(np.mean(np.asarray(truth != value, dtype=bool)))
    wide = value.astype(truth.dtype)
    finite = np.isfinite(truth)
    if np.any(finite != np.isfinite(wide)):
        return float("inf")
    apart = float(np.abs(wide[finite] - truth[finite]).max(initial=0.0))
    largest = float(np.abs(truth[finite]).max(initial=0.0))
    return apart / largest if largest > 0 else (float("inf") if apart > 0 else 0.0)
