"""`onnxruntime.IOBinding` that remembers what is bound, so that a bound run has a shape."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import onnxruntime
from attrs import frozen


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


class IOBinding(onnxruntime.IOBinding):
    """Works like ONNX Runtime's; made by `InferenceSession.io_binding()`."""

    def __init__(self, session: Any) -> None:
        super().__init__(session)
        self._seen_inputs: dict[str, _Input] = {}
        self._seen_outputs: dict[str, _Output] = {}
        self._signature: Hashable | None = None

    def signature(self) -> Hashable:
        """Return what is bound, by name, type and shape, as a value to look up by."""
        if self._signature is None:
            self._signature = (
                tuple((name, bound.description) for name, bound in self._seen_inputs.items()),
                tuple((name, bound.description) for name, bound in self._seen_outputs.items()),
            )
        return self._signature

    def output_names(self) -> list[str]:
        """Return the names of the bound outputs, in the order of binding."""
        return list(self._seen_outputs)

    def obstacle(self) -> str:
        """Return why a run of this binding cannot be repeated elsewhere; empty when it can."""
        for name, bound in self._seen_inputs.items():
            if bound.value is None:
                return f"input {name} is bound by address"
            if isinstance(bound.value, onnxruntime.OrtValue) and not _is_cpu_tensor(bound.value):
                return f"input {name} is not a tensor in CPU memory"
        addresses = {_address(bound.value) for bound in self._seen_inputs.values()}
        for name, output in self._seen_outputs.items():
            if output.description != ("cpu",) and not isinstance(
                output.value, onnxruntime.OrtValue
            ):
                return f"output {name} is bound by address or outside CPU memory"
            if output.value is not None:
                if not _is_cpu_tensor(output.value):
                    return f"output {name} is not a tensor in CPU memory"
                if _address(output.value) in addresses:
                    return f"output {name} overwrites an input"
        return ""

    def snapshot(self) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
        """Return copies of the bound inputs. Only where `obstacle` is empty."""
        return {name: _copy(bound.value) for name, bound in self._seen_inputs.items()}

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
        self._input(name, (str(element_type), tuple(shape), device_type, device_id), None)

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
        allocated = buffer_ptr is None and device_type == "cpu"
        description = (
            ("cpu",)
            if allocated
            else (
                device_type,
                device_id,
                str(element_type),
                None if shape is None else tuple(shape),
            )
        )
        self._output(name, description, None)

    def bind_ortvalue_output(self, name: str, ortvalue: Any) -> None:
        """Bind an output to an OrtValue."""
        super().bind_ortvalue_output(name, ortvalue)
        self._output(name, _describe(ortvalue), ortvalue)

    def clear_binding_inputs(self) -> None:
        """Forget the bound inputs."""
        super().clear_binding_inputs()
        self._seen_inputs.clear()
        self._signature = None

    def clear_binding_outputs(self) -> None:
        """Forget the bound outputs."""
        super().clear_binding_outputs()
        self._seen_outputs.clear()
        self._signature = None

    def _input(self, name: str, description: Hashable, value: Any) -> None:
        self._seen_inputs[name] = _Input(description, value)
        self._signature = None

    def _output(self, name: str, description: Hashable, value: Any) -> None:
        self._seen_outputs[name] = _Output(description, value)
        self._signature = None


def _describe(value: Any) -> Hashable:
    if not value.is_tensor():
        return ("not a tensor", id(value))
    return (value.data_type(), tuple(value.shape()), value.device_name())


def _is_cpu_tensor(value: Any) -> bool:
    return bool(value.is_tensor() and value.device_name().lower() == "cpu")


def _address(value: Any) -> int:
    if isinstance(value, onnxruntime.OrtValue):
        return int(value.data_ptr())
    return int(value.__array_interface__["data"][0])


def _copy(value: Any) -> np.ndarray[Any, np.dtype[Any]]:
    if isinstance(value, onnxruntime.OrtValue):
        return np.array(value.numpy(), copy=True)
    return np.array(value, copy=True, order="C")
