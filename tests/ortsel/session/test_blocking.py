"""One session from the first call to a served plan, with real children."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import ortsel
from ortsel.choice import Choice
from ortsel.progress import Progress, Stage
from ortsel.selectors import forget_all
from tests.ortsel.session.session_models import (
    folding,
    folding_for_one_shape,
    unoptimized,
    wasteful,
    wasteful_feed,
    wasteful_for_any_rows,
)

pytestmark = pytest.mark.slow


def blocking(
    store: Path | None, progress: Callable[[Progress], None] | None = None
) -> ortsel.SelectionConfig:
    return ortsel.SelectionConfig("blocking", store, 60.0, candidates=folding, progress=progress)


@pytest.fixture(autouse=True)
def _new_process() -> None:
    """Each test starts as a process that has decided nothing yet."""
    forget_all()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return wasteful(tmp_path / "wasteful.onnx")


@pytest.fixture
def tuned(model: Path, tmp_path: Path) -> ortsel.InferenceSession:
    session = ortsel.InferenceSession(
        model, unoptimized(), selection=blocking(tmp_path / "store.sqlite")
    )
    session.run(None, wasteful_feed())
    return session


def test_a_plan_that_is_clearly_faster_and_equal_is_promoted_and_served(
    tuned: ortsel.InferenceSession, model: Path
) -> None:
    [row] = tuned.explain().rows()
    assert (row["plan"], row["source"], row["verified"]) == ("folding", "tuned", True)
    assert isinstance(row["ratio"], float)
    assert row["ratio"] < 1 / 1.03
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for seed in range(3):
        feed = wasteful_feed(seed)
        np.testing.assert_allclose(tuned.run(None, feed)[0], plain.run(None, feed)[0], rtol=1e-5)


def test_the_first_call_returns_the_references_own_result(model: Path) -> None:
    session = ortsel.InferenceSession(model, unoptimized(), selection=blocking(None))
    first = session.run(["y"], wasteful_feed())
    plain = onnxruntime.InferenceSession(model, unoptimized()).run(["y"], wasteful_feed())
    np.testing.assert_array_equal(first[0], plain[0])


def test_another_shape_is_another_decision(tuned: ortsel.InferenceSession) -> None:
    assert len(tuned.explain().rows()) == 1
    feed = {"x": wasteful_feed()["x"][:1]}
    tuned.run(None, feed)
    assert len(tuned.explain().rows()) == 2


@pytest.mark.parametrize("most", [8, 1])
def test_a_plan_for_one_shape_is_never_asked_for_another(
    tmp_path: Path, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ortsel.session_tuner.MAX_SHAPE_PLANS", most)
    model = wasteful_for_any_rows(tmp_path / "any.onnx")
    config = ortsel.SelectionConfig("blocking", None, 60.0, candidates=folding_for_one_shape)
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for rows in (3, 5, 3, 5, 3):
        feed = {"x": wasteful_feed(rows)["x"][:rows]}
        for _ in range(3):
            np.testing.assert_allclose(session.run(None, feed)[0], plain.run(None, feed)[0], 1e-5)
    first, second = session.explain().workloads
    assert first.plan == "folding[n=3]"
    # Where there is no room for a session of its own, it is offered what serves any shape.
    assert second.plan == ("folding[n=5]" if most > 1 else "folding")


@pytest.mark.parametrize("level", [None, 3])
def test_a_plan_says_nothing_that_the_plain_session_does_not_say(
    level: int | None, model: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    onnxruntime.set_default_logger_severity(2)  # its own default, whatever ran before
    talked_about = onnx.load(model)
    talked_about.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "unused"))
    onnx.save(talked_about, model)

    def options() -> ortsel.SessionOptions:
        made = unoptimized()
        if level is not None:
            made.log_severity_level = level
        return made

    def said() -> int:
        return capfd.readouterr().err.count("Removing initializer 'unused'")

    onnxruntime.InferenceSession(model, options()).run(None, wasteful_feed())
    plain = said()
    assert plain == (level is None), "pointless unless the level decides whether it is said"
    session = ortsel.InferenceSession(model, options(), selection=blocking(None))
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert session.explain().rows()[0]["plan"] == "folding", "pointless unless a plan was built"
    assert said() == plain


SECOND_PROCESS = """
import json, sys
import numpy as np
import ortsel
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed
model, store, mode = sys.argv[1:]
config = ortsel.SelectionConfig(mode, store, candidates=folding)
session = ortsel.InferenceSession(model, unoptimized(), selection=config)
first, second = session.run(None, wasteful_feed(1))[0], session.run(None, wasteful_feed(1))[0]
statistics = session.statistics()
print(json.dumps({
    "row": session.explain().rows()[0],
    "same": bool(np.allclose(first, second)),
    "explorations": statistics.explorations,
    "stored": statistics.stored_hits,
}))
"""


@pytest.mark.parametrize("mode", ["blocking", "cache-only"])
def test_a_second_process_serves_the_stored_plan_after_one_validation_and_no_measurement(
    tuned: ortsel.InferenceSession, model: Path, tmp_path: Path, mode: str
) -> None:
    assert tuned.explain().rows()[0]["plan"] == "folding", "pointless unless something is stored"
    moved = model.rename(tmp_path / "moved.onnx")
    arguments = [str(moved), str(tmp_path / "store.sqlite"), mode]
    command = [sys.executable, "-c", SECOND_PROCESS, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    told = json.loads(result.stdout)
    assert (told["row"]["plan"], told["row"]["source"]) == ("folding", "stored")
    assert (told["explorations"], told["stored"], told["same"]) == (0, 1, True)


def test_cache_only_without_a_record_keeps_the_reference_and_starts_no_trial(
    model: Path, tmp_path: Path
) -> None:
    config = ortsel.SelectionConfig("cache-only", str(tmp_path / "empty.sqlite"))
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    session.run(None, wasteful_feed())
    [row] = session.explain().rows()
    assert (row["plan"], row["source"]) == ("reference", "cache-miss")
    assert session.statistics().explorations == 0


def test_a_bound_call_is_tuned_and_served_as_bound(model: Path) -> None:
    session = ortsel.InferenceSession(model, unoptimized(), selection=blocking(None))
    feed = wasteful_feed()
    binding = session.io_binding()
    binding.bind_cpu_input("x", feed["x"])
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    first = binding.copy_outputs_to_cpu()[0]
    [row] = session.explain().rows()
    assert row["plan"] == "folding"
    assert "bound-cpu" in str(row["workload"])
    feed["x"][:] = wasteful_feed(5)["x"]
    session.run_with_iobinding(binding)
    second = binding.copy_outputs_to_cpu()[0]
    assert not np.allclose(first, second), "pointless unless the edited input matters"
    plain = onnxruntime.InferenceSession(model, unoptimized()).run(None, wasteful_feed(5))
    np.testing.assert_allclose(second, plain[0], rtol=1e-5)


def test_a_second_session_of_the_process_finds_the_decision_in_memory(model: Path) -> None:
    config = blocking(None)
    ortsel.InferenceSession(model, unoptimized(), selection=config).run(None, wasteful_feed())
    second = ortsel.InferenceSession(model, unoptimized(), selection=config)
    second.run(None, wasteful_feed())
    assert second.explain().rows()[0]["source"] == "memory"
    assert second.statistics().explorations == 1


def test_progress_is_told_in_order(model: Path) -> None:
    seen: list[Progress] = []
    config = blocking(None, progress=seen.append)
    ortsel.InferenceSession(model, unoptimized(), selection=config).run(None, wasteful_feed())
    assert [step.elapsed_ns for step in seen] == sorted(step.elapsed_ns for step in seen)
    assert {step.candidate for step in seen} == {"reference", "folding"}
    assert seen[-1].stage is Stage.CHECKING


class DeviceLost:
    """Stands in for a session whose device is lost while serving, which cannot be provoked here."""

    def run(self, *_: object) -> None:
        raise RuntimeError("device lost")


def test_a_plan_that_fails_while_serving_is_withdrawn_and_the_reference_answers(
    tuned: ortsel.InferenceSession, model: Path
) -> None:
    assert tuned._ortsel_connection is not None
    choices = tuned._ortsel_connection.choices
    [(signature, choice)] = choices.items()
    assert choice.session is not None, "pointless unless a plan serves"
    lost = DeviceLost()
    choices[signature] = Choice(lost, choice.until_ns, lost.run)
    plain = onnxruntime.InferenceSession(model, unoptimized())
    for seed in (8, 9):
        feed = wasteful_feed(seed)
        np.testing.assert_array_equal(tuned.run(None, feed)[0], plain.run(None, feed)[0])
    [row] = tuned.explain().rows()
    assert row["plan"] == "reference"
    assert "device lost" in str(row["reason"])
