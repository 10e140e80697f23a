"""Candidates that misbehave, seen from the session: the reference answers, `explain` says why."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from attrs import evolve

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan
from ortsel.selection_config import Candidates
from tests.ortsel.session.session_models import files
from tests.ortsel.trial import models

pytestmark = pytest.mark.slow


def run_with(model: Path, candidates: Candidates, budget_s: float = 40.0) -> dict[str, str]:
    """Run once, check the answer against plain ONNX Runtime, return each candidate's fate."""
    config = ortsel.SelectionConfig("blocking", None, budget_s, candidates=candidates)
    session = ortsel.InferenceSession(model, selection=config)
    plain = onnxruntime.InferenceSession(model)
    for _ in range(2):
        served, expected = session.run(None, models.FEED), plain.run(None, models.FEED)
        np.testing.assert_array_equal(served[0], expected[0])
    assert [row["plan"] for row in session.explain().rows()] == ["reference"]
    return {
        str(row["plan"]): f"{row['outcome']}: {row['reason']}"
        for row in session.explain().candidate_rows()
    } | {"decision": str(session.explain().rows()[0]["reason"])}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.linear(tmp_path / "model.onnx")


def test_a_candidate_that_aborts_is_reported_as_crashed(model: Path, tmp_path: Path) -> None:
    library = models.custom_op_library(tmp_path, "abort();")

    def aborting(facts: CandidateFacts) -> list[Plan]:
        settings = evolve(facts.reference.settings, custom_op_libraries=(str(library),))
        return [evolve(facts.reference, name="aborts", settings=settings)]

    fates = run_with(model, aborting)
    assert "crashed" in fates.get("aborts", fates["decision"])


def test_a_candidate_that_hangs_is_cut_and_reported(model: Path, tmp_path: Path) -> None:
    endless = files({"hangs": models.endless(tmp_path / "endless.onnx")})
    fates = run_with(model, endless, budget_s=8.0)
    told = fates.get("hangs", fates["decision"])
    assert "crashed: hang" in told


@pytest.mark.parametrize(
    ("name", "build", "words"),
    [
        ("wrong", lambda path: models.linear(path, factor=1.01), "rejected"),
        ("shape", models.transposed, "shape"),
        ("nan", models.one_nan, "NaN"),
        ("type", models.doubles, "float64"),
    ],
)
def test_a_candidate_with_other_outputs_is_rejected_with_what_differs(
    model: Path, tmp_path: Path, name: str, build: Callable[[Path], Path], words: str
) -> None:
    path = build(tmp_path / f"{name}.onnx")
    fates = run_with(model, files({name: path}))
    assert words in fates.get(name, fates["decision"])


def test_a_candidate_that_runs_out_of_memory_is_reported_as_such(
    model: Path, tmp_path: Path
) -> None:
    hungry = files({"hungry": models.hungry(tmp_path / "hungry.onnx", 100_000.0)})
    fates = run_with(model, hungry)
    assert "out-of-memory" in fates.get("hungry", fates["decision"])


def test_a_reference_that_disagrees_with_itself_promotes_nothing(tmp_path: Path) -> None:
    model = models.noisy(tmp_path / "noisy.onnx")
    config = ortsel.SelectionConfig("blocking", None, 40.0)
    session = ortsel.InferenceSession(model, selection=config)
    plain = onnxruntime.InferenceSession(model)
    for _ in range(4):
        served, expected = session.run(None, models.FEED), plain.run(None, models.FEED)
        np.testing.assert_array_equal(served[0], expected[0])
    [row] = session.explain().rows()
    assert row["plan"] == "reference"
    assert "reference_nondeterministic" in str(row["reason"])


def test_a_model_file_that_changed_since_it_was_named_is_not_tried(
    model: Path, tmp_path: Path
) -> None:
    path = models.linear(tmp_path / "mine.onnx")
    variant = ortsel.model_file_variant(path)
    models.linear(path, factor=2.0)
    fates = run_with(model, lambda facts: [evolve(facts.reference, name="mine", variant=variant)])
    assert "file-changed" in fates.get("mine", fates["decision"])
