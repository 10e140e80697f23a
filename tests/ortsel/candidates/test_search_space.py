"""The size and the order of a search: what is left out, by which rule, and what comes first."""

from collections.abc import Iterator
from typing import Any

import pytest
from attrs import evolve

from ortsel.candidates import (
    REFERENCE,
    CandidateFacts,
    LeftOut,
    ModelTraits,
    candidate_space,
    generate,
    generation,
    offered,
    search_space,
)
from ortsel.candidates.openvino import OPENVINO
from ortsel.explain import Explanation, WorkloadExplanation
from ortsel.plan import Plan, Provider, SessionSettings
from spec.ranking import Failed, History, Succeeded
from spec.report import CandidateReport, Outcome

CPU = "CPUExecutionProvider"
FACTS = CandidateFacts(8, 4, (OPENVINO, CPU), has_onnxscript=True)
PLAIN = Plan(REFERENCE)
VISION = evolve(FACTS, model=ModelTraits(frozenset({"Conv", "Relu"})))


def names(facts: CandidateFacts) -> list[str]:
    return [plan.name for plan in generate(PLAIN, facts)]


def test_every_candidate_is_either_tried_or_left_out_by_a_rule() -> None:
    space = search_space(PLAIN, VISION)
    every = list(offered(PLAIN, VISION))
    assert space.generated == len(every)
    assert set(space.left_out) == {one for one in every if isinstance(one, LeftOut)}
    assert sum(count for _, count in space.left_out_by_rule()) == len(space.left_out)
    assert space.left_out
    assert all(one.rule and one.reason for one in space.left_out)


def left_out(reference: Plan, facts: CandidateFacts) -> dict[str, str]:
    return {one.name: one.rule for one in search_space(reference, facts).left_out}


def test_each_rule_names_what_it_left_out() -> None:
    assert left_out(PLAIN, VISION)["cpu:without=MatMulScaleFusion"] == "no-gain"
    assert left_out(PLAIN, VISION)["cpu:level=all"] == "same-as-reference"
    gpu = Plan(REFERENCE, (Provider("CUDAExecutionProvider"), Provider(CPU)))
    assert left_out(gpu, VISION)["openvino"] == "users-choice"
    shared = SessionSettings((("use_per_session_threads", False),))
    assert left_out(evolve(PLAIN, settings=shared), VISION)["cpu:threads"] == "shared-threads"
    cuda = evolve(VISION, providers=("CUDAExecutionProvider", CPU))
    assert left_out(PLAIN, cuda)["cuda"] == "no-device"
    assert "cuda" not in left_out(PLAIN, VISION)


def test_the_same_plan_in_other_words_is_left_out_with_the_name_of_the_first() -> None:
    one = Plan("mine:one", settings=SessionSettings((("intra_op_num_threads", 1),)))
    space = candidate_space(PLAIN, FACTS, [one, evolve(one, name="mine:two")], {})
    assert [plan.name for plan in space.plans] == [REFERENCE, "mine:one"]
    [again] = space.left_out
    assert (again.name, again.rule) == ("mine:two", "same-plan")
    assert "mine:one" in again.reason


def test_a_broken_package_is_among_what_was_left_out() -> None:
    def broken() -> Any:
        raise ImportError("gone")

    space = candidate_space(PLAIN, FACTS, (), {"theirs": broken})
    assert [one.rule for one in space.left_out] == ["broken-source"]


def test_a_family_is_not_asked_before_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def first(reference: Plan, _facts: CandidateFacts) -> Iterator[Plan]:
        asked.append("first")
        yield evolve(reference, name="a", variant="a")

    def second(reference: Plan, _facts: CandidateFacts) -> Iterator[Plan]:
        asked.append("second")
        yield evolve(reference, name="b", variant="b")

    monkeypatch.setattr(generation, "FAMILIES", (first, second))
    stream = offered(PLAIN, FACTS)
    assert asked == []
    assert next(stream) == Plan("a", variant="a")
    assert asked == ["first"]
    assert next(stream) == Plan("b", variant="b")


def test_the_model_decides_what_is_likely_to_win() -> None:
    recurrent = evolve(FACTS, model=ModelTraits(frozenset({"LSTM", "MatMul"})))
    products = evolve(FACTS, model=ModelTraits(frozenset({"MatMul", "Mul", "Softmax"})))
    assert names(VISION)[1] == "openvino:latency"
    assert names(recurrent)[1] == "openvino:latency"
    assert names(products).index("openvino:latency") > names(products).index(
        "cpu:without=MatMulScaleFusion"
    )


def test_what_was_measured_replaces_the_rule_of_thumb_and_failures_move_back() -> None:
    history = History()
    for _ in range(4):
        history = history.record("any", "cpu:level=basic", Succeeded(100), 0)
        history = history.record("any", "openvino:latency", Failed.FAILED, 0)
    order = [plan.name for plan in search_space(PLAIN, VISION, history).plans]
    assert names(VISION).index("openvino:latency") < names(VISION).index("cpu:level=basic")
    assert order[:2] == [REFERENCE, "cpu:level=basic"]
    assert order.index("openvino:latency") > names(VISION).index("openvino:latency")
    assert sorted(order) == sorted(names(VISION))


def test_the_order_is_the_same_each_time() -> None:
    assert names(FACTS) == names(FACTS)


def test_an_explanation_counts_what_was_generated_left_out_measured_and_verified() -> None:
    space = candidate_space(PLAIN, VISION, None, {})
    reports = (
        CandidateReport(REFERENCE, Outcome.REFERENCE),
        CandidateReport("cpu:threads=1", Outcome.NOT_FASTER, blocks=5, verified=True),
        CandidateReport("cpu:level=basic", Outcome.FAILED, reason="different"),
    )
    explained = WorkloadExplanation(
        "x",
        REFERENCE,
        "tuned",
        verified=True,
        ratio=None,
        reason="none faster",
        candidates=reports,
        changes=tuple((plan.name, plan.notes) for plan in space.plans),
        left_out=space.left_out,
    )
    assert explained.counts() == {
        "generated": space.generated,
        "left_out": len(space.left_out),
        "measured": 1,
        "verified": 1,
    }
    printed = str(Explanation((explained,)))
    [line] = [one for one in printed.splitlines() if "candidates:" in one]
    assert f"{space.generated} generated, {len(space.left_out)} left out (" in line
    assert "1 no-gain" in line
    assert "1 measured, 1 verified" in line
    rows = Explanation((explained,)).left_out_rows()
    assert [row["plan"] for row in rows] == [one.name for one in space.left_out]


def test_how_memory_is_allocated_is_varied_where_that_can_matter() -> None:
    dynamic = evolve(FACTS, model=ModelTraits(dynamic_shapes=True))
    fixed = evolve(FACTS, model=ModelTraits(dynamic_shapes=False))
    assert {"cpu:arena=off", "cpu:mem-pattern=off", "cpu:block-base=4"} <= set(names(dynamic))
    assert left_out(PLAIN, fixed)["cpu:mem-pattern=off"] == "no-gain"
    off = SessionSettings((("enable_cpu_mem_arena", False), ("enable_mem_pattern", False)))
    rules = left_out(evolve(PLAIN, settings=off), dynamic)
    assert rules["cpu:arena=off"] == rules["cpu:mem-pattern=off"] == "same-as-reference"
    chosen = SessionSettings(config=(("session.dynamic_block_base", "8"),))
    assert left_out(evolve(PLAIN, settings=chosen), dynamic)["cpu:block-base=4"] == "users-choice"
    alone = evolve(PLAIN, settings=SessionSettings((("intra_op_num_threads", 1),)))
    assert left_out(alone, dynamic)["cpu:block-base=4"] == "no-gain"
