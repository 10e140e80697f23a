"""A session that reads and writes buffers of its own, at addresses that never change.

A captured CUDA graph replays kernels at the addresses that they had when it was captured. Whoever
hands in arrays has other addresses at each call; so each feed is copied into buffers of the
session's, on its device, and results are copied out. One call at a time: they share the buffers.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.plan import Plan, Shapes, sorted_shapes
from ortsel.trial.devices import Device

if TYPE_CHECKING:
    import onnxruntime

    Array = np.ndarray[Any, np.dtype[Any]]

ON_CUDA: Final = frozenset(
    {
        "CUDAExecutionProvider",
        "NvTensorRTRTXExecutionProvider",
        "TensorrtExecutionProvider",
    }
)
"""Providers whose tensors are in the memory of a CUDA device."""
NO_NUMBERS: Final = "OSUV"
"""NumPy's kinds that have no buffer of a fixed size, or no element type of NumPy's own."""


@frozen
class FixedBufferError(OrtselError):
    """A value does not fit the buffer that it would be copied into, or there can be none."""

    name: str
    got: str
    need: str

    def __str__(self) -> str:
        return f"buffer of {self.name}: got {self.got}, need {self.need}"


def device_of(plan: Plan) -> Device:
    """Return the device that the first provider of a plan computes on."""
    first = next(iter(plan.providers or ()), None)
    if first is None or first.name not in ON_CUDA:
        return Device()
    return Device("cuda", int(dict(first.options).get("device_id", "0")))


class FixedAddressSession:
    """Stands where ONNX Runtime's session stands, for calls with arrays of one shape.

    Every attribute but `run` is the session's. The buffers of the inputs are made at the first call
    for the shapes of the plan, those of the outputs by ONNX Runtime in that call; all outputs are
    computed at each call, whichever are asked for, since what is bound must not change.
    """

    def __init__(
        self, session: "onnxruntime.InferenceSession", device: Device, shapes: Shapes
    ) -> None:
        self._session = session
        self._device = device
        self._shapes = sorted_shapes(shapes)
        self._output_names = [output.name for output in session.get_outputs()]
        self._lock = threading.Lock()
        self._binding: onnxruntime.IOBinding | None = None
        self._inputs: dict[str, onnxruntime.OrtValue] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        self._outputs: dict[str, onnxruntime.OrtValue] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    @property
    def _sess(self) -> "FixedAddressSession":
        """What serving calls behind ONNX Runtime's wrapper: no way may lead past the buffers."""
        return self

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: "Mapping[str, Array]",
        run_options: Any = None,
    ) -> "list[Array]":
        """Return copies of the outputs. Raises `FixedBufferError` for other shapes or types."""
        self._check(input_feed)
        with self._lock:
            if self._binding is None:
                self._first_run(input_feed, run_options)
            else:
                self._copy_in(input_feed)
                self._run(self._binding, run_options)
            return [self._copied(name) for name in output_names or self._output_names]

    def run_with_iobinding(self, iobinding: Any, run_options: Any = None) -> None:
        """Refuse: buffers of the caller's are not at this session's addresses."""
        del iobinding, run_options
        raise FixedBufferError("a binding", "the caller's", "arrays, which are copied")

    def _check(self, feed: "Mapping[str, Array]") -> None:
        shapes = sorted_shapes((name, value.shape) for name, value in feed.items())
        if shapes != self._shapes:
            raise FixedBufferError("the inputs", repr(shapes), repr(self._shapes))
        for name, value in feed.items():
            known = self._types.get(name, value.dtype)
            if value.dtype != known or value.dtype.kind in NO_NUMBERS:
                raise FixedBufferError(name, str(value.dtype), f"numbers of type {known}")

    def _first_run(self, feed: "Mapping[str, Array]", run_options: Any) -> None:
        import onnxruntime

        device = (self._device.kind, self._device.number)
        binding = self._session.io_binding()
        for name, value in feed.items():
            buffer = onnxruntime.OrtValue.ortvalue_from_shape_and_type(
                list(value.shape), value.dtype.type, *device
            )
            self._inputs[name] = buffer
            self._types[name] = value.dtype
            binding.bind_ortvalue_input(name, buffer)
        for name in self._output_names:
            binding.bind_output(name, *device)
        self._copy_in(feed)
        self._run(binding, run_options)
        outputs = binding.get_outputs()
        for name, buffer in zip(self._output_names, outputs, strict=True):
            if not buffer.is_tensor() or "string" in buffer.data_type():
                raise FixedBufferError(name, buffer.data_type(), "a tensor of numbers")
            self._outputs[name] = buffer
            binding.bind_ortvalue_output(name, buffer)
        self._binding = binding

    def _copy_in(self, feed: "Mapping[str, Array]") -> None:
        for name, buffer in self._inputs.items():
            buffer.update_inplace(np.asarray(feed[name], order="C"))

    def _run(self, binding: "onnxruntime.IOBinding", run_options: Any) -> None:
        binding.synchronize_inputs()
        self._session.run_with_iobinding(binding, run_options)
        binding.synchronize_outputs()

    def _copied(self, name: str) -> "Array":
        """Return a copy: on the CPU, ONNX Runtime's own array is the buffer itself."""
        value: Array = np.array(self._outputs[name].numpy())
        return value
