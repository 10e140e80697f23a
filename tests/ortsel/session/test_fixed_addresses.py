"""A session with buffers of its own, at addresses that never change (what a captured graph needs).

Device "cpu" takes the code that a GPU takes: buffers on a device, copies in and out.
"""

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.fixed_addresses import FixedAddressSession, FixedBufferError, device_of
from ortsel.plan import Plan, Provider
from ortsel.plan_session import build_plan_session
from ortsel.trial.devices import Device
from tests.ortsel.session import stale_buffers
from tests.ortsel.session.session_models import (
    folding_for_one_shape,
    unoptimized,
    wasteful_feed,
    wasteful_for_any_rows,
)
from tests.ortsel.trial import models

ROWS = 3
SHAPES = (("x", (ROWS, models.WIDTH)),)


def feed(seed: int, rows: int = ROWS) -> dict[str, np.ndarray]:
    values = np.random.default_rng(seed).standard_normal((rows, models.WIDTH))
    return {"x": values.astype(np.float32)}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> onnxruntime.InferenceSession:
    model = models.linear(tmp_path_factory.mktemp("fixed") / "model.onnx")
    return onnxruntime.InferenceSession(model)


@pytest.fixture
def fixed(plain: onnxruntime.InferenceSession) -> FixedAddressSession:
    return FixedAddressSession(plain, Device(), SHAPES)


def test_each_call_computes_on_what_it_was_given(
    plain: onnxruntime.InferenceSession, fixed: FixedAddressSession
) -> None:
    for seed in (0, 1, 0, 2):
        np.testing.assert_array_equal(
            fixed.run(None, feed(seed))[0], plain.run(None, feed(seed))[0]
        )


def test_a_result_never_changes_once_returned(fixed: FixedAddressSession) -> None:
    [first] = fixed.run(["y"], feed(0))
    kept = first.copy()
    fixed.run(["y"], feed(1))
    np.testing.assert_array_equal(first, kept)


def test_addresses_stay_the_same_from_call_to_call(fixed: FixedAddressSession) -> None:
    def addresses() -> list[int]:
        values = (*fixed._inputs.values(), *fixed._outputs.values())
        return [value.data_ptr() for value in values]

    fixed.run(None, feed(0))
    before = addresses()
    assert len(before) == 2
    strided = {"x": np.asfortranarray(feed(1)["x"])}
    [got] = fixed.run(None, strided)
    assert addresses() == before
    assert got.ctypes.data not in before
    np.testing.assert_array_equal(got, fixed.run(None, feed(1))[0])


def test_other_shapes_and_types_and_bindings_are_refused(fixed: FixedAddressSession) -> None:
    for wrong in (feed(0, rows=ROWS + 1), {}, {"z": feed(0)["x"]}):
        with pytest.raises(FixedBufferError, match=str(ROWS)):
            fixed.run(None, wrong)
    fixed.run(None, feed(0))
    with pytest.raises(FixedBufferError, match="float64"):
        fixed.run(None, {"x": feed(0)["x"].astype(np.float64)})
    with pytest.raises(FixedBufferError, match="binding"):
        fixed._sess.run_with_iobinding(object())


def test_threads_take_turns_at_the_buffers(
    plain: onnxruntime.InferenceSession, fixed: FixedAddressSession
) -> None:
    expected = [plain.run(None, feed(seed))[0] for seed in range(4)]
    wrong: list[int] = []

    def calls(seed: int) -> None:
        for _ in range(50):
            [got] = fixed.run(None, feed(seed))
            if not np.array_equal(got, np.asarray(expected[seed])):
                wrong.append(seed)

    threads = [threading.Thread(target=calls, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_device_is_that_of_the_first_provider() -> None:
    assert device_of(Plan("a")) == Device("cpu", 0)
    assert device_of(Plan("a", (Provider("CPUExecutionProvider"),))) == Device("cpu", 0)
    cuda = Provider("CUDAExecutionProvider", (("device_id", "1"),))
    assert device_of(Plan("a", (cuda, Provider("CPUExecutionProvider")))) == Device("cuda", 1)


def test_a_plan_with_fixed_addresses_is_built_as_such_a_session(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    plan = Plan("fixed", shapes=SHAPES, fixed_addresses=True)
    session = build_plan_session(model, plan, tmp_path)
    assert isinstance(session, FixedAddressSession)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert not isinstance(build_plan_session(model, Plan("plain"), tmp_path), FixedAddressSession)


def through_buffers(facts: CandidateFacts) -> tuple[Plan, ...]:
    assert facts.has_fixed_addresses
    [plan] = folding_for_one_shape(facts)
    return (evolve(plan, fixed_addresses=True),)


def stale(facts: CandidateFacts) -> tuple[Plan, ...]:
    """The same, with a session that copies the first feed alone: a replay of its first answer."""
    [plan] = through_buffers(facts)
    return (evolve(plan, variant=ortsel.rewrite_variant(stale_buffers.install)),)


@pytest.mark.slow
def test_a_plan_through_buffers_is_measured_verified_and_served(tmp_path: Path) -> None:
    model = wasteful_for_any_rows(tmp_path / "any.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=through_buffers)
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    reference = onnxruntime.InferenceSession(model, unoptimized())
    for seed in range(5):
        fed = {"x": wasteful_feed(seed)["x"][:ROWS]}
        [got], [expected] = session.run(None, fed), reference.run(None, fed)
        np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-5)
    [workload] = session.explain().workloads
    assert workload.plan == f"folding[n={ROWS}]"
    assert workload.verified


@pytest.mark.slow
def test_a_plan_that_replays_its_first_answer_is_rejected(tmp_path: Path) -> None:
    model = wasteful_for_any_rows(tmp_path / "any.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=stale)
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    session.run(None, {"x": wasteful_feed()["x"][:ROWS]})
    [workload] = session.explain().workloads
    assert workload.plan == "reference"
    [row] = [one for one in workload.candidates if one.name.startswith("folding")]
    assert "elements too far" in row.reason


@pytest.mark.gpu
def test_a_captured_graph_replays_on_what_it_was_given(tmp_path: Path) -> None:
    if "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no CUDA provider")
    model = models.linear(tmp_path / "model.onnx")
    cuda = Provider("CUDAExecutionProvider", (("enable_cuda_graph", "1"), ("use_tf32", "0")))
    plan = Plan("cuda:graph", (cuda,), shapes=SHAPES, fixed_addresses=True)
    session: Any = build_plan_session(model, plan, tmp_path)
    expected = onnxruntime.InferenceSession(model)
    for seed in (0, 1, 2, 3, 0, 4):  # captured by the third run at the latest
        given: Mapping[str, np.ndarray] = feed(seed)
        np.testing.assert_allclose(
            session.run(None, given)[0], expected.run(None, given)[0], rtol=1e-4, atol=1e-5
        )
