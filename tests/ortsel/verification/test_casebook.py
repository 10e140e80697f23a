"""Outputs that look verified and are not, providers that are not what they say, buffers: on real
sessions of ONNX Runtime, each case with one that must pass.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from onnx import TensorProto, helper, numpy_helper

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan, SessionSettings
from ortsel.selectors import forget_all
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.rig import Rig, Verified
from ortsel.verification.metrics import Cosine
from ortsel.verification.tolerance import BY_TYPE, CLOSE, Tolerance
from spec.failure import Failure, FailureKind
from tests.ortsel.session.session_models import WIDTH as WASTEFUL_WIDTH
from tests.ortsel.session.session_models import (
    files,
    folding,
    unoptimized,
    wasteful,
    wasteful_feed,
)
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE, WIDTH, candidate, floats, save

pytestmark = pytest.mark.slow

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
Feed: TypeAlias = dict[str, Array]

UNOPTIMISED = SessionSettings((("graph_optimization_level", 0), ("intra_op_num_threads", 1)))
ALL_LEVELS = SessionSettings((("graph_optimization_level", 99), ("intra_op_num_threads", 1)))


@pytest.fixture(autouse=True)
def _new_process() -> Iterator[None]:
    """Each test starts as a process that has decided nothing yet, and leaves it so."""
    forget_all()
    yield
    forget_all()


def verdict_on(
    model: Path,
    plan: Plan,
    feed: Feed,
    *,
    reference: Plan = REFERENCE,
    outputs: list[str] | None = None,
    variants: dict[str, Path] | None = None,
    tolerance: Tolerance = BY_TYPE,
    calling: Calling = Calling.NUMPY,
) -> object:
    """Return what a trial in child processes says of a plan: verified, or the failure."""
    with Rig(
        model,
        reference,
        [feed],
        outputs,
        variant_models=variants or {},
        tolerance=tolerance,
        calling=calling,
    ) as rig:
        try:
            return rig.validate(plan, time.monotonic_ns() + 30 * SECOND_NS)
        except TrialFailedError as error:
            return error.failure if error.plan == plan.name else error


def rejection(verdict: object, code: str) -> str:
    assert isinstance(verdict, Failure), verdict
    assert (verdict.kind, verdict.code) == (FailureKind.REJECTED, code)
    return verdict.detail


def in_ort_format(model: Path, target: Path) -> Path:
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.save_model_format", "ORT")
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return target


def test_random_runs_that_no_scan_can_find_are_found_and_come_in_plain_order(
    tmp_path: Path,
) -> None:
    """Sessions replay one stream: the first runs of two agree, and the k-th is plain's k-th."""
    hidden = in_ort_format(models.noisy(tmp_path / "noisy.onnx"), tmp_path / "noisy.ort")
    config = ortsel.SelectionConfig("blocking", None, 30.0)
    session = ortsel.InferenceSession(hidden, selection=config)
    plain = onnxruntime.InferenceSession(hidden)
    drawn = []
    for _ in range(4):
        served, expected = session.run(None, FEED)[0], plain.run(None, FEED)[0]
        np.testing.assert_array_equal(served, expected)
        drawn.append(served)
    assert not np.array_equal(drawn[0], drawn[1]), "pointless unless each run draws anew"
    [row] = session.explain().rows()
    assert row["plan"] == "reference"
    assert "reference_nondeterministic" in str(session.explain())
    assert "'y'" in str(session.explain())


def test_a_model_that_draws_nothing_is_verified_in_the_same_format(tmp_path: Path) -> None:
    hidden = in_ort_format(models.linear(tmp_path / "m.onnx"), tmp_path / "m.ort")
    plan = Plan("single", settings=models.SINGLE_THREADED)
    assert verdict_on(hidden, plan, FEED) == Verified(1)


CLASSES, FEATURES = 8, 16


def tied_labels(path: Path) -> Path:
    """Classes in pairs that are the same but for rounding, which fusing the scale changes."""
    generator = np.random.default_rng(0)
    half = generator.standard_normal((CLASSES // 2, FEATURES)).astype(np.float32)
    factors = np.array([3.0, 7.0, 1 / 3, 1 / 7], np.float32)
    constants = {
        "w": np.concatenate([half, half * factors[:, None]])[:, :, None, None],
        "scale": np.concatenate([np.ones(4, np.float32), 1 / factors]),
        "zeros": np.zeros(CLASSES, np.float32),
        "ones": np.ones(CLASSES, np.float32),
    }
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node(
            "BatchNormalization", ["c", "scale", "zeros", "zeros", "ones"], ["logits"], epsilon=0.0
        ),
        helper.make_node("ArgMax", ["logits"], ["labels"], axis=1, keepdims=0),
    ]
    outputs = [
        helper.make_tensor_value_info("labels", TensorProto.INT64, ["n", 1, 1]),
        floats("logits", "n", CLASSES, 1, 1),
    ]
    return save(path, nodes, outputs, constants, [floats("x", "n", FEATURES, 1, 1)])


@pytest.mark.parametrize("users", [UNOPTIMISED, ALL_LEVELS], ids=["unoptimised", "optimised"])
def test_labels_that_flip_between_two_levels_of_onnx_runtime_reject_with_their_number(
    tmp_path: Path, users: SessionSettings
) -> None:
    """The user's own level is the reference, whichever it is; the other is never a repair."""
    model = tied_labels(tmp_path / "labels.onnx")
    generator = np.random.default_rng(1)
    feed = {"x": generator.standard_normal((500, FEATURES, 1, 1)).astype(np.float32)}
    found = []
    for level in (0, 99):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel(level)
        found.append(onnxruntime.InferenceSession(model, options).run(None, feed))
    flipped = int(np.count_nonzero(found[0][0] != found[1][0]))
    apart = float(np.abs(found[0][1] - found[1][1]).max())
    assert flipped > 0, "pointless unless labels flip"
    assert apart < 1e-5, "pointless unless the numbers are equal for all that matters"
    other = Plan("other", settings=ALL_LEVELS if users is UNOPTIMISED else UNOPTIMISED)
    reference = evolve(REFERENCE, settings=users)
    told = rejection(verdict_on(model, other, feed, reference=reference), "wrong-value")
    assert f"{flipped} of 500 elements differ" in told
    logits = verdict_on(model, other, feed, reference=reference, outputs=["logits"])
    assert logits == Verified(1)


def positions(path: Path, limit: float) -> Path:
    """Where x W is above a limit: how many there are depends on values."""
    return models.linear_then(
        path,
        [
            helper.make_node("Greater", ["z", "limit"], ["above"]),
            helper.make_node("NonZero", ["above"], ["y"]),
        ],
        limit=np.asarray(limit, np.float32),
    )


def test_another_number_of_results_is_a_rejection_and_no_exception(tmp_path: Path) -> None:
    model = positions(tmp_path / "reference.onnx", 0.0)
    variants = {
        "fewer": positions(tmp_path / "fewer.onnx", 0.5),
        "same": positions(tmp_path / "same.onnx", 1e-30),
    }
    told = verdict_on(model, candidate("fewer"), FEED, variants=variants)
    assert "reference has (2, " in rejection(told, "wrong-shape")
    assert verdict_on(model, candidate("same"), FEED, variants=variants) == Verified(1)


def test_a_result_that_broadcasting_would_accept_is_a_rejection(tmp_path: Path) -> None:
    row = {"x": FEED["x"][:1]}
    model = models.linear(tmp_path / "m.onnx")
    shape = np.asarray([WIDTH, WIDTH], np.int64)
    square = models.linear_then(
        tmp_path / "square.onnx", [helper.make_node("Expand", ["z", "shape"], ["y"])], shape=shape
    )
    one, other = (onnxruntime.InferenceSession(path).run(None, row)[0] for path in (model, square))
    assert np.all(one == other), "pointless unless a broadcasting comparison would call them equal"
    told = verdict_on(model, candidate("square"), row, variants={"square": square})
    assert f"shape ({WIDTH}, {WIDTH}), reference has (1, {WIDTH})" in rejection(told, "wrong-shape")


def test_a_candidate_full_of_nan_is_rejected_and_a_reference_with_some_is_not(
    tmp_path: Path,
) -> None:
    some, all_ = models.one_nan(tmp_path / "some.onnx"), tmp_path / "all.onnx"
    nan = np.full(WIDTH, np.nan, np.float32)
    models.linear_then(all_, [helper.make_node("Add", ["z", "m"], ["y"])], m=nan)
    told = verdict_on(some, candidate("all"), FEED, variants={"all": all_})
    assert "NaN at other places, first at (0, 0)" in rejection(told, "wrong-nan")
    single = Plan("single", settings=models.SINGLE_THREADED)
    assert verdict_on(some, single, FEED) == Verified(1)


HALF_MOST = 65_504
"""The largest number in half precision."""


def summed(path: Path, *, half: bool) -> Path:
    """The sum over rows of 15000 x; infinite where half precision overflows, or not."""
    most = np.asarray(HALF_MOST if half else np.finfo(np.float32).max, np.float32)
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["scaled"]),
        helper.make_node("ReduceSum", ["scaled", "rows"], ["sum"], keepdims=1),
        helper.make_node("Abs", ["sum"], ["size"]),
        helper.make_node("Greater", ["size", "most"], ["over"]),
        helper.make_node("Where", ["over", "infinity", "sum"], ["y"]),
    ]
    constants: dict[str, Array] = {
        "factor": np.asarray(15_000, np.float32),
        "rows": np.asarray([0], np.int64),
        "most": most,
        "infinity": np.asarray(np.inf, np.float32),
    }
    return save(path, nodes, [floats("y", 1, WIDTH)], constants)


@pytest.mark.parametrize(("tokens", "passes"), [(2, True), (6, False)])
def test_an_overflow_of_half_precision_at_real_sizes_is_found_at_the_real_size(
    tmp_path: Path, tokens: int, passes: bool
) -> None:
    model = summed(tmp_path / "m.onnx", half=False)
    variants = {"half": summed(tmp_path / "half.onnx", half=True)}
    feed: Feed = {"x": np.ones((tokens, WIDTH), np.float32)}
    verdict = verdict_on(model, candidate("half"), feed, variants=variants)
    if passes:
        assert verdict == Verified(1)
    else:
        assert "infinity at other places" in rejection(verdict, "wrong-infinity")


def test_a_plan_that_is_wrong_on_its_first_call_alone_is_rejected(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    good = onnxruntime.InferenceSession(model).run(None, FEED)[0]
    path = tmp_path / "sometimes.onnx"
    for seed in range(400):
        models.sometimes_wrong(path, float(seed * 40_009), limit=0.85)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        right = [np.allclose(session.run(None, FEED)[0], good) for _ in range(12)]
        if right == [False] + 11 * [True]:
            break
    else:
        pytest.fail("no seed gives one wrong answer and then right ones")
    told = verdict_on(model, candidate("sometimes"), FEED, variants={"sometimes": path})
    assert rejection(told, "wrong-value").startswith("first call")


def far_from_zero(path: Path, *, first_answer: bool) -> Path:
    """y = x W + 1000, or the answer to the first feed: all answers point the same way."""
    thousand = np.asarray(1000, np.float32)
    shifted = models.linear_then(
        path, [helper.make_node("Add", ["z", "thousand"], ["y"])], thousand=thousand
    )
    if not first_answer:
        return shifted
    return models.replaying(path, onnxruntime.InferenceSession(shifted).run(None, FEED)[0])


@pytest.mark.parametrize("calling", [Calling.NUMPY, Calling.BOUND_CPU])
def test_a_replayed_answer_is_seen_even_where_a_metric_would_let_it_pass(
    tmp_path: Path, calling: Calling
) -> None:
    model = far_from_zero(tmp_path / "m.onnx", first_answer=False)
    variants = {
        "replaying": far_from_zero(tmp_path / "replaying.onnx", first_answer=True),
        "right": model,
    }
    lossy = Tolerance(Cosine(0.9))
    session = onnxruntime.InferenceSession(model)
    one, other = session.run(None, FEED)[0], session.run(None, {"x": -FEED["x"]})[0]
    cosines = np.sum(one * other, 1) / (np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1))
    assert cosines.min() > 0.9, "pointless unless the metric takes one answer for the other"
    for tolerance, code in ((lossy, "wrong-replay"), (BY_TYPE, "wrong-value")):
        told = verdict_on(
            model,
            candidate("replaying"),
            FEED,
            variants=variants,
            tolerance=tolerance,
            calling=calling,
        )
        rejection(told, code)
    right = verdict_on(
        model, candidate("right"), FEED, variants=variants, tolerance=lossy, calling=calling
    )
    assert right == Verified(1)


def masked(path: Path, *, ignoring: bool) -> Path:
    """x W where a mask of integers says so; or everywhere."""
    mask = "all" if ignoring else "mask"
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["z"]),
        helper.make_node("Mul", ["mask", "nothing"], ["ignored"]),
        helper.make_node("Add", ["ignored", "one"], ["all"]),
        helper.make_node("Cast", [mask], ["factor"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["z", "factor"], ["y"]),
    ]
    constants = {
        "w": models.weights(),
        "nothing": np.asarray(0, np.int64),
        "one": np.asarray(1, np.int64),
    }
    inputs = [
        floats("x", "n", WIDTH),
        helper.make_tensor_value_info("mask", TensorProto.INT64, ["n", 1]),
    ]
    return save(path, nodes, [floats("y", "n", WIDTH)], constants, inputs)


def test_a_feed_without_padding_is_too_kind_and_padding_is_added(tmp_path: Path) -> None:
    model = masked(tmp_path / "m.onnx", ignoring=False)
    variants = {"ignoring": masked(tmp_path / "ignoring.onnx", ignoring=True), "right": model}
    kind: Feed = {"x": FEED["x"], "mask": np.ones((len(FEED["x"]), 1), np.int64)}
    answers = [onnxruntime.InferenceSession(path).run(None, kind)[0] for path in variants.values()]
    assert np.array_equal(*answers), "pointless unless they agree without padding"
    told = verdict_on(model, candidate("ignoring"), kind, variants=variants)
    assert "a feed whose values were changed" in rejection(told, "wrong-value")
    assert verdict_on(model, candidate("right"), kind, variants=variants) == Verified(1)


def folded(path: Path, *, most: float) -> Path:
    """What `wasteful` computes, fast, for numbers up to a limit."""
    power = np.linalg.matrix_power(np.eye(WASTEFUL_WIDTH, dtype=np.float32) * 0.5, 25)
    graph = helper.make_graph(
        [
            helper.make_node("Clip", ["x", "low", "high"], ["clipped"]),
            helper.make_node("Add", ["clipped", "power"], ["y"]),
        ],
        "folded",
        [floats("x", "n", WASTEFUL_WIDTH)],
        [floats("y", "n", WASTEFUL_WIDTH)],
        [
            numpy_helper.from_array(np.asarray(-most, np.float32), "low"),
            numpy_helper.from_array(np.asarray(most, np.float32), "high"),
            numpy_helper.from_array(power.astype(np.float32), "power"),
        ],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)
    return path


@pytest.mark.parametrize(("most", "served"), [(50.0, "reference"), (1e30, "folded")])
def test_what_made_up_feeds_showed_is_shown_again_on_a_real_one_before_it_serves(
    tmp_path: Path, most: float, served: str
) -> None:
    model = wasteful(tmp_path / "m.onnx")
    plans = files({"folded": folded(tmp_path / "folded.onnx", most=most)})

    def session(*, synthetic: bool) -> ortsel.InferenceSession:
        forget_all()
        config = ortsel.SelectionConfig(
            "blocking" if synthetic else "cache-only",
            tmp_path / "store.sqlite",
            30.0,
            candidates=plans,
            synthetic_feeds=synthetic,
        )
        return ortsel.InferenceSession(model, unoptimized(), selection=config)

    made_up = session(synthetic=True)
    made_up.run(None, wasteful_feed())
    assert made_up.explain().rows()[0]["plan"] == "folded", made_up.explain()
    real, feed = session(synthetic=False), {"x": 100 * wasteful_feed()["x"]}
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for _ in range(2):
        np.testing.assert_allclose(real.run(None, feed)[0], plain.run(None, feed)[0], rtol=1e-5)
    [row] = real.explain().rows()
    assert row["plan"] == served, real.explain()


@pytest.mark.deep
def test_a_plan_that_is_slower_on_the_served_call_never_serves(tmp_path: Path) -> None:
    """The reference always races: a device that costs more than it gains is left alone."""
    model = wasteful(tmp_path / "m.onnx")

    def slower(facts: CandidateFacts) -> tuple[Plan, ...]:
        settings = facts.reference.settings.with_attribute("graph_optimization_level", 0)
        return (evolve(facts.reference, name="slower", settings=settings),)

    config = ortsel.SelectionConfig("blocking", None, 30.0, candidates=slower)
    session = ortsel.InferenceSession(model, selection=config)
    session.run(None, wasteful_feed())
    assert session.explain().rows()[0]["plan"] == "reference"
    [row] = [row for row in session.explain().candidate_rows() if row["plan"] == "slower"]
    assert row["blocks"], "pointless unless it was measured"
    assert float(str(row["ratio"])) > 1
    assert row["verified"], "its outputs were not the reason"


def coarse(path: Path, bits: int) -> Path:
    """x W with that many bits of W's mantissa, as reduced precision keeps them."""
    kept = models.weights().view(np.uint32) & np.uint32(0xFFFFFFFF << (23 - bits) & 0xFFFFFFFF)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    return save(path, nodes, [floats("y", "n", WIDTH)], {"w": kept.view(np.float32)})


def test_reduced_precision_is_rejected_unless_the_user_accepts_it(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    variants = {"tf32": coarse(tmp_path / "tf32.onnx", 10), "poor": coarse(tmp_path / "p.onnx", 5)}
    for name, tolerance, passes in (
        ("tf32", BY_TYPE, False),
        ("tf32", CLOSE, True),
        ("poor", CLOSE, False),
    ):
        verdict = verdict_on(model, candidate(name), FEED, variants=variants, tolerance=tolerance)
        if passes:
            assert verdict == Verified(1)
        else:
            assert "elements too far" in rejection(verdict, "wrong-value")


def with_library(name: str, library: Path) -> Callable[[CandidateFacts], list[Plan]]:
    """A plan that loads a library, and one that folds constants."""

    def make(facts: CandidateFacts) -> list[Plan]:
        settings = evolve(facts.reference.settings, custom_op_libraries=(str(library),))
        return [evolve(facts.reference, name=name, settings=settings), *folding(facts)]

    return make


@pytest.mark.parametrize(
    ("last_words", "served"),
    [
        ("CUDA error: an illegal memory access was encountered", "reference"),
        ("cannot go on", "folding"),
    ],
    ids=["device", "ordinary"],
)
def test_a_lost_device_quarantines_and_an_ordinary_crash_costs_one_plan(
    tmp_path: Path, last_words: str, served: str
) -> None:
    model = wasteful(tmp_path / "m.onnx")
    library = models.custom_op_library(tmp_path, f'fprintf(stderr, "{last_words}\\n"); abort();')
    plans = with_library("dying", library)
    config = ortsel.SelectionConfig("blocking", None, 30.0, candidates=plans)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for seed in (0, 1):  # the second session asks in the same process
        session = ortsel.InferenceSession(model, unoptimized(), selection=config)
        feed = {"x": wasteful_feed(seed)["x"][:WASTEFUL_WIDTH]}
        for _ in range(2):
            np.testing.assert_allclose(session.run(None, feed)[0], plain.run(None, feed)[0], 1e-5)
        [row] = session.explain().rows()
        assert row["plan"] == served, session.explain()
        quarantined = "quarantine" in str(row["reason"])
        assert quarantined == (served == "reference" and seed == 1), row["reason"]


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> ortsel.InferenceSession:
    """A session that serves another plan than the reference."""
    forget_all()
    model = wasteful(tmp_path_factory.mktemp("tuned") / "m.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding)
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    session.run(None, wasteful_feed())
    assert session.explain().rows()[0]["plan"] == "folding", session.explain()
    return session


def test_a_result_that_was_handed_out_never_changes(tuned: ortsel.InferenceSession) -> None:
    first = tuned.run(None, wasteful_feed(1))[0]
    kept = first.copy()
    for seed in range(2, 6):
        other = tuned.run(None, wasteful_feed(seed))[0]
        assert not np.array_equal(other, kept), "pointless unless another feed has another answer"
        assert not np.shares_memory(other, first)
    np.testing.assert_array_equal(first, kept)


VIEWS: dict[str, Callable[[Array], Array]] = {
    "transposed": lambda array: array.T,
    "reversed": lambda array: array[::-1, ::-1],
    "strided": lambda array: np.repeat(array, 2, axis=1)[:, ::2],
    "fortran": np.asfortranarray,
    "broadcast": lambda array: np.broadcast_to(array[:1], array.shape),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_served_plan_reads_the_values_of_a_view(
    tuned: ortsel.InferenceSession, name: str
) -> None:
    view = VIEWS[name](wasteful_feed(7)["x"])
    assert view.shape == (WASTEFUL_WIDTH, WASTEFUL_WIDTH)
    assert not view.flags.c_contiguous, "pointless unless a raw pointer would read something else"
    expected = tuned.run(None, {"x": np.ascontiguousarray(view)})[0]
    np.testing.assert_array_equal(tuned.run(None, {"x": view})[0], expected)
