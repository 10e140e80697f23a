"""ONNX's own cases for every operator, as models with inputs."""

import warnings
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import frozen


@frozen(eq=False)
class NodeCase:
    name: str
    model: bytes
    feed: dict[str, Any]


@cache
def node_cases() -> tuple[NodeCase, ...]:
    """Return all of them, in the order of their names."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # computing with infinities is what some cases are for
        # The outputs that ONNX expects are of no interest here, and pooling in Python takes longer
        # than all the rest.
        patch.setattr("onnx.reference.ops.op_pool_common.pool", zeros_of_pool)
        from onnx.backend.test.case.node import collect_testcases

        collected = collect_testcases()
    cases = [node_case(case) for case in collected]
    return tuple(sorted(cases, key=lambda case: case.name))


def node_case(case: Any) -> NodeCase:
    inputs = case.data_sets[0][0]
    names = [declared.name for declared in case.model.graph.input]
    feed = {name: as_feed(value) for name, value in zip(names, inputs, strict=True)}
    return NodeCase(case.name, case.model.SerializeToString(), feed)


def zeros_of_pool(
    padded: Any, x_shape: Any, kernel: Any, strides: Any, out_shape: Any, *_: Any, **__: Any
) -> Any:
    return np.zeros((*x_shape[:2], *out_shape), np.float32)


def as_feed(value: Any) -> Any:
    """Return what ONNX Runtime takes for a value of a case."""
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, onnx.TensorProto):
        return as_ort_value(onnx.numpy_helper.to_array(value), value.data_type)
    if isinstance(value, np.ndarray) and value.dtype.isbuiltin == 2:
        return as_ort_value(value, onnx.helper.np_dtype_to_tensor_dtype(value.dtype))
    return value


def as_ort_value(array: Any, element: int) -> Any:
    """Return a tensor of a type that NumPy has none for."""
    if array.dtype.isbuiltin != 2:
        return array
    bits = np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, element)
