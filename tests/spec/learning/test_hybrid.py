"""The learned order is used only where it proved better, and promotes nothing (L5, L6, L8)."""

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from spec.errors import InvalidValue
from spec.learning import (
    Algorithm,
    Comparison,
    HeldOut,
    HybridPolicy,
    Observation,
    OrderingError,
    Point,
    Prediction,
    Ridge,
    by_prediction,
    compare,
    ordering_error,
    reordered,
    tail,
)
from spec.ranking import (
    Estimate,
    History,
    Ranked,
    RankingPolicy,
    RankingRequest,
    SelectionReason,
    rank,
)
from tests.spec.learning.sample_observations import learnable, pure_noise, workload_features
from tests.spec.ranking.sample_kernels import INPUTS, kernel, registry

POLICY = HybridPolicy()
FEATURES = workload_features(1, 1)


def held(workload: str, plan: str, measured_ns: int, predicted_ns: int) -> HeldOut:
    return HeldOut(Point(workload, plan, FEATURES), measured_ns, predicted_ns, known_plan=True)


def one_order_for_all(some: tuple[Observation, ...]) -> dict[Point, Fraction]:
    """Return scores that always prefer plan p0, then p1, as a rule of thumb would."""
    return {one.point: -Fraction(int(one.point.plan[1:])) for one in some}


def test_on_learnable_data_the_learned_order_wins() -> None:
    for seed in range(5):
        some = learnable(40, seed)
        result = compare(Ridge().fit(some).held_out, one_order_for_all(some), POLICY)
        assert result.scored.share > Fraction(1, 4), "pointless unless scores have something wrong"
        assert result.learned_wins
        assert result.learned.share < result.scored.share


def test_on_noise_the_score_order_stays_except_at_the_stated_risk() -> None:
    wins = tempting = 0
    for seed in range(60):
        some = pure_noise(20, seed)
        result = compare(Ridge().fit(some).held_out, one_order_for_all(some), POLICY)
        wins += result.learned_wins
        tempting += result.learned.halves < result.scored.halves
    assert tempting > 15, "pointless unless fewer mistakes alone would often have decided"
    # 60 draws at a risk of 5 %: more than 8 wins would have a probability under 0.3 %.
    assert wins <= 8


def test_scores_that_are_already_right_are_kept() -> None:
    some = learnable(40, seed=3)
    perfect = {one.point: -Fraction(one.latency_ns) for one in some}
    result = compare(Ridge().fit(some).held_out, perfect, POLICY)
    assert result.scored.halves == 0
    assert not result.learned_wins


def test_too_few_pairs_decide_nothing() -> None:
    some = tuple(
        held(f"w{n}", plan, ns, ns) for n in range(19) for plan, ns in (("a", 9), ("b", 1))
    )
    wrong = {one.point: Fraction(one.measured_ns) for one in some}
    assert not compare(some, wrong, POLICY).learned_wins
    more = (*some, held("w19", "a", 9, 9), held("w19", "b", 1, 1))
    assert compare(
        more, {one.point: Fraction(one.measured_ns) for one in more}, POLICY
    ).learned_wins


def test_many_pairs_of_few_workloads_decide_nothing() -> None:
    some = tuple(held(f"w{n}", f"p{p}", 2**p, 2**p) for n in range(4) for p in range(8))
    wrong = {one.point: Fraction(one.measured_ns) for one in some}
    result = compare(some, wrong, POLICY)
    assert result.learned.pairs > POLICY.minimum_pairs
    assert result.learned.halves == 0
    assert not result.learned_wins, "four workloads have a tail of 1/16"


def test_winning_many_workloads_narrowly_and_losing_few_badly_is_no_win() -> None:
    narrow = tuple(
        held(f"a{n}", plan, ns, ns) for n in range(20) for plan, ns in (("a", 1), ("b", 9))
    )
    bad = tuple(held(f"b{n}", f"p{p}", 2**p, 2 ** (9 - p)) for n in range(3) for p in range(8))
    scores = {
        one.point: Fraction(one.measured_ns if one in narrow else -one.measured_ns)
        for one in (*narrow, *bad)
    }
    result = compare((*narrow, *bad), scores, POLICY)
    assert tail(23, result.learned_better) <= POLICY.risk, "pointless unless the sign test passes"
    assert result.learned.halves > result.scored.halves
    assert not result.learned_wins
    assert compare(narrow, scores, POLICY).learned_wins


def test_a_missing_score_is_refused() -> None:
    with pytest.raises(InvalidValue, match="L5"):
        compare((held("w", "a", 1, 1), held("w", "b", 9, 9)), {}, POLICY)


def test_only_pairs_of_one_workload_beyond_the_margin_count() -> None:
    some = (held("w", "a", 100, 2), held("w", "b", 105, 1), held("v", "a", 900, 1))
    assert ordering_error(some, by_prediction, Fraction(1, 20)) == OrderingError(0, 0)
    assert ordering_error(some, by_prediction, Fraction(1, 25)) == OrderingError(1, 2)


def test_a_tie_is_half_a_mistake() -> None:
    tied = (held("w", "a", 1, 7), held("w", "b", 9, 7))
    assert ordering_error(tied, by_prediction, Fraction(0)) == OrderingError(1, 1)
    assert OrderingError(1, 1).share == Fraction(1, 2)


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=8))
def test_an_order_and_its_reverse_share_all_mistakes(plans: list[tuple[int, int]]) -> None:
    some = tuple(held("w", f"p{n}", *both) for n, both in enumerate(plans))
    forth = ordering_error(some, by_prediction, Fraction(0))
    back = ordering_error(some, lambda one: -by_prediction(one), Fraction(0))
    assert forth.pairs == back.pairs
    assert forth.halves + back.halves == 2 * forth.pairs


def test_confidence_grows_with_right_pairs_and_never_reaches_one() -> None:
    assert OrderingError(0, 0).confidence == Fraction(1, 2)
    assert OrderingError(8, 0).confidence == Fraction(9, 10)
    assert OrderingError(8, 8).confidence == Fraction(1, 2)
    with pytest.raises(InvalidValue, match="L5"):
        _ = OrderingError(0, 0).share
    with pytest.raises(InvalidValue, match="L5"):
        OrderingError(1, 3)


@given(st.integers(0, 30))
def test_the_tail_of_coin_tosses_is_exact(tosses: int) -> None:
    assert tail(tosses, 0) == 1
    assert tail(tosses, tosses + 1) == 0
    assert tail(tosses, tosses) == Fraction(1, 2**tosses)
    for heads in range(tosses + 1):
        assert tail(tosses, heads) + tail(tosses, tosses - heads + 1) == 1
    assert all(tail(tosses, a) >= tail(tosses, b) for a, b in pairwise(range(tosses + 2)))


CERTAIN = Comparison(OrderingError(50, 0), OrderingError(50, 50), 10, 0, learned_wins=True)
LOST = Comparison(OrderingError(50, 60), OrderingError(50, 50), 0, 10, learned_wins=False)


def score_order(latencies_ns: Mapping[str, int], default: str | None = "a") -> Ranked:
    result = rank(
        registry(*(kernel(name) for name in latencies_ns), default=default),
        RankingRequest(
            "MatMul",
            "cpu",
            "w",
            INPUTS,
            0,
            Map({name: Estimate(ns, 0) for name, ns in latencies_ns.items()}),
        ),
        History(),
        RankingPolicy(exploration=Fraction(0), minimum_confidence=Fraction(0)),
    )
    assert isinstance(result, Ranked)
    return result


def predicted(known: bool = True, **latencies_ns: int) -> tuple[Prediction, ...]:
    return tuple(Prediction(name, ns, 0, known) for name, ns in latencies_ns.items())


def order(result: Ranked) -> str:
    return "".join(one.kernel_id for one in result.order)


SCORED = score_order({"a": 1, "b": 10, "c": 100})


def test_the_hybrid_uses_the_learned_order_only_if_it_won() -> None:
    learned = predicted(a=3, b=2, c=1)
    won = reordered(SCORED, learned, CERTAIN, Algorithm.HYBRID)
    assert (order(SCORED), order(won), won.reason) == ("abc", "cba", SelectionReason.HYBRID)
    assert reordered(SCORED, learned, LOST, Algorithm.HYBRID) == SCORED
    assert reordered(SCORED, learned, CERTAIN, Algorithm.SCORE) == SCORED


def test_a_learned_order_asked_for_without_a_win_is_held_back_by_its_confidence() -> None:
    learned = predicted(a=3, b=2, c=1)
    doubtful = reordered(SCORED, learned, LOST, Algorithm.LEARNED)
    assert (order(doubtful), doubtful.reason) == ("acb", SelectionReason.DEFAULT)
    bold = reordered(SCORED, learned, LOST, Algorithm.LEARNED, Fraction(0))
    assert (order(bold), bold.reason) == ("cba", SelectionReason.LEARNED)
    assert bold.confidence == LOST.learned.confidence


def test_equal_predictions_keep_the_default_first_and_then_the_score_order() -> None:
    tied = predicted(a=5, b=5, c=5)
    assert order(reordered(SCORED, tied, CERTAIN, Algorithm.HYBRID)) == "abc"
    by_c = score_order({"a": 1, "b": 10, "c": 100}, default="c")
    assert order(reordered(by_c, tied, CERTAIN, Algorithm.HYBRID)) == "cab"


def test_an_unknown_plan_is_taken_to_be_as_fast_as_the_default() -> None:
    some = (*predicted(a=5, c=9), *predicted(known=False, b=1))
    assert order(reordered(SCORED, some, CERTAIN, Algorithm.HYBRID)) == "abc"
    assert order(reordered(SCORED, predicted(a=5, c=4), CERTAIN, Algorithm.HYBRID)) == "cab"
    no_default = score_order({"a": 1, "b": 10, "c": 100}, default=None)
    assert order(reordered(no_default, predicted(b=5, c=4), CERTAIN, Algorithm.HYBRID)) == "cba"


@given(
    st.dictionaries(st.sampled_from("abcxyz"), st.integers(1, 9)),
    st.sampled_from(Algorithm),
    st.sampled_from([CERTAIN, LOST]),
)
def test_learning_moves_kernels_and_neither_adds_nor_drops_one(
    latencies_ns: dict[str, int], algorithm: Algorithm, comparison: Comparison
) -> None:
    learned = tuple(Prediction(name, ns, 0, known_plan=True) for name, ns in latencies_ns.items())
    result = reordered(SCORED, learned, comparison, algorithm)
    assert set(result.order) == set(SCORED.order)
    assert len(result.order) == len(SCORED.order)
    assert result.excluded == SCORED.excluded


def test_a_sample_of_noise_is_noise() -> None:
    random = Random(0)
    some = pure_noise(200, random.randint(0, 9))
    first = [one.latency_ns for one in some if one.point.plan == "p0"]
    last = [one.latency_ns for one in some if one.point.plan == "p2"]
    wins = sum(a < b for a, b in zip(first, last, strict=True))
    assert 70 < wins < 130
