"""Ridge regression: what it learns, refuses and answers; held-out errors (L1 to L4)."""

from fractions import Fraction
from math import log2

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.learning import HeldOut, Observation, Ridge, WorkloadFeatures, quantised_ns
from spec.learning.cholesky import NotPositiveDefiniteError, dot, factor, solve
from spec.learning.observation import MAX_OBSERVATIONS, by_workload
from tests.spec.learning.sample_observations import learnable, observations


def log2_prediction(train: tuple[Observation, ...], wanted: Observation) -> float:
    fitted = Ridge().fit(train)
    features = wanted.point.features.logarithms()
    row = (16.0, *features)
    own = fitted.own.get(wanted.point.plan)
    return dot(row, fitted.shared) + (0.0 if own is None else dot(row, own))


@given(observations().filter(lambda some: len(some) > 1))
def test_leave_one_out_in_closed_form_equals_fitting_again_without_it(
    some: tuple[Observation, ...],
) -> None:
    fitted = Ridge().fit(some)
    for residual, one in zip(fitted.leave_one_out(), fitted.observations, strict=True):
        rest = tuple(other for other in some if other != one)
        assert residual == pytest.approx(
            log2(one.latency_ns) - log2_prediction(rest, one), abs=1e-6
        )


@given(observations())
def test_leaving_a_workload_out_in_closed_form_equals_fitting_again_without_it(
    some: tuple[Observation, ...],
) -> None:
    fitted = Ridge().fit(some)
    groups = by_workload(fitted.observations)
    assert len(fitted.held_out) == (len(some) if len(groups) > 1 else 0)
    if len(groups) == 1:
        return
    for group in groups:
        held = [fitted.observations[position] for position in group]
        rest = tuple(one for one in some if one not in held)
        for value, one in zip(fitted.left_out(group), held, strict=True):
            assert value == pytest.approx(log2_prediction(rest, one), abs=1e-6)


def test_a_fit_that_saw_the_observation_errs_less_than_one_that_did_not() -> None:
    some = learnable(10, seed=1)
    fitted = Ridge().fit(some)
    seen = sum((log2(one.latency_ns) - log2_prediction(some, one)) ** 2 for one in some)
    unseen = sum(residual**2 for residual in fitted.leave_one_out())
    assert unseen > 1.2 * seen


@given(observations())
def test_the_fit_depends_on_no_order_to_the_last_bit(
    some: tuple[Observation, ...],
) -> None:
    assert Ridge().fit(some) == Ridge().fit(tuple(reversed(some)))


def test_plans_that_trade_places_are_learned() -> None:
    some = learnable(40, seed=2, plans=2, noise=0)
    fitted = Ridge().fit(some)
    best: dict[str, list[HeldOut]] = {}
    for one in fitted.held_out:
        best.setdefault(one.point.workload, []).append(one)
    winners = [min(group, key=lambda one: one.measured_ns).point.plan for group in best.values()]
    guesses = [min(group, key=lambda one: one.predicted_ns).point.plan for group in best.values()]
    assert 8 <= winners.count("p0") <= 32, "pointless unless both plans win somewhere"
    right = sum(a == b for a, b in zip(winners, guesses, strict=True))
    assert right > max(winners.count("p0"), winners.count("p1"))


def test_a_plan_never_observed_is_said_to_be_unknown() -> None:
    some = learnable(5, seed=3)
    fitted = Ridge().fit(some)
    assert fitted.predict(some[0].point).known_plan
    assert not fitted.predict(evolve(some[0].point, plan="new")).known_plan


def test_one_workload_alone_holds_nothing_out() -> None:
    fitted = Ridge().fit(learnable(1, seed=4))
    assert fitted.held_out == ()
    assert fitted.error_millilog2 == 0
    assert Ridge().fit(learnable(2, seed=4)).held_out != ()


def test_a_plan_seen_on_one_workload_only_is_unknown_when_that_one_is_held_out() -> None:
    some = learnable(4, seed=5)
    lonely = Observation(evolve(some[0].point, plan="lonely"), 10)
    known = {one.point.plan: one.known_plan for one in Ridge().fit((*some, lonely)).held_out}
    assert known == {"p0": True, "p1": True, "p2": True, "lonely": False}


def test_observations_that_do_not_fit_together_are_refused() -> None:
    one, other = learnable(2, seed=6, plans=1)
    bad: list[tuple[Observation, ...]] = [
        (),
        (one, one),
        (one, evolve(other, point=evolve(other.point, workload=one.point.workload, plan="x"))),
        (one, evolve(other, point=evolve(other.point, features=WorkloadFeatures(1, 1)))),
        learnable(MAX_OBSERVATIONS + 1, seed=6, plans=1),
    ]
    for some in bad:
        with pytest.raises(InvalidValue, match="L1"):
            Ridge().fit(some)
    assert len(Ridge().fit((one, other)).observations) == 2


def test_a_point_with_other_lengths_is_refused() -> None:
    some = learnable(2, seed=7)
    with pytest.raises(InvalidValue, match="L1"):
        Ridge().fit(some).predict(evolve(some[0].point, features=WorkloadFeatures(1, 1)))


def test_features_are_logarithms_of_flops_bytes_intensity_and_lengths() -> None:
    features = WorkloadFeatures(flops=63, bytes_moved=7, lengths=(("key", 3), ("query", 0)))
    assert features.logarithms() == (6, 3, 3, 2, 0)


@pytest.mark.parametrize("lengths", [(("b", 1), ("a", 1)), (("a", 1), ("a", 2)), (("a", -1),)])
def test_lengths_are_named_once_and_in_order(lengths: tuple[tuple[str, int], ...]) -> None:
    with pytest.raises(InvalidValue, match="L1"):
        WorkloadFeatures(1, 1, lengths)


@pytest.mark.parametrize(
    ("log2_latency", "expected"),
    [
        (10.0, 1024),
        (-5.0, 1),
        (-1e308, 1),
        (1e308, 2**62),
        (62.5, 2**62),
        (float("inf"), 2**62),
        (float("-inf"), 1),
        (log2(2.5), 2),
    ],
)
def test_predictions_leave_as_whole_nanoseconds_within_bounds(
    log2_latency: float, expected: int
) -> None:
    assert quantised_ns(log2_latency) == expected


def test_no_number_is_no_prediction() -> None:
    with pytest.raises(InvalidValue, match="L2"):
        quantised_ns(float("nan"))


def test_a_penalty_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L3"):
        Ridge(penalty=Fraction(0))


@given(st.lists(st.lists(st.integers(-5, 5), min_size=3, max_size=3), min_size=3, max_size=3))
def test_solving_undoes_multiplying(rows: list[list[int]]) -> None:
    matrix = [[float(dot(left, right)) + (left is right) for right in rows] for left in rows]
    matrix = [[value + (i == j) for j, value in enumerate(row)] for i, row in enumerate(matrix)]
    wanted = (1.0, -2.0, 3.0)
    right = [dot(row, wanted) for row in matrix]
    lower = factor([row[: position + 1] for position, row in enumerate(matrix)])
    assert solve(lower, right) == pytest.approx(wanted, abs=1e-6)


def test_a_matrix_that_cannot_be_factored_is_refused() -> None:
    with pytest.raises(NotPositiveDefiniteError, match="pivot 1"):
        factor([[1.0], [1.0, 1.0]])
