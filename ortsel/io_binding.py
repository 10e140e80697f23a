"""`onnxruntime.IOBinding` that remembers what is bound, so that a bound run has a shape."""

from collections.abc import Hashable
from typing import Any, Final

import numpy as np
import onnxruntime
from attrs import Factory, define, frozen

from ortsel.trial.calling import Calling, WayOfCalling, device_of_value, from_ort_value
from ortsel.trial.devices import CPU_MEMORY, BoundDevices, Device


@frozen
class _Input:
    description: Hashable
    """Element type and shape; a bound input without one makes the binding unknown."""
    value: Any
    """The array or OrtValue that holds the data; None where only an address is known."""


@frozen
class _Output:
    description: Hashable
    value: Any
    allocated_on: Device | None = None
    """Where ONNX Runtime allocates it; None where the caller did."""


@define(eq=False)
class _Seen:
    """What was bound through a binding or a copy of it: both are one to ONNX Runtime."""

    owner: Any
    """ONNX Runtime's session that made the binding."""
    inputs: dict[str, _Input] = Factory(dict)
    outputs: dict[str, _Output] = Factory(dict)
    unknown: dict[str, None] = Factory(dict)
    """Methods that were called and that are not known here."""
    signature: str | None = None
    trouble: str = ""
    """Why ONNX Runtime could not hand out what is bound."""


class IOBinding(onnxruntime.IOBinding):
    """Works like ONNX Runtime's; made by `InferenceSession.io_binding()`."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self._seen = _Seen(session._sess)

    def signature(self) -> str:
        """Return what is bound, by name, type and shape, as a value to look up by.

        Outputs that lie over inputs, or over each other, are part of it: the same shapes bound
        apart are another call. It is text, since text keeps its hash: a bound run of a small model
        takes less time than hashing twenty shapes does.
        """
        seen = self._seen
        if seen.signature is None:
            seen.signature = repr(
                (
                    tuple((name, bound.description) for name, bound in seen.inputs.items()),
                    tuple((name, bound.description) for name, bound in seen.outputs.items()),
                    self._overlaps(),
                    tuple(seen.unknown),
                )
            )
        return seen.signature

    def output_names(self) -> list[str]:
        """Return the names of the bound outputs, in the order of binding."""
        return list(self._seen.outputs)

    def obstacle(self) -> str:
        """Return why a run of this binding cannot be repeated elsewhere; empty when it can."""
        if self._seen.unknown:
            return f"what {', '.join(self._seen.unknown)} bound is not known"
        for name, bound in self._seen.inputs.items():
            if bound.value is None:
                return f"input {name} is bound by address"
            if not _is_plain(bound.value):
                return f"input {name} is not a contiguous numeric tensor {IN_MEMORY}"
        for name, output in self._seen.outputs.items():
            device = output.allocated_on
            if output.value is None and device is None:
                return f"output {name} is bound by address"
            if output.value is None and device is not None and device.kind not in READABLE:
                return f"output {name} is on {device}, not {IN_MEMORY}"
            if output.value is not None and not _is_plain(output.value):
                return f"output {name} is not a numeric tensor {IN_MEMORY}"
        return "bound buffers overlap" if self._overlaps() else self._seen.trouble

    def calling(self) -> WayOfCalling:
        """Return the way of calling, with the devices on which anything is bound."""
        devices = BoundDevices(
            tuple((name, _device(one.value)) for name, one in self._seen.inputs.items()),
            tuple(
                (name, one.allocated_on or _device(one.value))
                for name, one in self._seen.outputs.items()
            ),
        )
        return devices if devices.inputs or devices.outputs else Calling.BOUND_CPU

    def snapshot(self) -> dict[str, np.ndarray[Any, np.dtype[Any]]] | None:
        """Return copies of the bound inputs, or None where `obstacle` says why there are none."""
        if self.obstacle():
            return None
        copies: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}
        try:
            return self._copied(copies)
        except RuntimeError as error:  # this ONNX Runtime cannot copy from such a device
            self._seen.trouble = f"what is bound cannot be read: {error}"
            return None

    def _copied(
        self, copies: dict[str, np.ndarray[Any, np.dtype[Any]]]
    ) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        if self.calling() is not Calling.BOUND_CPU:
            self.synchronize_inputs()  # what still writes to them is the caller's work
        for name, bound in self._seen.inputs.items():
            value = bound.value
            copy = from_ort_value(value) if isinstance(value, onnxruntime.OrtValue) else value
            copies[name] = np.array(copy, copy=True, order="C")
        return copies

    def results(self) -> list[object]:
        """Return copies of the outputs of the last run, in the order of binding.

        Only numeric tensors are read; anything else is a value that compares equal to nothing.
        """
        self.synchronize_outputs()
        return [from_ort_value(value) for value in self.get_outputs()]

    def _overlaps(self) -> bool:
        """Whether an output lies over an input or over another output."""
        inputs = [_extent(bound.value) for bound in self._seen.inputs.values()]
        outputs = [_extent(bound.value) for bound in self._seen.outputs.values()]
        return any(
            one[0] < other[1] and other[0] < one[1]
            for position, one in enumerate(outputs)
            for other in (*inputs, *outputs[:position])
        )

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Bind an array in CPU memory; later edits of the array are seen by the next run."""
        super().bind_cpu_input(name, arr_on_cpu)
        self._input(name, (str(arr_on_cpu.dtype), arr_on_cpu.shape), arr_on_cpu)

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: Any,
        shape: Any,
        buffer_ptr: int,
    ) -> None:
        """Bind an input by the address of its buffer."""
        super().bind_input(name, device_type, device_id, element_type, shape, buffer_ptr)
        self._input(name, (str(element_type), _sizes(shape), device_type, int(device_id)), None)

    def bind_ortvalue_input(self, name: str, ortvalue: Any) -> None:
        """Bind an OrtValue."""
        super().bind_ortvalue_input(name, ortvalue)
        self._input(name, _describe(ortvalue), ortvalue)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Any = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Bind an output, to a buffer by its address or to one that ONNX Runtime allocates."""
        super().bind_output(name, device_type, device_id, element_type, shape, buffer_ptr)
        allocated = Device(str(device_type).lower(), int(device_id)) if buffer_ptr is None else None
        description = (
            ("cpu",)
            if allocated is not None and allocated.kind == "cpu"
            else (
                device_type,
                int(device_id),
                str(element_type),
                None if shape is None else _sizes(shape),
            )
        )
        self._output(name, description, None, allocated)

    def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
        """Bind an output to an OrtValue."""
        super().bind_ortvalue_output(name, ortvalue)
        self._output(name, _describe(ortvalue), ortvalue)

    def clear_binding_inputs(self) -> None:
        """Forget the bound inputs."""
        super().clear_binding_inputs()
        self._seen.inputs.clear()
        self._seen.signature = None

    def clear_binding_outputs(self) -> None:
        """Forget the bound outputs."""
        super().clear_binding_outputs()
        self._seen.outputs.clear()
        self._seen.signature = None

    def _input(self, name: str, description: Hashable, value: Any) -> None:
        self._seen.inputs[name] = _Input(description, value)
        self._seen.signature = None

    def _output(
        self, name: str, description: Hashable, value: Any, allocated_on: Device | None = None
    ) -> None:
        self._seen.outputs[name] = _Output(description, value, allocated_on)
        self._seen.signature = None


READ_ONLY: Final = frozenset(
    {
        "copy_outputs_to_cpu",
        "get_outputs",
        "get_outputs_as_ortvaluevector",
        "synchronize_inputs",
        "synchronize_outputs",
    }
)
"""Methods that bind nothing."""


READABLE: Final = frozenset({"cann", "cpu", "cuda", "dml"})
"""Memories that ONNX Runtime copies arrays from and to."""
IN_MEMORY: Final = "in CPU memory or that of a device that arrays are copied from"

NUMPY_TENSORS: Final = frozenset(
    f"tensor({name})"
    for name in (
        *("bool", "double", "float", "float16"),
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    )
)
"""Tensors that ONNX Runtime gives to NumPy: neither text nor bfloat16, nor anything smaller."""


def distrust_the_rest(own: type, native: type) -> None:
    """Make a binding on which a method is called that `own` knows nothing of run on the reference.

    A later ONNX Runtime may add a way to bind, whose shapes would be missing in the signature.
    """
    for name in dir(native):
        known = name.startswith("_") or name in READ_ONLY or name in vars(own)
        if not known and callable(getattr(native, name)):
            setattr(own, name, _distrusted(native, name))


def _distrusted(native: type, name: str) -> Any:
    call = getattr(native, name)

    def method(self: Any, *arguments: Any, **keywords: Any) -> Any:
        self._seen.unknown[name] = None
        self._seen.signature = None
        return call(self, *arguments, **keywords)

    method.__name__ = name
    method.__doc__ = call.__doc__
    return method


distrust_the_rest(IOBinding, onnxruntime.IOBinding)


def _sizes(shape: Any) -> tuple[int, ...]:
    """Return a shape that ONNX Runtime took, whose numbers may be NumPy's, as plain numbers."""
    return tuple(int(size) for size in shape)


def _describe(value: Any) -> Hashable:
    if not value.is_tensor():
        return ("not a tensor", id(value))
    kind = value.device_name()
    if kind == "cpu":
        return (value.data_type(), tuple(value.shape()), kind)
    return (value.data_type(), tuple(value.shape()), str(device_of_value(value)))


def _device(value: Any) -> Device:
    """Return where a bound value is; arrays are in CPU memory."""
    return device_of_value(value) if isinstance(value, onnxruntime.OrtValue) else CPU_MEMORY


def _is_plain(value: Any) -> bool:
    if not isinstance(value, onnxruntime.OrtValue):
        return bool(
            type(value) is np.ndarray and value.dtype.kind not in "OSU" and value.flags.c_contiguous
        )
    if not value.is_tensor() or value.device_name().lower() not in READABLE:
        return False
    return value.data_type() in NUMPY_TENSORS


def _extent(value: Any) -> tuple[int, int]:
    """Return the first address of a buffer and the one behind it; the same twice where unknown."""
    if value is None or not _is_plain(value):
        return (0, 0)
    if isinstance(value, onnxruntime.OrtValue):
        address = int(value.data_ptr())
        return (address, address + int(value.tensor_size_in_bytes()))
    address = int(value.__array_interface__["data"][0])
    return (address, address + int(value.nbytes))
