"""Runs whose inputs or outputs are bound to the memory of a device.

Device "cpu" takes the code for devices where no other is: the way of calling says which it is.
"""

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import ortsel
from ortsel.trial.calling import Calling, WayOfCalling
from ortsel.trial.devices import BoundDevices, Device
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.rig import Rig
from spec.engine.effect import Purpose
from spec.failure import FailureKind
from tests.ortsel.session.session_models import (
    folding,
    unoptimized,
    wasteful,
    wasteful_feed,
)
from tests.ortsel.trial import models

ON_CUDA = Device("cuda", 1)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> ortsel.InferenceSession:
    model = models.linear(tmp_path_factory.mktemp("bound") / "model.onnx")
    return ortsel.InferenceSession(model, selection=ortsel.SelectionConfig("cache-only", None))


def test_a_binding_says_on_which_devices_it_is(session: ortsel.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", models.FEED["x"])
    binding.bind_output("y")
    assert binding.calling() is Calling.BOUND_CPU
    before = binding.signature()
    binding._output("y", ("cuda", 1, "None", None), None, ON_CUDA)  # as bind_output tells it
    assert binding.calling() == BoundDevices((), (("y", ON_CUDA),))
    assert binding.signature() != before
    assert binding.obstacle() == ""


@pytest.mark.parametrize(
    ("allocated", "reason"),
    [(Device("npu"), "output y is on npu:0, not in CPU memory"), (None, "bound by address")],
)
def test_what_cannot_be_repeated_elsewhere_is_named(
    session: ortsel.InferenceSession, allocated: Device | None, reason: str
) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", models.FEED["x"])
    binding._output("y", ("npu", 0, "None", None), None, allocated)
    assert reason in binding.obstacle()
    assert binding.snapshot() is None


def test_what_cannot_be_read_leaves_the_reference_and_a_reason(
    session: ortsel.InferenceSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(_: Any) -> None:
        message = "no such copy"
        raise RuntimeError(message)

    binding = session.io_binding()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(models.FEED["x"])
    binding.bind_ortvalue_input("x", value)
    binding.bind_output("y")
    monkeypatch.setattr("ortsel.io_binding.from_ort_value", unreadable)
    assert binding.snapshot() is None
    assert "no such copy" in binding.obstacle()


@pytest.mark.slow
def test_a_device_that_is_not_there_is_unsupported(tmp_path: Path) -> None:
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has memory on a CUDA device")
    model = models.linear(tmp_path / "model.onnx")
    way = BoundDevices((("x", ON_CUDA),), (("y", ON_CUDA),))
    with (
        Rig(model, models.REFERENCE, [models.FEED], ("y",), calling=way) as rig,
        pytest.raises(TrialFailedError) as caught,
    ):
        rig.measure(models.REFERENCE, Purpose.WARMUP, time.monotonic_ns() + 30 * SECOND_NS)
    assert caught.value.failure.kind is FailureKind.UNSUPPORTED


@pytest.mark.slow
def test_a_session_that_binds_devices_is_tuned_and_served_as_it_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def on_device_cpu(_: Any) -> WayOfCalling:
        return BoundDevices()

    monkeypatch.setattr(ortsel.IOBinding, "calling", on_device_cpu)
    model = wasteful(tmp_path / "wasteful.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding)
    tuned = ortsel.InferenceSession(model, unoptimized(), selection=config)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for seed in range(3):
        feed = wasteful_feed(seed)
        binding = tuned.io_binding()
        binding.bind_ortvalue_input("x", onnxruntime.OrtValue.ortvalue_from_numpy(feed["x"]))
        binding.bind_output("y")
        tuned.run_with_iobinding(binding)
        [got], [expected] = binding.copy_outputs_to_cpu(), plain.run(None, feed)
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-5)
    [workload] = tuned.explain().workloads
    assert workload.plan == "folding"
    assert "(bound-device)" in workload.workload


@pytest.mark.gpu
def test_a_session_that_binds_cuda_memory_is_tuned(tmp_path: Path) -> None:
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDA provider")
    model = wasteful(tmp_path / "wasteful.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding)
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"]
    tuned = ortsel.InferenceSession(model, unoptimized(), providers, selection=config)
    plain = onnxruntime.InferenceSession(model, unoptimized(), providers)
    for seed in range(3):
        feed = wasteful_feed(seed)
        binding = tuned.io_binding()
        value = onnxruntime.OrtValue.ortvalue_from_numpy(feed["x"], "cuda", 0)
        binding.bind_ortvalue_input("x", value)
        binding.bind_output("y", "cuda", 0)
        tuned.run_with_iobinding(binding)
        [got], [expected] = binding.copy_outputs_to_cpu(), plain.run(None, feed)
        np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-3, atol=1e-4)
    [workload] = tuned.explain().workloads
    assert workload.source == "tuned"
    assert "(bound-device)" in workload.workload
