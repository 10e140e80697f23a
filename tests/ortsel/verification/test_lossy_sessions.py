"""A user's tolerance on real sessions: what it refuses, what it lets be tried and served."""

import time
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.candidates.generation import search_space
from ortsel.candidates.lossy_variants import lossy_variant_candidates
from ortsel.graph_variants import build_variant
from ortsel.plan import Plan
from ortsel.selectors import forget_all
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.rig import Rig, Verified
from ortsel.verification.tolerance import as_tolerance
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE


@pytest.mark.parametrize("mode", ["background", "blocking", "cache-only", "disabled"])
def test_a_name_that_is_no_output_is_refused_when_the_session_is_built(
    tmp_path: Path, mode: str
) -> None:
    model = models.linear(tmp_path / "m.onnx")

    def built(name: str) -> ortsel.InferenceSession:
        config = ortsel.SelectionConfig(mode, None, candidates=(), tolerance={name: "close"})
        return ortsel.InferenceSession(model, selection=config)

    with pytest.raises(ortsel.UsageError, match=r"tolerance: got 'z', need .* an output: 'y'"):
        built("z")
    expected = onnxruntime.InferenceSession(model).run(None, FEED)[0]
    np.testing.assert_array_equal(built("y").run(None, FEED)[0], expected)


def test_lossy_plans_are_tried_under_a_metric_only(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "m.onnx")
    exact = CandidateFacts.read(model)
    assert "variant=dynamic-int8" not in [
        plan.name for plan in search_space(Plan("r"), exact).plans
    ]
    [left_out] = lossy_variant_candidates(Plan("r"), exact)
    assert getattr(left_out, "rule", "") == "not-exact"


@pytest.fixture(scope="module")
def eight_bits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("variant")
    build_variant("dynamic-int8", models.linear(folder / "m.onnx"), folder / "int8.onnx")
    return folder / "int8.onnx"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tolerance", "fate"),
    [
        (ortsel.Cosine(0.99), "verified"),
        (ortsel.Cosine(0.9999999), "wrong-metric"),
        ({"y": ortsel.RelativeL2(0.1)}, "verified"),
        ("close", "wrong-value"),
    ],
    ids=["cosine", "tight-cosine", "l2-by-name", "close"],
)
def test_eight_bit_weights_are_judged_by_the_users_metric(
    tmp_path: Path, eight_bits: Path, tolerance: object, fate: str
) -> None:
    model = models.linear(tmp_path / "m.onnx")
    [plan] = lossy_variant_candidates(REFERENCE, CandidateFacts(1, lossy=True))
    assert isinstance(plan, Plan)
    with Rig(
        model,
        REFERENCE,
        [FEED],
        None,
        variant_models={plan.variant: eight_bits},
        tolerance=as_tolerance(tolerance),
    ) as rig:
        try:
            verdict = rig.validate(plan, time.monotonic_ns() + 60 * SECOND_NS)
            told = "verified" if verdict == Verified(1) else str(verdict)
        except TrialFailedError as error:
            told = error.failure.code
    assert told == fate


@pytest.mark.deep
def test_a_session_with_a_metric_tries_lossy_plans_by_itself(tmp_path: Path) -> None:
    forget_all()
    config = ortsel.SelectionConfig("blocking", None, 60.0, tolerance=ortsel.Cosine(0.99))
    session = ortsel.InferenceSession(models.linear(tmp_path / "m.onnx"), selection=config)
    session.run(None, FEED)
    rows = {row["plan"]: row for row in session.explain().candidate_rows()}
    assert rows["variant=dynamic-int8"]["verified"], session.explain()
