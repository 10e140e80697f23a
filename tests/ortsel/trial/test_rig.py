"""Measuring and verifying with real sessions in real children (E1, E2, E7)."""

import time
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import psutil
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.errors import UsageError
from ortsel.plan import Plan, Provider, SessionSettings
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import ONE_FEED, CannotVerify, Rig, Verified
from ortsel.verification.element_types import Bound
from ortsel.verification.tolerance import Tolerance
from spec.engine.effect import Purpose
from spec.failure import FailureKind
from tests.ortsel.graph_variants.attention_models import (
    Attention,
    feed_for,
    multi_head_attention,
)
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE, candidate, floats, save

pytestmark = pytest.mark.slow

SINGLE = Plan("single", settings=models.SINGLE_THREADED)


def in_seconds(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * SECOND_NS)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.linear(tmp_path / "model.onnx")


@pytest.mark.parametrize("calling", [Calling.NUMPY, Calling.BOUND_CPU])
def test_a_search_by_hand_measures_verifies_and_describes(model: Path, calling: Calling) -> None:
    with Rig(model, REFERENCE, [FEED], None, calling=calling) as rig:
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)
        rig.measure(REFERENCE, Purpose.BASELINE, in_seconds(30))
        rig.measure(SINGLE, Purpose.WARMUP, in_seconds(30))
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)
        calls = rig.calls_per_measurement
        for plan in (REFERENCE, SINGLE, SINGLE, REFERENCE):
            assert rig.measure(plan, Purpose.PAIRED, in_seconds(30)) > 0
        paired = rig.timings[-4:]
        assert [timing.plan for timing in paired] == ["reference", "single", "single", "reference"]
        assert {timing.timed.calls for timing in paired} == {calls}
        assert all(timing.timed.total_ns >= timing.timed.calls for timing in paired)
        for plan in (REFERENCE, SINGLE):
            description = rig.description(plan)
            assert description.providers == ("CPUExecutionProvider",)
            assert description.creation_ns > 0
            assert description.first_call_ns > 0
            assert description.peak_resident_bytes > 10 << 20


def test_validating_first_needs_no_measurement(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)
        assert not rig.timings


def spins_on(rig: Rig, plan: Plan) -> bool:
    """Say whether a side still takes a processor's time after a measurement."""
    rig.measure(plan, Purpose.PAIRED, in_seconds(60))
    side = psutil.Process(rig.process_ids()[plan.name])
    before = side.cpu_times()
    time.sleep(0.03)
    return bool(side.cpu_times().user > before.user)


def test_the_side_that_waits_is_parked(tmp_path: Path) -> None:
    model = models.busy(tmp_path / "busy.onnx")
    feed = {"x": np.ones((64, 384), np.float32)}
    two = Plan("two", settings=SessionSettings((("intra_op_num_threads", 2),)))
    reference = Plan("reference", settings=two.settings)
    with Rig(model, reference, [feed], None) as rig:
        rig.measure(two, Purpose.WARMUP, in_seconds(60))
        rig.measure(reference, Purpose.BASELINE, in_seconds(60))
        ids = rig.process_ids()
        for running, waiting in ((reference, two), (two, reference), (reference, two)):
            rig.measure(running, Purpose.PAIRED, in_seconds(60))  # brings the other to rest
            idle = psutil.Process(ids[waiting.name])
            before = idle.cpu_times()
            for _ in range(5):
                rig.measure(running, Purpose.PAIRED, in_seconds(60))
            after = idle.cpu_times()
            used = after.user + after.system - before.user - before.system
            assert used <= 0.02, "two ticks of the clock that these times are counted in"
        assert rig.process_ids() == ids
        assert all(timing.alone for timing in rig.timings)
        waits = [timing.waited_ns for timing in rig.timings]
        assert sorted(waits)[len(waits) // 2] < 1_000_000, "nobody waits for a side that is parked"
        assert any(spins_on(rig, reference) for _ in range(20)), "pointless unless a side spins on"


def test_feeds_are_a_snapshot(model: Path) -> None:
    mine = FEED["x"].copy()
    with Rig(model, REFERENCE, [{"x": mine}], None) as rig:
        mine[:] = np.nan
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)


def test_strided_feeds_mean_their_values(model: Path, tmp_path: Path) -> None:
    strided = np.asfortranarray(np.repeat(FEED["x"], 2, axis=0))[::-2]
    assert not strided.flags.c_contiguous, "pointless for a contiguous feed"
    with Rig(
        model,
        REFERENCE,
        [{"x": strided}],
        None,
        calling=Calling.BOUND_CPU,
        variant_models={"same": models.linear(tmp_path / "same.onnx")},
    ) as rig:
        assert rig.validate(candidate("same"), in_seconds(30)) == Verified(1)


def test_several_feeds_are_all_compared_and_counted(model: Path, tmp_path: Path) -> None:
    feeds = [{"x": FEED["x"] * np.float32(factor)} for factor in (1, 2, 3)]
    nodes = [
        helper.make_node("Clip", ["x", "low", "high"], ["c"]),
        helper.make_node("MatMul", ["c", "w"], ["y"]),
    ]
    limit = np.abs(feeds[1]["x"]).max()
    assert np.abs(feeds[2]["x"]).max() > limit, "pointless unless the third feed is cut"
    constants = {"w": models.weights(), "low": -limit, "high": limit}
    clipping = save(tmp_path / "clip.onnx", nodes, [floats("y", "n", models.WIDTH)], constants)
    with Rig(model, REFERENCE, feeds, None, variant_models={"clipping": clipping}) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(3)
        with pytest.raises(TrialFailedError, match="on feed 2"):
            rig.validate(candidate("clipping"), in_seconds(30))


def test_equal_feeds_count_once(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED, {"x": FEED["x"].copy()}], None) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)


def test_what_nobody_sent_is_verified_provisionally(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None, synthetic_feeds=True) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1, provisional=True)


def constant_plan(path: Path, model: Path, feed: dict[str, np.ndarray]) -> Path:
    """Ignores what it is given and answers what the model answers to that feed."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    (answer,) = session.run(None, feed)
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape
        )
        for name, value in feed.items()
    ]
    nodes = [helper.make_node("Identity", ["answer"], ["y"])]
    outputs = [onnx.ValueInfoProto(name="y")]
    return save(path, nodes, outputs, {"answer": np.asarray(answer)}, inputs)


def shifted(path: Path) -> Path:
    """y = x W + 1."""
    one = np.ones((), np.float32)
    return models.linear_then(path, [helper.make_node("Add", ["z", "one"], ["y"])], one=one)


def embedding(path: Path) -> Path:
    nodes = [helper.make_node("Gather", ["table", "i"], ["y"])]
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])]
    return save(path, nodes, [onnx.ValueInfoProto(name="y")], {"table": models.weights()}, inputs)


def scaled(path: Path) -> Path:
    """One row of a table times a number."""
    nodes = [
        helper.make_node("Gather", ["table", "i"], ["g"]),
        helper.make_node("Mul", ["g", "x"], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, []), floats("x")]
    return save(path, nodes, [onnx.ValueInfoProto(name="y")], {"table": models.weights()}, inputs)


def summed(path: Path) -> Path:
    """Where elements stand makes no difference."""
    nodes = [helper.make_node("ReduceSum", ["i"], ["y"], keepdims=0)]
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, ["n"])]
    return save(path, nodes, [onnx.ValueInfoProto(name="y")], {}, inputs)


@pytest.mark.parametrize(
    ("build", "feed"),
    [
        (shifted, {"x": np.zeros((8, models.WIDTH), np.float32)}),
        (models.linear, {"x": np.ones((8, models.WIDTH), np.float32)}),
        (embedding, {"i": np.zeros(8, np.int64)}),
        (embedding, {"i": np.full(8, 5)}),
        (embedding, {"i": np.array([3])}),
        (scaled, {"i": np.array(3), "x": np.asarray(2.0, np.float32)}),
        (summed, {"i": np.arange(8)}),
    ],
)
def test_a_plan_that_ignores_its_input_is_found_out_on_a_call_for_warming_up(
    tmp_path: Path, build: Callable[[Path], Path], feed: dict[str, np.ndarray]
) -> None:
    model = build(tmp_path / "model.onnx")
    bad = constant_plan(tmp_path / "constant.onnx", model, feed)
    with Rig(model, REFERENCE, [feed], None, variant_models={"constant": bad}) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)
        with pytest.raises(TrialFailedError, match="a feed whose values were changed"):
            rig.validate(candidate("constant"), in_seconds(30))


def test_one_feed_proves_nothing_where_no_other_has_another_answer(tmp_path: Path) -> None:
    nodes = [helper.make_node("Shape", ["x"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.INT64, [2])]
    model = save(tmp_path / "shape.onnx", nodes, outputs)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == CannotVerify(ONE_FEED)
        assert rig.validate(SINGLE, in_seconds(30)) == CannotVerify(ONE_FEED)
    two = [FEED, {"x": -FEED["x"]}]
    with Rig(model, REFERENCE, two, None) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(2), "what was sent counts"


def test_one_feed_proves_nothing_where_the_reference_refuses_every_other(tmp_path: Path) -> None:
    nodes = [helper.make_node("Reshape", ["twelve", "i"], ["y"])]
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, [1])]
    constants = {"twelve": np.arange(12, dtype=np.float32)}
    model = save(tmp_path / "m.onnx", nodes, [onnx.ValueInfoProto(name="y")], constants, inputs)
    with Rig(model, REFERENCE, [{"i": np.array([12])}], None) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == CannotVerify(ONE_FEED)


def test_a_model_without_inputs_needs_no_other_feed(tmp_path: Path) -> None:
    nodes = [helper.make_node("Neg", ["one"], ["y"])]
    constants = {"one": np.ones(3, np.float32)}
    graph = helper.make_graph(
        nodes,
        "graph",
        [],
        [floats("y", 3)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    path = tmp_path / "none.onnx"
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    with Rig(path, REFERENCE, [{}], None) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)


def test_a_changed_feed_that_the_reference_refuses_gives_way_to_another(tmp_path: Path) -> None:
    """Indices into a row each: moved, they are out of range for the reference itself."""
    nodes = [
        helper.make_node("Split", ["i"], ["a", "b"], axis=0),
        helper.make_node("Gather", ["small", "a"], ["p"]),
        helper.make_node("Gather", ["large", "b"], ["q"]),
        helper.make_node("Add", ["p", "q"], ["y"]),
    ]
    constants = {"small": np.arange(2, dtype=np.float32), "large": np.arange(9, dtype=np.float32)}
    inputs = [helper.make_tensor_value_info("i", TensorProto.INT64, [2])]
    model = save(tmp_path / "gather.onnx", nodes, [floats("y", 1)], constants, inputs)
    feed = {"i": np.array([1, 8])}
    bad = constant_plan(tmp_path / "constant.onnx", model, feed)
    with Rig(model, REFERENCE, [feed], None, variant_models={"constant": bad}) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)
        with pytest.raises(TrialFailedError, match="a feed whose values were changed"):
            rig.validate(candidate("constant"), in_seconds(30))


ABSENT = [
    name
    for name in ("CUDAExecutionProvider", "AzureExecutionProvider")
    if name not in onnxruntime.get_available_providers() or name.startswith("Azure")
]


@pytest.mark.filterwarnings("error")
def test_the_reference_is_what_onnx_runtime_makes_of_providers_that_are_missing_or_idle(
    model: Path,
) -> None:
    assert ABSENT, "pointless unless a provider is missing or takes no node"
    providers = tuple(Provider(name) for name in (*ABSENT, "CPUExecutionProvider"))
    reference = Plan("reference", providers)
    with Rig(model, reference, [FEED], None) as rig:
        assert rig.measure(reference, Purpose.WARMUP, in_seconds(30)) > 0
        assert isinstance(rig.validate(reference, in_seconds(30)), Verified)
        assert isinstance(rig.validate(SINGLE, in_seconds(30)), Verified)
        assert "CPUExecutionProvider" in rig.description(reference).providers
        with pytest.raises(TrialFailedError, match="provider-unavailable"):
            rig.validate(Plan("the same", providers), in_seconds(30))


def test_a_reference_that_raises_on_the_callers_feed_is_unsupported(model: Path) -> None:
    with (
        Rig(model, REFERENCE, [{"x": np.ones((2, 3), np.float32)}], None) as rig,
        pytest.raises(TrialFailedError) as caught,
    ):
        rig.validate(REFERENCE, in_seconds(30))
    assert (caught.value.failure.kind, caught.value.failure.code) == (
        FailureKind.UNSUPPORTED,
        "run-failed",
    )


def test_a_mostly_infinite_reference_verifies_nothing(tmp_path: Path) -> None:
    nodes = [helper.make_node("Div", ["x", "zero"], ["y"])]
    constants = {"zero": np.zeros((), np.float32)}
    model = save(tmp_path / "m.onnx", nodes, [floats("y", "n", models.WIDTH)], constants)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        verdict = rig.validate(SINGLE, in_seconds(30))
    assert isinstance(verdict, CannotVerify)
    assert "not finite" in verdict.reason


def test_the_outputs_asked_for_are_the_outputs_compared(model: Path, tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
    ]
    outputs = [floats("y", "n", models.WIDTH), floats("noise", "n", models.WIDTH)]
    model = save(tmp_path / "two.onnx", nodes, outputs, {"w": models.weights()})
    with Rig(model, REFERENCE, [FEED], ["y"]) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)
    with (
        Rig(model, REFERENCE, [FEED], None) as rig,
        pytest.raises(TrialFailedError, match=r"reference_nondeterministic.*'noise'"),
    ):
        rig.validate(REFERENCE, in_seconds(30))


def test_a_tolerance_of_the_users_decides(model: Path, tmp_path: Path) -> None:
    variants = {"off": models.linear(tmp_path / "off.onnx", factor=1.001)}
    loose = Tolerance(overrides=(("y", Bound(relative=0.01, scale=0.01)),))
    for tolerance, passes in ((loose, True), (Tolerance(), False)):
        with Rig(
            model, REFERENCE, [FEED], None, tolerance=tolerance, variant_models=variants
        ) as rig:
            if passes:
                assert rig.validate(candidate("off"), in_seconds(30)) == Verified(1)
            else:
                with pytest.raises(TrialFailedError, match="wrong-value"):
                    rig.validate(candidate("off"), in_seconds(30))


def other_kinds(path: Path) -> Path:
    """Strings, a sequence, maps and an optional value beside a tensor."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, [None, None])
    nodes = [
        helper.make_node("Identity", ["s"], ["strings"]),
        helper.make_node("SequenceConstruct", ["x", "x"], ["sequence"]),
        helper.make_node("Optional", [], ["optional"], type=tensor),
        helper.make_node(
            "ZipMap", ["x"], ["maps"], domain="ai.onnx.ml", classlabels_strings=["a", "b"]
        ),
    ]
    scores = helper.make_map_type_proto(
        TensorProto.STRING, helper.make_tensor_type_proto(TensorProto.FLOAT, [])
    )
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            helper.make_tensor_value_info("s", TensorProto.STRING, [2]),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 2]),
        ],
        [
            helper.make_tensor_value_info("strings", TensorProto.STRING, [2]),
            helper.make_tensor_sequence_value_info("sequence", TensorProto.FLOAT, None),
            helper.make_value_info("optional", helper.make_optional_type_proto(tensor)),
            helper.make_value_info("maps", helper.make_sequence_type_proto(scores)),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    path.write_bytes(
        helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    )
    return path


def test_outputs_that_are_no_tensors_are_carried_and_compared(tmp_path: Path) -> None:
    model = other_kinds(tmp_path / "kinds.onnx")
    feed = {"s": np.array(["one", "zwei"]), "x": np.ones((3, 2), np.float32)}
    with Rig(model, REFERENCE, [feed], None) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)
    with Rig(model, REFERENCE, [feed], None, calling=Calling.BOUND_CPU) as rig:
        with pytest.raises(TrialFailedError) as caught:
            rig.validate(REFERENCE, in_seconds(30))
        assert caught.value.failure.kind is FailureKind.UNSUPPORTED
        assert "cannot be bound" in caught.value.failure.detail


@pytest.mark.parametrize(
    ("number", "dtype", "calling"),
    [
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16, Calling.BOUND_CPU),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, Calling.BOUND_CPU),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn, Calling.NUMPY),
        (TensorProto.FLOAT16, np.float16, Calling.NUMPY),
    ],
)
def test_element_types_that_numpy_lacks_are_carried_and_compared(
    tmp_path: Path, number: int, dtype: type[np.generic], calling: Calling
) -> None:
    def through(path: Path, node: str) -> Path:
        graph = helper.make_graph(
            [helper.make_node(node, ["x"], ["y"])],
            "graph",
            [helper.make_tensor_value_info("x", number, [4])],
            [helper.make_tensor_value_info("y", number, [4])],
        )
        opsets = [helper.make_opsetid("", 21)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        path.write_bytes(model.SerializeToString())
        return path

    feed = {"x": np.array([0.5, 1.0, -2.0, 4.0]).astype(dtype)}
    with Rig(
        through(tmp_path / "identity.onnx", "Identity"), REFERENCE, [feed], None, calling=calling
    ) as rig:
        assert rig.validate(SINGLE, in_seconds(30)) == Verified(1)


def test_a_variant_is_built_once_in_a_child_and_can_be_served_from_its_file(
    tmp_path: Path,
) -> None:
    problem = Attention()
    graph = multi_head_attention(problem)
    model = tmp_path / "attention.onnx"
    model.write_bytes(graph.SerializeToString())
    variant = "prescaled-query"
    first, second = (
        Plan(name, settings=models.SINGLE_THREADED, variant=variant) for name in ("one", "two")
    )
    with Rig(model, REFERENCE, [feed_for(graph, problem)], None) as rig:
        assert rig.variant_path(first) is None
        assert rig.validate(first, in_seconds(60)) == Verified(1)
        assert rig.description(first).variant_ns > 0
        path = rig.variant_path(first)
        assert path is not None
        assert path.read_bytes() != model.read_bytes()
        built = path.stat()
        assert rig.validate(second, in_seconds(60)) == Verified(1)
        assert rig.variant_path(second) == path
        assert path.stat().st_mtime_ns == built.st_mtime_ns
        assert rig.variant_path(REFERENCE) is None
    assert not path.exists()


def test_a_variant_that_does_not_apply_is_refused(model: Path) -> None:
    plan = Plan("prescaled", variant="prescaled-query")
    with (
        Rig(model, REFERENCE, [FEED], None) as rig,
        pytest.raises(TrialFailedError, match=r"unsupported \(variant-refused\)"),
    ):
        rig.measure(plan, Purpose.WARMUP, in_seconds(60))


def test_the_memory_of_a_child_is_its_own_and_not_its_parents(model: Path) -> None:
    mine = np.ones(400 << 20, np.uint8)
    assert psutil.Process().memory_info().rss > mine.size, "pointless for a small parent"
    with Rig(model, REFERENCE, [FEED], None) as rig:
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        assert 10 << 20 < rig.description(REFERENCE).peak_resident_bytes < mine.size


def test_no_feed_and_an_ambiguous_name_are_the_callers_mistakes(model: Path) -> None:
    with pytest.raises(UsageError, match="feeds: got none"):
        Rig(model, REFERENCE, [], None)
    imposter = Plan(REFERENCE.name, settings=models.SINGLE_THREADED)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        with pytest.raises(UsageError, match="another plan named"):
            rig.measure(imposter, Purpose.WARMUP, in_seconds(30))
        with pytest.raises(UsageError, match="under trial"):
            rig.description(SINGLE)


def test_an_address_space_limit_holds_for_the_child(model: Path, tmp_path: Path) -> None:
    variants = {"hungry": models.hungry(tmp_path / "hungry.onnx", 6.0)}
    limits = TrialLimits(address_space_bytes=5 << 30)
    with Rig(model, REFERENCE, [FEED], None, limits=limits, variant_models=variants) as rig:
        with pytest.raises(TrialFailedError) as caught:
            rig.measure(candidate("hungry"), Purpose.WARMUP, in_seconds(30))
        assert (caught.value.failure.kind, caught.value.failure.code) == (
            FailureKind.TRANSIENT,
            "out-of-memory",
        )
        assert rig.measure(SINGLE, Purpose.WARMUP, in_seconds(30)) > 0
