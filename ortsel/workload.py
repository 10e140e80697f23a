"""What a call asks for: the look-up value for every call, and the part of a key for a decision."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np
import onnxruntime
from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.trial.devices import BoundDevices
from spec.canonical_json import Json

ALONE: Final = "alone"
"""The load under which decisions are made unless told otherwise: one call at a time."""

_TYPES: Final[Mapping[str, str]] = {
    "bool": "bool",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "float16": "float16",
    "float32": "float",
    "float64": "double",
    "complex64": "complex64",
    "complex128": "complex128",
    "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8e4m3fn",
    "float8_e4m3fnuz": "float8e4m3fnuz",
    "float8_e5m2": "float8e5m2",
    "float8_e5m2fnuz": "float8e5m2fnuz",
    "int4": "int4",
    "uint4": "uint4",
}
"""ONNX's name of an element type, by NumPy's."""
_TEXT_NUMBERS: Final = (np.dtype("S").num, np.dtype("U").num)
_TEXT_KINDS: Final = "USO"
"""NumPy kinds that ONNX Runtime takes for strings. Their width is not part of the type."""


@frozen
class UntunableFeedError(OrtselError):
    """An input whose type or shape cannot be told from outside. The reference serves it."""

    name: str
    got: str
    need: str

    def __str__(self) -> str:
        return f"input {self.name}: got {self.got}, need {self.need}"


def run_signature(output_names: Sequence[str] | None, feed: object) -> Hashable | None:
    """Return the value under which a call is looked up; None where only the reference may serve.

    It tells apart everything that `workload_part` tells apart, at the least cost: equal signatures
    mean equal parts. Not the other way round: sorting the inputs would cost every call more than
    deciding once more about another order costs. Never raises: what ONNX Runtime does not take is
    for ONNX Runtime to refuse.
    """
    if type(feed) is not dict:
        return None
    if output_names is not None and type(output_names) not in (list, tuple):
        return None  # a generator would be used up, a text taken apart
    try:
        parts: list[Hashable] = [None if output_names is None else tuple(output_names)]
        for name, value in feed.items():
            if type(value) is np.ndarray:
                dtype = value.dtype
                if not dtype.isnative:
                    return None
                number = dtype.num
                # Strides tell the layout at less cost than flags, but those of text tell its width.
                layout = value.flags.c_contiguous if number in _TEXT_NUMBERS else value.strides
                parts += (name, number, value.shape, layout)
            elif isinstance(value, onnxruntime.OrtValue) and _is_tensor_in_memory(value):
                parts += (name, value.data_type(), tuple(value.shape()))
            else:
                return None
    except (TypeError, RuntimeError):
        return None
    return tuple(parts)


def workload_part(
    feed: Mapping[str, Any],
    output_names: Iterable[str],
    calling: str | Enum | BoundDevices,
    load: str = ALONE,
) -> Json:
    """Return the workload as a part of a key.

    Per input its name, ONNX element type, exact shape and whether its memory is contiguous; inputs
    that are optional count by being there. The order of inputs and of outputs makes no difference.
    `calling` is how the caller passes data, `load` how many do so at once. Raises
    `UntunableFeedError` for an input that is neither an array nor a tensor in CPU memory: ONNX
    Runtime takes lists and scalars too, but converts them by rules of its own.
    """
    devices = {"devices": calling.parts()} if isinstance(calling, BoundDevices) else {}
    return devices | {
        "calling": calling if isinstance(calling, str) else str(calling.value),
        "inputs": {name: _input(name, feed[name]) for name in sorted(feed)},
        "load": load,
        "outputs": sorted(set(output_names)),
    }


def describe_workload(
    feed: Mapping[str, Any], output_names: Iterable[str], calling: str | Enum | BoundDevices
) -> str:
    """Return one line for people, such as "x float[1,3] to y (numpy)". Never raises."""
    inputs = []
    for name in sorted(feed):
        try:
            element, shape = _type_and_shape(name, feed[name])
            inputs.append(f"{name} {element}[{','.join(map(str, shape))}]")
        except UntunableFeedError as error:
            inputs.append(f"{name} ({error.got})")
    word = calling if isinstance(calling, str) else str(calling.value)
    return f"{', '.join(inputs) or 'no input'} to {', '.join(sorted(set(output_names)))} ({word})"


def _input(name: str, value: Any) -> Json:
    element, shape = _type_and_shape(name, value)
    contiguous = not isinstance(value, np.ndarray) or bool(value.flags.c_contiguous)
    return {
        "layout": "contiguous" if contiguous else "strided",
        "shape": list(shape),
        "type": f"tensor({element})",
    }


def _type_and_shape(name: str, value: Any) -> tuple[str, tuple[int, ...]]:
    if type(value) is np.ndarray:
        return _element(name, value.dtype), value.shape
    if isinstance(value, onnxruntime.OrtValue):
        if not _is_tensor_in_memory(value):
            raise UntunableFeedError(name, "an OrtValue elsewhere", "a tensor in CPU memory")
        element = str(value.data_type()).removeprefix("tensor(").removesuffix(")")
        return element, tuple(int(size) for size in value.shape())
    raise UntunableFeedError(name, type(value).__name__, "a NumPy array or an OrtValue")


def _element(name: str, dtype: "np.dtype[Any]") -> str:
    if dtype.kind in _TEXT_KINDS:
        return "string"
    element = _TYPES.get(dtype.name)
    if element is None or not dtype.isnative:
        raise UntunableFeedError(name, f"dtype {dtype.str} ({dtype.name})", "an ONNX element type")
    return element


def _is_tensor_in_memory(value: Any) -> bool:
    return bool(value.is_tensor() and value.device_name().lower() == "cpu")
