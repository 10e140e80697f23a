"""Models of scikit-learn behind the same protocol (L9)."""

import subprocess
import sys
from fractions import Fraction

import pytest

from ortsel.errors import MissingPackageError, UsageError
from ortsel.learning import ModelKind, ScikitPredictor
from ortsel.learning import models as scikit_models
from ortsel.learning.design_matrix import design_matrix
from spec.errors import InvalidValue
from spec.learning import (
    FittedPredictor,
    HybridPolicy,
    Observation,
    Point,
    Predictor,
    Ridge,
    WorkloadFeatures,
    by_prediction,
    compare,
    ordering_error,
)
from tests.spec.learning.sample_observations import learnable, pure_noise

SOME = learnable(20, seed=1)
KINDS = pytest.mark.parametrize("kind", list(ModelKind))


def fitted(predictor: Predictor, some: tuple[Observation, ...]) -> FittedPredictor:
    return predictor.fit(some)


@KINDS
def test_a_model_orders_plans_of_unseen_workloads_better_than_a_fixed_rule(kind: ModelKind) -> None:
    pytest.importorskip("sklearn")
    held_out = fitted(ScikitPredictor(kind), SOME).held_out
    assert len(held_out) == len(SOME)
    fixed = {one.point: -Fraction(int(one.point.plan[1:])) for one in SOME}
    result = compare(held_out, fixed, HybridPolicy())
    assert result.scored.share > Fraction(1, 4), "pointless unless the rule has something wrong"
    assert result.learned.share < result.scored.share / 2
    assert result.learned_wins


@KINDS
def test_a_model_that_learned_noise_does_not_win(kind: ModelKind) -> None:
    pytest.importorskip("sklearn")
    some = pure_noise(20, seed=3)
    fixed = {one.point: -Fraction(int(one.point.plan[1:])) for one in some}
    assert not compare(
        fitted(ScikitPredictor(kind), some).held_out, fixed, HybridPolicy()
    ).learned_wins


@KINDS
def test_the_same_seed_gives_the_same_predictions_in_any_order_of_observations(
    kind: ModelKind,
) -> None:
    pytest.importorskip("sklearn")
    one = ScikitPredictor(kind, seed=7, folds=3).fit(SOME)
    other = ScikitPredictor(kind, seed=7, folds=3).fit(tuple(reversed(SOME)))
    assert one.held_out == other.held_out
    assert [one.predict(each.point) for each in SOME] == [
        other.predict(each.point) for each in SOME
    ]


def test_another_seed_gives_another_forest() -> None:
    pytest.importorskip("sklearn")
    forests = [ScikitPredictor(ModelKind.RANDOM_FOREST, seed, folds=2).fit(SOME) for seed in (1, 2)]
    assert forests[0].held_out != forests[1].held_out


def test_a_fold_never_sees_the_workload_it_predicts() -> None:
    pytest.importorskip("sklearn")
    absurd = tuple(
        Observation(one.point, 10**15) if one.point.workload == "w000" else one for one in SOME
    )
    plain, poisoned = (
        {
            one.point.plan: one.predicted_ns
            for one in ScikitPredictor(ModelKind.DECISION_TREE, folds=20).fit(some).held_out
            if one.point.workload == "w000"
        }
        for some in (SOME, absurd)
    )
    assert plain == poisoned
    seen = ScikitPredictor(ModelKind.DECISION_TREE).fit(absurd).predict(absurd[0].point)
    assert seen.latency_ns not in plain.values(), "pointless unless seeing it would have mattered"


def test_a_plan_that_only_the_left_out_fold_had_is_unknown_there() -> None:
    pytest.importorskip("sklearn")
    lonely = Observation(Point("w000", "lonely", SOME[0].point.features), 10)
    model = ScikitPredictor(ModelKind.LINEAR, folds=2).fit((*SOME, lonely))
    assert {one.point.plan: one.known_plan for one in model.held_out} == {
        "p0": True,
        "p1": True,
        "p2": True,
        "lonely": False,
    }
    assert model.predict(lonely.point).known_plan
    assert not model.predict(Point("new", "new", SOME[0].point.features)).known_plan


def test_one_workload_holds_nothing_out() -> None:
    pytest.importorskip("sklearn")
    model = ScikitPredictor(ModelKind.LINEAR).fit(learnable(1, seed=1))
    assert model.held_out == ()
    assert model.error_millilog2 == 0


def test_what_the_protocol_refuses_is_refused() -> None:
    pytest.importorskip("sklearn")
    with pytest.raises(InvalidValue, match="L1"):
        ScikitPredictor(ModelKind.LINEAR).fit(())
    with pytest.raises(InvalidValue, match="L1"):
        ScikitPredictor(ModelKind.LINEAR).fit(SOME).predict(Point("w", "p", WorkloadFeatures(1, 1)))
    with pytest.raises(UsageError, match="folds"):
        ScikitPredictor(ModelKind.LINEAR, folds=1)
    with pytest.raises(UsageError, match="seed"):
        ScikitPredictor(ModelKind.LINEAR, seed=-1)


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingPackageError, match=r"scikit-learn.*ortsel\[learning\]"):
        ScikitPredictor(ModelKind.LINEAR).fit(SOME)
    assert ScikitPredictor(ModelKind.LINEAR).name == "scikit-learn linear"
    with pytest.raises(MissingPackageError):
        scikit_models.require_scikit_learn()


@pytest.mark.slow
def test_scikit_learn_is_not_imported_before_the_first_fit() -> None:
    code = (
        "import sys, ortsel.learning\n"
        "ortsel.learning.ScikitPredictor(ortsel.learning.ModelKind.LINEAR)\n"
        "print('sklearn' in sys.modules)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"


def test_a_row_holds_features_one_hot_and_both_crossed() -> None:
    features = WorkloadFeatures(flops=3, bytes_moved=1)
    rows = design_matrix([Point("w", "b", features), Point("w", "new", features)], ["a", "b"])
    assert rows.tolist() == [
        [2, 1, 1, 0, 1, 0, 0, 0, 2, 1, 1],
        [2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0],
    ]


def test_the_pure_ridge_and_the_models_answer_the_same_protocol() -> None:
    error = ordering_error(fitted(Ridge(), SOME).held_out, by_prediction, Fraction(1, 20))
    assert error.pairs > 20
    assert error.share < Fraction(1, 5)
