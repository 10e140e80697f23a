"""Ways to call a session. A plan is measured the way it is served."""

import ctypes
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

import numpy as np

from ortsel.errors import UsageError
from ortsel.trial.devices import BoundDevices, Device
from ortsel.trial.values import Opaque, element_type

if TYPE_CHECKING:
    import onnxruntime

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

ONNX_NUMBERS: Final = {
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
}
"""Element types that numpy lacks, by the name of their ml_dtypes type."""

_NUMPY_NAMES: Final = {
    "tensor(bfloat16)": "bfloat16",
    "tensor(float8e4m3fn)": "float8_e4m3fn",
    "tensor(float8e4m3fnuz)": "float8_e4m3fnuz",
    "tensor(float8e5m2)": "float8_e5m2",
    "tensor(float8e5m2fnuz)": "float8_e5m2fnuz",
}


class Calling(Enum):
    """How the caller hands in inputs and takes out outputs: part of the key."""

    NUMPY = "numpy"
    """`run` with arrays: copies between host and device count."""
    BOUND_CPU = "bound-cpu"
    """`run_with_iobinding` with inputs in CPU memory; every call gets outputs of its own."""


WayOfCalling: TypeAlias = Calling | BoundDevices
"""How the caller hands in inputs and takes out outputs, wherever they are."""


class Caller(Protocol):
    """One session ready to be called on one feed."""

    def call(self) -> None:
        """Run once, until the outputs are there, and drop them."""

    def outputs(self) -> list[object]:
        """Run once and return the outputs in the order of the names."""


def make_caller(
    session: "onnxruntime.InferenceSession",
    feed: Mapping[str, object],
    output_names: Sequence[str],
    calling: WayOfCalling,
) -> Caller:
    """Return a caller. Raises `UsageError` where the feed or the outputs cannot be bound.

    Raises what ONNX Runtime raises where it has no memory on a device that is asked for.
    """
    if calling is Calling.NUMPY:
        return _NumpyCaller(session, feed, output_names)
    if calling is Calling.BOUND_CPU:
        return _BoundCaller(session, feed, output_names)
    return _DeviceCaller(session, feed, output_names, calling)


class _NumpyCaller:
    def __init__(
        self,
        session: "onnxruntime.InferenceSession",
        feed: Mapping[str, object],
        output_names: Sequence[str],
    ) -> None:
        self._run = session.run
        self._feed = {name: _runnable(value) for name, value in feed.items()}
        self._names = list(output_names)
        types = {output.name: output.type for output in session.get_outputs()}
        self._types = [types[name] for name in output_names]

    def call(self) -> None:
        self._run(self._names, self._feed)

    def outputs(self) -> list[object]:
        results = self._run(self._names, self._feed)
        return [
            _with_true_type(value, kind) for value, kind in zip(results, self._types, strict=True)
        ]


class _BoundCaller:
    def __init__(
        self,
        session: "onnxruntime.InferenceSession",
        feed: Mapping[str, object],
        output_names: Sequence[str],
    ) -> None:
        self._session = session
        self._names = list(output_names)
        self._binding = session.io_binding()
        self._values: list[onnxruntime.OrtValue] = []
        for name, value in feed.items():
            if not isinstance(value, np.ndarray) or value.dtype.kind in "OSU":
                raise UsageError(
                    field=f"input {name}",
                    got="a value that cannot be bound",
                    need="a numeric array",
                )
            # Held here: bindings of older ONNX Runtimes keep no array alive.
            self._values.append(self._placed(name, value))
            self._binding.bind_ortvalue_input(name, self._values[-1])

    def _placed(self, name: str, array: Array) -> "onnxruntime.OrtValue":
        """Return an input's value where the caller has it."""
        del name
        return to_ort_value(array)

    def call(self) -> None:
        # Bound anew each time: otherwise ONNX Runtime writes into the first call's buffer, which
        # belongs to whoever got it, and refuses another shape.
        self._binding.clear_binding_outputs()
        for name in self._names:
            self._binding.bind_output(name, "cpu")
        self._session.run_with_iobinding(self._binding)
        self._binding.synchronize_outputs()

    def outputs(self) -> list[object]:
        self.call()
        return [from_ort_value(value) for value in self._binding.get_outputs()]


class _DeviceCaller(_BoundCaller):
    def __init__(
        self,
        session: "onnxruntime.InferenceSession",
        feed: Mapping[str, object],
        output_names: Sequence[str],
        devices: BoundDevices,
    ) -> None:
        self._devices = devices
        super().__init__(session, feed, output_names)

    def _placed(self, name: str, array: Array) -> "onnxruntime.OrtValue":
        return on_device(array, self._devices.input(name))

    def call(self) -> None:
        # Both ends wait for the devices: what this call did is over when it returns, and what an
        # earlier one left to do is not in its time.
        self._binding.clear_binding_outputs()
        for name in self._names:
            device = self._devices.output(name)
            self._binding.bind_output(name, device.kind, device.number)
        self._binding.synchronize_inputs()
        self._session.run_with_iobinding(self._binding)
        self._binding.synchronize_outputs()


def on_device(array: Array, device: Device) -> "onnxruntime.OrtValue":
    """Return a value on a device with a copy of the array; in CPU memory, over the array itself."""
    import onnxruntime

    if device.kind == "cpu":
        return to_ort_value(array)
    if array.dtype.name in ONNX_NUMBERS:
        raise UsageError("device", f"{array.dtype.name} on {device}", "a type that NumPy has")
    whole = np.asarray(array, order="C")
    return onnxruntime.OrtValue.ortvalue_from_numpy(whole, device.kind, device.number)


def device_of_value(value: "onnxruntime.OrtValue") -> Device:
    """Return where a value is. Its number is 0 where ONNX Runtime does not tell it."""
    kind = value.device_name().lower()
    if kind == "cpu":
        return Device()
    try:
        _, number = value._ortvalue.__dlpack_device__()
    except (AttributeError, RuntimeError):
        number = 0
    return Device(kind, int(number))


def to_ort_value(array: Array) -> "onnxruntime.OrtValue":
    """Return a CPU value over the array's own memory (a contiguous copy where it is strided)."""
    import onnxruntime

    whole = np.asarray(array, order="C")  # `ascontiguousarray` would give a scalar a dimension
    number = ONNX_NUMBERS.get(array.dtype.name)
    if number is None:
        return onnxruntime.OrtValue.ortvalue_from_numpy(whole)
    bits = whole.view(f"u{array.dtype.itemsize}")
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, number)


def from_ort_value(value: "onnxruntime.OrtValue") -> object:
    """Return an array of its own, of the true element type, or `Opaque` for other kinds."""
    if not value.has_value():
        return None
    if not value.is_tensor():
        return Opaque(f"a value of type {value.data_type()}")
    if "string" in value.data_type():
        return Opaque("text")  # reading it ends the process in some versions of ONNX Runtime
    name = _NUMPY_NAMES.get(value.data_type())
    if name is None:
        return np.array(value.numpy())
    if value.device_name().lower() != "cpu":
        return Opaque(f"a value of type {name} on {device_of_value(value)}")
    raw = ctypes.string_at(value.data_ptr(), value.tensor_size_in_bytes())
    return np.frombuffer(raw, dtype=element_type(name)).reshape(value.shape())


def _runnable(value: object) -> object:
    if isinstance(value, np.ndarray) and value.dtype.name in ONNX_NUMBERS:
        return to_ort_value(value)
    return value


def _with_true_type(value: object, kind: str) -> object:
    """ONNX Runtime hands out eight-bit floats as the bytes they are made of."""
    name = _NUMPY_NAMES.get(kind)
    if name is None or not isinstance(value, np.ndarray):
        return value
    return value.view(element_type(name))
