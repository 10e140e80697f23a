"""OpenVINO plans in an ONNX Runtime that has the provider."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

from ortsel.candidates import REFERENCE, CandidateFacts, generate
from ortsel.candidates.openvino import OPENVINO
from ortsel.plan import Plan, Provider, SessionSettings
from ortsel.session_builder import PlanUnavailableError, build_session, nodes_by_provider


def convolution() -> onnx.ModelProto:
    weights = np.random.default_rng(0).standard_normal((8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 8, 14, 14])],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.slow
def test_every_plan_takes_nodes_and_computes_exactly(tmp_path: Path) -> None:
    if OPENVINO not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no OpenVINO provider")
    model = tmp_path / "model.onnx"
    onnx.save(convolution(), model)
    facts = CandidateFacts.read(model)
    plans = generate(Plan(REFERENCE), facts)
    openvino = [plan for plan in plans if plan.name.startswith("openvino:")]
    assert openvino
    feed = {"x": np.random.default_rng(1).standard_normal((2, 3, 16, 16)).astype(np.float32)}
    expected = build_session(model, plans[0]).run(None, feed)[0]
    assert isinstance(expected, np.ndarray)
    for plan in openvino:
        session = build_session(model, plan)
        counts = nodes_by_provider(session)
        assert counts is not None
        assert counts[OPENVINO] > 0
        got = session.run(None, feed)[0]
        assert isinstance(got, np.ndarray)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {"device_type": "CPU", "precision": "FP16"},
        {"device_type": "CPU", "num_of_threads": "many"},
        {"device_type": "GPU.7"},
        {"device_type": "CPU", "load_config": '{"CPU":{"NO_SUCH_PROPERTY":"1"}}'},
        {"device_type": "CPU", "no_such_option": "1"},
    ],
    ids=["precision", "threads", "device", "property", "option"],
)
def test_a_bad_value_that_ends_on_the_cpu_in_silence_is_no_plan(
    options: dict[str, str], tmp_path: Path
) -> None:
    if OPENVINO not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no OpenVINO provider")
    model = tmp_path / "model.onnx"
    onnx.save(convolution(), model)
    plan = Plan(
        "bad", (Provider(OPENVINO, tuple(options.items())), Provider("CPUExecutionProvider"))
    )
    with pytest.raises((PlanUnavailableError, Fail, RuntimeError, ValueError)):
        build_session(model, plan)


def test_what_the_user_set_to_compile_ahead_and_to_fix_shapes_is_in_every_plan(
    tmp_path: Path,
) -> None:
    if OPENVINO not in onnxruntime.get_available_providers():
        pytest.skip("this ONNX Runtime has no OpenVINO provider")
    model = tmp_path / "model.onnx"
    onnx.save(convolution(), model)
    cache = tmp_path / "compiled"
    reference = Plan(
        REFERENCE,
        (Provider(OPENVINO, (("cache_dir", str(cache)),)), Provider("CPUExecutionProvider")),
        SessionSettings(free_dimensions=(("batch", 2),)),
    )
    plans = [
        one for one in generate(reference, CandidateFacts.read(model)) if "latency" in one.name
    ]
    assert plans
    session = build_session(model, plans[0])
    assert session.get_inputs()[0].shape == [2, 3, 16, 16]
    assert list(cache.iterdir()), "the compiled model is kept"
