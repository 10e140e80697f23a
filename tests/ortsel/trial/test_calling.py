"""Ways to call a session, here in one process (E1)."""

import json
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ortsel.errors import UsageError
from ortsel.trial.calling import (
    Caller,
    Calling,
    WayOfCalling,
    device_of_value,
    from_ort_value,
    make_caller,
    on_device,
    to_ort_value,
)
from ortsel.trial.devices import BoundDevices, Device
from ortsel.trial.messages import Envelope, Load, envelope_from_json, envelope_to_json
from ortsel.workload import workload_part
from spec.canonical_json import canonical
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, save

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

WAYS: list[WayOfCalling] = [Calling.NUMPY, Calling.BOUND_CPU, BoundDevices()]
"""The last is the code for devices, with device "cpu"."""


def session_of(path: Path) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def outputs_of(caller: Caller) -> list[Array]:
    return [np.asarray(output) for output in caller.outputs()]


@pytest.mark.parametrize("calling", WAYS)
def test_results_handed_out_earlier_never_change(tmp_path: Path, calling: WayOfCalling) -> None:
    session = session_of(models.linear(tmp_path / "m.onnx"))
    expected = session.run(None, FEED)[0]
    caller = make_caller(session, FEED, ["y"], calling)
    other = make_caller(session, {"x": -FEED["x"]}, ["y"], calling)
    (first,) = outputs_of(caller)
    for _ in range(3):
        other.call()
        caller.call()
        assert np.array_equal(outputs_of(other)[0], -expected)
    assert np.array_equal(first, expected)


@pytest.mark.parametrize("calling", WAYS)
def test_the_number_of_results_may_depend_on_values(tmp_path: Path, calling: WayOfCalling) -> None:
    nodes = [helper.make_node("NonZero", ["x"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT64, [2, "count"])]
    session = session_of(save(tmp_path / "m.onnx", nodes, outputs))
    callers = []
    for count in (3, 1, 5):
        array = np.zeros((2, models.WIDTH), np.float32)
        array[1, :count] = 1.0
        callers.append(make_caller(session, {"x": array}, ["y"], calling))
    assert [outputs_of(caller)[0].shape for caller in callers] == [(2, 3), (2, 1), (2, 5)]


@pytest.mark.parametrize("calling", WAYS)
def test_outputs_come_in_the_order_asked_for(tmp_path: Path, calling: WayOfCalling) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Abs", ["x"], ["a"])]
    outputs = [models.floats("n", "r", models.WIDTH), models.floats("a", "r", models.WIDTH)]
    session = session_of(save(tmp_path / "m.onnx", nodes, outputs))
    absolute, negative = outputs_of(make_caller(session, FEED, ["a", "n"], calling))
    assert np.array_equal(absolute, np.abs(FEED["x"]))
    assert np.array_equal(negative, -FEED["x"])


@pytest.mark.parametrize(
    "view", [lambda a: a.T, lambda a: a[::-1], lambda a: np.broadcast_to(a[0], a.shape)]
)
def test_a_bound_input_has_the_values_of_its_view(view: Any) -> None:
    array = view(np.arange(12, dtype=np.float32).reshape(3, 4))
    read = from_ort_value(to_ort_value(array))
    assert isinstance(read, np.ndarray)
    assert np.array_equal(read, array)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, ml_dtypes.bfloat16])
def test_a_bound_scalar_stays_a_scalar(dtype: type[np.generic]) -> None:
    array = np.asarray(3).astype(dtype)
    assert array.shape == (), "pointless unless it is a scalar"
    value = to_ort_value(array)
    assert value.shape() == []
    read = from_ort_value(value)
    assert isinstance(read, np.ndarray)
    assert (read.shape, read.dtype, read.tobytes()) == ((), array.dtype, array.tobytes())


@pytest.mark.parametrize(
    "dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, np.float16]
)
def test_element_types_survive_binding(dtype: type[np.generic]) -> None:
    array = np.array([[0.5, 1.0], [-2.0, 4.0]]).astype(dtype)
    read = from_ort_value(to_ort_value(array))
    assert isinstance(read, np.ndarray)
    assert read.dtype == array.dtype
    assert read.tobytes() == array.tobytes()


def test_what_cannot_be_bound_is_named(tmp_path: Path) -> None:
    session = session_of(models.linear(tmp_path / "m.onnx"))
    with pytest.raises(UsageError, match="input x: got a value that cannot be bound"):
        make_caller(session, {"x": [1.0]}, ["y"], Calling.BOUND_CPU)
    with pytest.raises(UsageError, match="input x: got a value that cannot be bound"):
        make_caller(session, {"x": [1.0]}, ["y"], BoundDevices())
    bfloat = {"x": FEED["x"].astype(ml_dtypes.bfloat16)}
    with pytest.raises(UsageError, match="bfloat16 on cuda:0"):
        make_caller(session, bfloat, ["y"], BoundDevices((("x", Device("cuda")),)))


def test_what_is_in_cpu_memory_is_not_named_among_devices() -> None:
    places = (("x", Device("cuda", 1)), ("a", Device()))
    devices = BoundDevices(places, (("y", Device("cuda")),))
    assert devices.inputs == (("x", Device("cuda", 1)),)
    assert devices.input("a") == devices.output("x") == Device()
    assert devices.parts() == {"inputs": {"x": "cuda:1"}, "outputs": {"y": "cuda:0"}}


def test_the_devices_are_part_of_the_key() -> None:
    ways: list[WayOfCalling] = [Calling.BOUND_CPU, BoundDevices()]
    ways += [BoundDevices((("x", Device("cuda", number)),)) for number in (0, 1)]
    keys = {canonical(workload_part(FEED, ["y"], way)) for way in ways}
    assert len(keys) == len(ways)


def test_a_message_carries_every_way_of_calling() -> None:
    on_cuda = BoundDevices((("x", Device("cuda", 1)),), (("y", Device("cuda")),))
    for way in [*WAYS, on_cuda]:
        load = Load(models.REFERENCE, "m", False, "", way, ("y",), ("f",))
        envelope = Envelope(load, 1, 1)
        assert envelope_from_json(json.loads(json.dumps(envelope_to_json(envelope)))) == envelope


def test_a_device_that_is_not_there_is_an_error_of_its_own_call(tmp_path: Path) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has memory on a CUDA device")
    session = session_of(models.linear(tmp_path / "m.onnx"))
    with pytest.raises(RuntimeError, match="allocate memory on the"):
        make_caller(session, FEED, ["y"], BoundDevices((("x", Device("cuda")),)))


@pytest.mark.gpu
def test_bound_device_memory_is_called_where_it_is(tmp_path: Path) -> None:
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDA provider")
    session = onnxruntime.InferenceSession(
        models.linear(tmp_path / "m.onnx"), providers=["CUDAExecutionProvider"]
    )
    on_cuda = BoundDevices((("x", Device("cuda")),), (("y", Device("cuda")),))
    assert device_of_value(on_device(FEED["x"], Device("cuda"))) == Device("cuda")
    caller = make_caller(session, FEED, ["y"], on_cuda)
    caller.call()
    (expected,) = outputs_of(make_caller(session, FEED, ["y"], Calling.NUMPY))
    np.testing.assert_array_equal(outputs_of(caller)[0], expected)
