"""What may be skipped under a stated risk, and what never is (L7)."""

from fractions import Fraction
from math import ceil

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.learning import (
    Calibration,
    HeldOut,
    Point,
    Prediction,
    Ridge,
    Skipped,
    SkipPolicy,
    calibrate,
    hopeless,
)
from tests.spec.learning.sample_observations import learnable, workload_features

REFERENCE = frozenset({"p0"})
POLICY = SkipPolicy()
BARE = SkipPolicy(minimum_factor=Fraction(1), maximum_share=Fraction(1))
"""Nothing but the calibrated factor stands between a candidate and being skipped."""
EXACT = Calibration((Fraction(1),) * 19)
FEATURES = workload_features(1, 1)


def predicted(*latencies_ns: int, known: bool = True) -> tuple[Prediction, ...]:
    return tuple(Prediction(f"p{n}", ns, 0, known) for n, ns in enumerate(latencies_ns))


def skipped(
    predictions: tuple[Prediction, ...],
    calibration: Calibration = EXACT,
    policy: SkipPolicy = POLICY,
    number: int = 1,
) -> list[str]:
    return [one.plan for one in hopeless(predictions, REFERENCE, calibration, policy, number)]


def simulated(policy: SkipPolicy, noise: float, calibrated: bool) -> tuple[int, int, int]:
    """Return on how many of 400 new workloads the true best went, of how many, and all skips."""
    lost = total = skips = 0
    for seed in range(10):
        some = learnable(80, seed, plans=4, noise=noise)
        split = 40 * 4
        fitted = Ridge().fit(some[:split])
        complete = frozenset(one.point.workload for one in some[:split])
        calibration = calibrate(fitted.held_out, complete) if calibrated else EXACT
        for start in range(split, len(some), 4):
            group = some[start : start + 4]
            # No plan but a slow fifth one is protected, so that the best can really be lost.
            reference = evolve(group[0].point, plan="reference")
            points = [*(one.point for one in group), reference]
            predictions = tuple(fitted.predict(point) for point in points)
            gone = hopeless(predictions, frozenset({"reference"}), calibration, policy, 1)
            best = min(group, key=lambda one: (one.latency_ns, one.point.plan)).point.plan
            total += 1
            skips += len(gone)
            lost += best in {one.plan for one in gone}
    return lost, total, skips


@pytest.mark.parametrize("noise", [0.05, 1.0])
def test_the_true_best_is_skipped_no_oftener_than_the_stated_risk(noise: float) -> None:
    lost, total, skips = simulated(BARE, noise, calibrated=True)
    assert total == 400
    assert skips > 40, "pointless unless candidates are really skipped"
    # Three standard deviations above 5 % of 400.
    assert lost <= 20 + ceil(3 * (400 * 0.05 * 0.95) ** 0.5)


def test_skipping_without_calibration_would_break_the_risk() -> None:
    lost, total, _ = simulated(BARE, 1.0, calibrated=False)
    assert lost > total // 4


def test_a_candidate_is_skipped_only_beyond_the_error_and_the_factor() -> None:
    assert skipped(predicted(100, 100, 120)) == []
    assert skipped(predicted(100, 100, 121)) == ["p2"]
    wide = Calibration((Fraction(1),) * 18 + (Fraction(2),))
    assert skipped(predicted(100, 100, 240), wide) == []
    assert hopeless(predicted(100, 100, 241), REFERENCE, wide, POLICY, 1) == (
        Skipped("p2", Fraction(241, 100), Fraction(12, 5)),
    )


def test_the_factor_is_the_one_that_the_stated_share_of_workloads_stays_under() -> None:
    factors = Calibration(tuple(Fraction(n) for n in range(1, 40)))
    found = hopeless(predicted(1, 1, 1000), REFERENCE, factors, POLICY, 1)
    assert [one.needed for one in found] == [38 * Fraction(6, 5)]


def test_too_few_complete_workloads_skip_nothing() -> None:
    hopeless_looking = predicted(1, 1, 10**9)
    assert skipped(hopeless_looking, Calibration((Fraction(1),) * 18)) == []
    assert skipped(hopeless_looking, Calibration((Fraction(1),) * 19)) == ["p2"]
    assert skipped(hopeless_looking, EXACT, SkipPolicy(risk=Fraction(0))) == []


def test_the_reference_is_never_skipped_and_must_be_named() -> None:
    assert skipped(predicted(10**9, 1, 1)) == []
    with pytest.raises(InvalidValue, match="L7"):
        hopeless(predicted(1, 2), frozenset({"elsewhere"}), EXACT, POLICY, 1)
    with pytest.raises(InvalidValue, match="L7"):
        hopeless((*predicted(1), *predicted(1)), REFERENCE, EXACT, POLICY, 1)


def test_a_served_plan_is_protected_beside_the_reference() -> None:
    served = REFERENCE | {"p2"}
    assert hopeless(predicted(1, 1, 10**9), served, EXACT, POLICY, 1) == ()


def test_an_unknown_plan_is_never_skipped_and_sets_no_standard() -> None:
    unknown = evolve(predicted(1)[0], plan="new", latency_ns=10**9, known_plan=False)
    assert skipped((*predicted(100, 100), unknown)) == []
    fast = evolve(unknown, latency_ns=1)
    assert skipped((*predicted(100, 100), fast)) == []


def test_at_most_the_stated_share_is_skipped_the_most_hopeless_first() -> None:
    assert skipped(predicted(1, 1, 10, 30, 20)) == ["p3", "p4"]
    assert skipped(predicted(1, 1, 10, 10, 10)) == ["p2", "p3"]


def test_an_audited_selection_skips_nothing() -> None:
    for number in (0, 20, 40):
        assert skipped(predicted(1, 1, 9), number=number) == []
    assert skipped(predicted(1, 1, 9), number=21) == ["p2"]


def test_only_workloads_of_which_everything_was_tried_calibrate() -> None:
    def held(workload: str, plan: str, measured: int, guess: int, known: bool = True) -> HeldOut:
        return HeldOut(Point(workload, plan, FEATURES), measured, guess, known)

    some = (
        held("v", "a", 10, 30),
        held("v", "b", 20, 10),
        held("w", "a", 10, 50),
        held("w", "b", 20, 10),
        held("x", "a", 10, 70, known=False),
        held("x", "b", 20, 10),
        held("y", "a", 10, 70),
    )
    assert calibrate(some, frozenset("vxy")).factors == tuple(map(Fraction, (1, 1, 3)))
    assert calibrate(some, frozenset("vw")).factors == tuple(map(Fraction, (3, 5)))
    assert calibrate(some, frozenset()).factors == ()


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=8),
    st.lists(st.fractions(1, 100), max_size=60),
    st.fractions(0, 1),
    st.fractions(0, 1),
    st.integers(0, 100),
)
def test_the_bounds_hold_for_all_input(
    latencies: list[int], factors: list[Fraction], risk: Fraction, share: Fraction, number: int
) -> None:
    policy = SkipPolicy(risk=risk, maximum_share=share)
    gone = skipped(predicted(*latencies), Calibration(tuple(sorted(factors))), policy, number)
    assert len(gone) <= share * len(latencies)
    assert len(set(gone)) == len(gone)
    assert "p0" not in gone
    assert all(latencies[int(one[1:])] > min(latencies) for one in gone)


def test_a_factor_under_one_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L7"):
        SkipPolicy(minimum_factor=Fraction(9, 10))
