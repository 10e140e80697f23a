"""Candidates that crash, hang, lie or eat the memory, as real models in real children (E8)."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

from ortsel.plan import Plan, Provider, SessionSettings
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import Rig, Verified
from spec.engine.effect import Purpose
from spec.failure import Failure, FailureKind
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE, candidate

pytestmark = pytest.mark.slow

LIMITS = TrialLimits(first_call_ns=3 * SECOND_NS, call_ns=3 * SECOND_NS, memory_bytes=300 << 20)


def in_seconds(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * SECOND_NS)


def reference_answer(model: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    answer: np.ndarray = session.run(None, FEED)[0]
    return answer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def variants(folder: Path) -> dict[str, Path]:
    answer = reference_answer(models.linear(folder / "reference.onnx"))
    return {
        "right": models.linear(folder / "right.onnx"),
        "off": models.linear(folder / "off.onnx", factor=1.001),
        "transposed": models.transposed(folder / "transposed.onnx"),
        "flattened": models.flattened(folder / "flattened.onnx"),
        "doubles": models.doubles(folder / "doubles.onnx"),
        "one-nan": models.one_nan(folder / "nan.onnx"),
        "replaying": models.replaying(folder / "replaying.onnx", answer),
        "endless": models.endless(folder / "endless.onnx"),
        "impossible": models.hungry(folder / "impossible.onnx", 100_000.0),
        "hungry": models.hungry(folder / "hungry.onnx", 3.0),
        "no-model": folder / "is-not-there.onnx",
    }


@pytest.fixture(scope="module")
def rig(folder: Path, variants: dict[str, Path]) -> Iterator[Rig]:
    """One rig for all: what a candidate does must not show in the next test."""
    model = models.linear(folder / "reference.onnx")
    with Rig(
        model, REFERENCE, [FEED], None, limits=LIMITS, scratch=folder, variant_models=variants
    ) as rig:
        rig.validate(REFERENCE, in_seconds(30))
        yield rig


@pytest.fixture(autouse=True)
def _rig_survives(rig: Rig) -> Iterator[None]:
    reference = rig.process_ids()[REFERENCE.name]
    yield
    assert rig.process_ids()[REFERENCE.name] == reference, "the reference's child was restarted"
    assert rig.measure(REFERENCE, Purpose.PAIRED, in_seconds(30)) > 0


def failure_of(rig: Rig, plan: Plan, seconds: float = 30.0) -> Failure:
    def tried() -> None:
        rig.measure(plan, Purpose.WARMUP, in_seconds(seconds))
        rig.validate(plan, in_seconds(seconds))

    with pytest.raises(TrialFailedError) as caught:
        tried()
    assert caught.value.plan == plan.name
    return caught.value.failure


def works(rig: Rig, plan: Plan) -> bool:
    verdict = rig.validate(plan, in_seconds(30))
    return verdict == Verified(1) and rig.measure(plan, Purpose.PAIRED, in_seconds(30)) > 0


def with_library(folder: Path, name: str, body: str) -> Plan:
    (folder / name).mkdir()
    library = models.custom_op_library(folder / name, body)
    return Plan(name, settings=SessionSettings(custom_op_libraries=(str(library),)))


@pytest.mark.parametrize(
    ("variant", "code", "words"),
    [
        ("off", "wrong-value", "elements too far; worst at"),
        ("transposed", "wrong-shape", "shape (16, 8), reference has (8, 16)"),
        ("flattened", "wrong-shape", "shape (1, 128), reference has (8, 16)"),
        ("doubles", "wrong-dtype", "element type float64, reference has float32"),
        ("one-nan", "wrong-nan", "NaN at other places, first at (0, 15)"),
    ],
)
def test_a_wrong_output_is_rejected_with_what_differs(
    rig: Rig, variant: str, code: str, words: str
) -> None:
    failure = failure_of(rig, candidate(variant))
    assert (failure.kind, failure.code) == (FailureKind.REJECTED, code)
    assert words in failure.detail
    assert "first call" in failure.detail


def test_a_plan_that_replays_its_first_answer_is_rejected_on_another_feed(rig: Rig) -> None:
    failure = failure_of(rig, candidate("replaying"))
    assert (failure.kind, failure.code) == (FailureKind.REJECTED, "wrong-value")
    assert "later call 2, on a feed whose values were changed" in failure.detail


def test_a_plan_that_is_right_at_first_and_wrong_later_is_rejected(
    folder: Path, tmp_path: Path
) -> None:
    model = models.linear(tmp_path / "reference.onnx")
    good = reference_answer(model)
    for seed in range(200):
        path = models.sometimes_wrong(tmp_path / "sometimes.onnx", float(seed))
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        right = [np.allclose(session.run(None, FEED)[0], good) for _ in range(3)]
        if right == [True, True, False]:
            break
    else:
        pytest.fail("no seed gives two right answers and then a wrong one")
    with (
        Rig(model, REFERENCE, [FEED], None, variant_models={"sometimes": path}) as rig,
        pytest.raises(TrialFailedError) as caught,
    ):
        rig.validate(candidate("sometimes"), in_seconds(30))
    assert caught.value.failure.code == "wrong-value"
    assert "later call 2" in caught.value.failure.detail


def test_an_abort_is_a_crashed_candidate_with_its_last_words(rig: Rig, folder: Path) -> None:
    body = 'fprintf(stderr, "cannot go on\\n"); abort();'
    failure = failure_of(rig, with_library(folder, "aborting", body))
    assert (failure.kind, failure.code) == (FailureKind.CRASHED, "abort")
    assert "cannot go on" in failure.detail
    assert not list(Path.cwd().glob("core*")), "a crash that is expected leaves no dump"
    assert works(rig, candidate("right"))


def test_a_segmentation_fault_is_a_crashed_candidate_with_its_signal(
    rig: Rig, folder: Path
) -> None:
    failure = failure_of(rig, with_library(folder, "faulting", "raise(SIGSEGV);"))
    assert (failure.kind, failure.code) == (FailureKind.CRASHED, "signal-11")


def test_an_exit_is_a_crashed_candidate_with_its_code(rig: Rig, folder: Path) -> None:
    failure = failure_of(rig, with_library(folder, "exiting", "_exit(3);"))
    assert (failure.kind, failure.code) == (FailureKind.CRASHED, "exit-3")


def test_a_candidate_killed_from_outside_counts_as_out_of_memory(rig: Rig, folder: Path) -> None:
    failure = failure_of(rig, with_library(folder, "killed", "raise(SIGKILL);"))
    assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "out-of-memory")


def test_a_call_without_end_is_a_hang(rig: Rig) -> None:
    failure = failure_of(rig, candidate("endless"))
    assert (failure.kind, failure.code) == (FailureKind.CRASHED, "hang")
    assert "no answer within 3.000 s" in failure.detail
    assert works(rig, candidate("right"))


def test_a_call_that_the_deadline_cuts_is_a_timeout_and_no_hang(rig: Rig) -> None:
    failure = failure_of(rig, candidate("endless"), seconds=1.5)
    assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "timeout")


def test_a_creation_that_the_deadline_cuts_is_a_timeout(rig: Rig, folder: Path) -> None:
    failure = failure_of(rig, with_library(folder, "sleeping", "sleep(600);"), seconds=2.0)
    assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "timeout")


def test_a_creation_over_its_own_limit_is_a_hang_whatever_time_is_left(
    folder: Path, tmp_path: Path
) -> None:
    plan = with_library(tmp_path, "never-built", "sleep(600);")
    limits = evolve(LIMITS, creation_ns=3 * SECOND_NS)
    with Rig(folder / "reference.onnx", REFERENCE, [FEED], None, limits=limits) as rig:
        failure = failure_of(rig, plan, seconds=60.0)
        assert (failure.kind, failure.code) == (FailureKind.CRASHED, "hang")
        assert "no answer within 3.000 s" in failure.detail
        assert rig.measure(REFERENCE, Purpose.PAIRED, in_seconds(30)) > 0


def test_an_allocation_that_is_refused_is_out_of_memory(rig: Rig) -> None:
    failure = failure_of(rig, candidate("impossible"))
    assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "out-of-memory")


def test_a_candidate_that_grows_over_its_limit_is_stopped(rig: Rig) -> None:
    failure = failure_of(rig, candidate("hungry"))
    assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "out-of-memory")
    assert f"at most {300 << 20} allowed" in failure.detail
    assert works(rig, candidate("right"))


def test_a_model_that_cannot_be_loaded_is_unsupported(rig: Rig) -> None:
    failure = failure_of(rig, candidate("no-model"))
    assert (failure.kind, failure.code) == (FailureKind.UNSUPPORTED, "build-failed")
    assert "is-not-there.onnx" in failure.detail


def test_a_missing_provider_is_unsupported_and_never_timed(rig: Rig) -> None:
    before = len(rig.timings)
    plan = Plan("cuda", (Provider("CUDAExecutionProvider"),))
    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this machine has the provider")
    failure = failure_of(rig, plan)
    assert failure.kind is FailureKind.UNSUPPORTED
    assert len(rig.timings) == before


def test_a_provider_that_takes_no_node_is_unsupported(rig: Rig) -> None:
    if "AzureExecutionProvider" not in onnxruntime.get_available_providers():
        pytest.skip("this wheel has no provider that takes no node")
    plan = Plan("azure", (Provider("AzureExecutionProvider"), Provider("CPUExecutionProvider")))
    failure = failure_of(rig, plan)
    assert (failure.kind, failure.code) == (FailureKind.UNSUPPORTED, "provider-unavailable")
    assert "AzureExecutionProvider" in failure.detail


def test_an_unknown_graph_variant_is_unsupported(rig: Rig) -> None:
    failure = failure_of(rig, candidate("no-such-variant"))
    assert failure.kind is FailureKind.UNSUPPORTED


def test_a_random_reference_verifies_nothing(tmp_path: Path) -> None:
    model = models.noisy(tmp_path / "noisy.onnx")
    plan = Plan("single", settings=models.SINGLE_THREADED)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        for tried in (REFERENCE, plan):
            with pytest.raises(TrialFailedError) as caught:
                rig.validate(tried, in_seconds(30))
            failure = caught.value.failure
            assert (failure.kind, failure.code) == (
                FailureKind.REJECTED,
                "reference_nondeterministic",
            )
            assert "'y'" in failure.detail
