"""The order in which kernels are tried (R4, R5, R10 to R13)."""

from fractions import Fraction
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from spec.errors import InvalidValue
from spec.ranking import (
    Characteristics,
    Constraint,
    Constraints,
    Estimate,
    Failed,
    History,
    Kernel,
    NothingEligible,
    Ranked,
    RankingPolicy,
    RankingRequest,
    Registry,
    SelectionReason,
    Succeeded,
    rank,
)
from tests.spec.ranking.sample_kernels import INPUTS, estimates, kernel, kernels, registry, shares

EXPLOIT = RankingPolicy(exploration=Fraction(0), minimum_confidence=Fraction(0))
ONLY_INT8 = Constraints(dtypes=frozenset({"int8"}))


def request(served: str | None = None, **latencies_ns: int) -> RankingRequest:
    return RankingRequest(
        operation="MatMul",
        backend="cpu",
        workload="w",
        inputs=INPUTS,
        now_ns=0,
        estimates=Map({name: Estimate(latency, 0) for name, latency in latencies_ns.items()}),
        served=served,
    )


def ranked(
    kernels_: Registry,
    asked: RankingRequest,
    history: History | None = None,
    policy: RankingPolicy = EXPLOIT,
) -> Ranked:
    result = rank(kernels_, asked, History() if history is None else history, policy)
    assert isinstance(result, Ranked)
    return result


def order(result: Ranked) -> str:
    return "".join(one.kernel_id for one in result.order)


AB = registry(kernel("a"), kernel("b"))


@st.composite
def questions(draw: st.DrawFn) -> tuple[tuple[Kernel, ...], RankingRequest, History, RankingPolicy]:
    some = draw(kernels())
    names = [one.id for one in some]
    history = History()
    for name in draw(st.lists(st.sampled_from(names), max_size=6)):
        outcome = draw(st.one_of(st.just(Failed.FAILED), st.builds(Succeeded, st.integers(1, 99))))
        history = history.record("w", name, outcome, draw(st.integers(0, 10**15)))
    known = draw(st.dictionaries(st.sampled_from(names), estimates))
    asked = evolve(
        request(draw(st.sampled_from([None, *names]))),
        estimates=Map(known),
        now_ns=draw(st.integers(0, 10**16)),
        expected_calls=draw(st.integers(1, 1000)),
    )
    return (
        some,
        asked,
        history,
        RankingPolicy(exploration=draw(shares), minimum_confidence=draw(shares)),
    )


@given(questions(), st.data())
def test_the_ranking_depends_on_no_order_of_registration(
    question: tuple[tuple[Kernel, ...], RankingRequest, History, RankingPolicy], data: st.DataObject
) -> None:
    some, asked, history, policy = question
    shuffled = data.draw(st.permutations(some))
    default = data.draw(st.sampled_from([None, *(one.id for one in some)]))
    expected = rank(registry(*some, default=default), asked, history, policy)
    assert rank(registry(*shuffled, default=default), asked, history, policy) == expected


@given(questions(), st.booleans())
def test_every_kernel_is_ranked_or_excluded_and_every_number_is_a_share(
    question: tuple[tuple[Kernel, ...], RankingRequest, History, RankingPolicy], named: bool
) -> None:
    some, asked, history, policy = question
    result = rank(registry(*some, default=some[0].id if named else None), asked, history, policy)
    placed = [] if isinstance(result, NothingEligible) else list(result.order)
    names = [one.kernel_id for one in placed] + [one.kernel_id for one in result.excluded]
    assert sorted(names) == sorted(one.id for one in some)
    assert all(one.reasons for one in result.excluded)
    for one in placed:
        assert 0 <= one.score <= 1
        assert 0 <= one.priority <= 1
        assert 0 <= one.confidence < 1
    if isinstance(result, Ranked):
        rest = placed[result.reason is SelectionReason.DEFAULT :]
        assert all(left.priority >= right.priority for left, right in pairwise(rest))


@given(questions(), st.sampled_from("abcdefgh"))
def test_adding_a_kernel_moves_no_other_two(
    question: tuple[tuple[Kernel, ...], RankingRequest, History, RankingPolicy], name: str
) -> None:
    some, asked, history, policy = question
    without = [one for one in some if one.id != name]
    bold = evolve(policy, minimum_confidence=Fraction(0))
    before = rank(registry(*without), asked, history, bold)
    after = rank(registry(*without, kernel(name)), asked, history, bold)
    assert isinstance(after, Ranked)
    kept = [one for one in after.order if one.kernel_id != name]
    assert kept == ([] if isinstance(before, NothingEligible) else list(before.order))


def test_the_faster_estimate_goes_first_and_equal_ones_go_by_name() -> None:
    assert order(ranked(AB, request(a=20, b=10))) == "ba"
    assert order(ranked(AB, request(a=10, b=20))) == "ab"
    assert order(ranked(AB, request(a=10, b=10))) == "ab"


def test_a_tie_keeps_the_default_first() -> None:
    assert order(ranked(AB.with_default("b"), request(a=10, b=10))) == "ba"


def test_a_measured_mean_replaces_the_estimate() -> None:
    history = History().record("w", "a", Succeeded(5), 0).record("w", "b", Succeeded(50), 0)
    assert order(ranked(AB, request(a=20, b=10))) == "ba", "pointless unless the estimate differs"
    assert order(ranked(AB, request(a=20, b=10), history)) == "ab"


def test_a_kernel_that_only_failed_keeps_its_estimate_and_loses_history() -> None:
    history = History().record("w", "a", Failed.FAILED, 0)
    standings = {one.kernel_id: one for one in ranked(AB, request(a=10, b=10), history).order}
    assert standings["a"].terms.execution_time == standings["b"].terms.execution_time
    assert standings["a"].terms.history == 0
    assert order(ranked(AB, request(a=10, b=10), history)) == "ba"


def test_the_default_kernels_latency_is_the_unit_of_time() -> None:
    for scale in (1, 1000, 10**6):
        result = ranked(AB.with_default("b"), request(a=5 * scale, b=10 * scale))
        times = {one.kernel_id: one.terms.execution_time for one in result.order}
        assert times == {"a": Fraction(2, 3), "b": Fraction(1, 2)}


def test_without_a_default_the_policy_gives_the_unit() -> None:
    result = ranked(AB, request(a=10**6), policy=EXPLOIT)
    assert {one.kernel_id: one.terms.execution_time for one in result.order} == {
        "a": Fraction(1, 2),
        "b": Fraction(1, 2),
    }


def test_few_bytes_more_are_no_reason_but_a_multiple_of_the_defaults_is() -> None:
    asked = evolve(
        request(), estimates=Map({"a": Estimate(10, 2**30), "b": Estimate(10, 2 * 2**30)})
    )
    memory = [one.terms.memory for one in ranked(AB.with_default("a"), asked).order]
    assert memory == [Fraction(1, 2), Fraction(1, 3)]
    small = evolve(asked, estimates=Map({"a": Estimate(10, 0), "b": Estimate(10, 2**20)}))
    memory = [one.terms.memory for one in ranked(AB.with_default("a"), small).order]
    assert memory == [1, Fraction(1, 2)]


def test_initialisation_is_spread_over_the_expected_calls_and_paid_by_the_served_kernel() -> None:
    slow_start = registry(
        kernel("a", characteristics=Characteristics(initialisation_ns=1000)), kernel("b")
    )
    asked = request(a=10, b=20)
    assert order(ranked(slow_start, asked)) == "ba"
    assert order(ranked(slow_start, evolve(asked, expected_calls=1000))) == "ab"
    assert order(ranked(slow_start, evolve(asked, served="a"))) == "ab"


def test_a_gain_too_small_for_the_switch_leaves_the_served_plan_first() -> None:
    assert order(ranked(AB, request(a=1_000_000, b=900_000))) == "ba"
    assert order(ranked(AB, request("a", a=1_000_000, b=900_000))) == "ab"
    assert order(ranked(AB, request("a", a=1_000_000, b=500_000))) == "ba"


def test_exploration_prefers_the_less_tried_until_it_has_been_tried() -> None:
    history = History()
    for _ in range(9):
        history = history.record("w", "a", Succeeded(10**6), 0)
    asked = request(a=10**6, b=2 * 10**6)
    curious = evolve(EXPLOIT, exploration=Fraction(1, 2))
    assert order(ranked(AB, asked, history, EXPLOIT)) == "ab"
    assert order(ranked(AB, asked, history, curious)) == "ba"
    for _ in range(9):
        history = history.record("w", "b", Succeeded(2 * 10**6), 0)
    assert order(ranked(AB, asked, history, curious)) == "ab"


def test_the_default_stays_first_until_a_better_one_is_certain() -> None:
    with_default, asked = AB.with_default("a"), request(a=20, b=10)
    policy = evolve(EXPLOIT, minimum_confidence=Fraction(4, 5))
    history = History()
    for successes in range(6):
        result = ranked(with_default, asked, history, policy)
        certain = successes >= 4
        assert order(result) == ("ba" if certain else "ab")
        assert result.reason is (SelectionReason.SCORE if certain else SelectionReason.DEFAULT)
        history = history.record("w", "b", Succeeded(10), 0)


def test_doubt_moves_nothing_where_no_default_can_run() -> None:
    policy = evolve(EXPLOIT, minimum_confidence=Fraction(1))
    for some in (AB, registry(kernel("a"), kernel("b"), kernel("c", ONLY_INT8), default="c")):
        result = ranked(some, request(a=20, b=10), policy=policy)
        assert (order(result), result.reason, result.default_id) == (
            "ba",
            SelectionReason.SCORE,
            None,
        )


def test_kernels_that_cannot_run_are_out_with_their_reasons() -> None:
    result = ranked(AB.register(kernel("c", ONLY_INT8)), request(c=1))
    assert order(result) == "ab"
    assert [
        (one.kernel_id, [reason.constraint for reason in one.reasons]) for one in result.excluded
    ] == [("c", [Constraint.DTYPE])]


def test_nothing_eligible_is_an_answer_of_its_own() -> None:
    only = rank(registry(kernel("c", ONLY_INT8)), request(), History(), EXPLOIT)
    none = rank(Registry(), request(), History(), EXPLOIT)
    assert isinstance(only, NothingEligible)
    assert [one.kernel_id for one in only.excluded] == ["c"]
    assert none == NothingEligible(())


def test_a_request_without_a_name_or_a_call_is_refused() -> None:
    with pytest.raises(InvalidValue, match="workload"):
        evolve(request(), workload="")
    with pytest.raises(InvalidValue, match="expected_calls"):
        evolve(request(), expected_calls=0)
