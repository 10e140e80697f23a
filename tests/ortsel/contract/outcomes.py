"""What a call gives, as a value that two sessions can be compared by, bit for bit."""

import logging
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime

ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def outcome(action: Callable[[], Any]) -> Any:
    """Return the type and text of what an action raises, or what it returns."""
    try:
        return described(action())
    except Exception as error:
        logging.getLogger(__name__).debug("as it may", exc_info=True)
        return type(error).__module__, type(error).__qualname__, ADDRESS.sub("", str(error))


def described(value: Any) -> Any:
    """Return a value's types, shapes and bits, at every depth."""
    if isinstance(value, np.ndarray):
        kind = (type(value).__name__, str(value.dtype), value.shape)
        return (*kind, value.tolist() if value.dtype.hasobject else value.tobytes())
    if isinstance(value, np.generic):
        return type(value).__name__, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(item) for item in value]
    if isinstance(value, dict):
        return "dict", [(key, described(item)) for key, item in value.items()]
    if isinstance(value, onnxruntime.OrtValue):
        return "OrtValue", value.data_type(), described_ort_value(value)
    if isinstance(value, onnxruntime.SparseTensor):
        return (
            "SparseTensor",
            value.data_type(),
            str(value.format()),
            list(value.dense_shape()),
            described(value.values()),
        )
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return type(value).__name__, repr(value)
    return type(value).__module__, type(value).__qualname__, ADDRESS.sub("", repr(value))


def described_ort_value(value: Any) -> Any:
    if not value.has_value():
        return "no value"
    if value.is_tensor() and "string" not in value.data_type():
        return list(value.shape()), bits(value)
    return outcome_of_numpy(value)


def bits(value: Any) -> bytes:
    """Return a tensor's memory: NumPy has no name for half of ONNX's element types."""
    import ctypes

    return ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())


def outcome_of_numpy(value: Any) -> Any:
    try:
        return described(value.numpy())
    except RuntimeError as error:
        return str(error)
