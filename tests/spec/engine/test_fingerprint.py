"""S12: what a pipeline rests on."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec import (
    Answer,
    Compared,
    Decision,
    FailureKind,
    Invalidated,
    Requested,
    Scope,
    Source,
    WindowMedian,
    cache_key,
    lower_level_fingerprint,
    step,
)
from tests.spec.engine.scenario import (
    FAST,
    REFERENCE,
    SIMPLE,
    SLOW,
    THREE,
    Scenario,
    failure,
    problem,
)

LOWER = (
    problem("softmax"),
    problem("softmax", device="gpu"),
    problem("attention", scope=Scope.FUSED_GRAPH),
)
"""Two operators of one kind on two devices, and a fused graph."""


def tuned() -> Scenario:
    scenario = Scenario(evolve(SIMPLE, capacity=4))
    scenario.decide(problem("softmax"))
    scenario.decide(problem("attention", scope=Scope.FUSED_GRAPH))
    return scenario


def fingerprint(scenario: Scenario) -> str:
    return lower_level_fingerprint(scenario.state, scenario.now())


def pipeline_key(scenario: Scenario) -> str:
    """Key of a pipeline that is asked for now."""
    asked = problem("model", scope=Scope.PIPELINE, lower_level=fingerprint(scenario))
    return cache_key(asked, THREE, 0, scenario.policy).digest


def served_now(scenario: Scenario) -> dict[str, str]:
    """What each lower-level question is answered with, where nobody may search for an answer."""
    served = {}
    for number, asked in enumerate(LOWER):
        request = Requested(10_000 + number, scenario.now(), asked, THREE, 0, nested=True)
        (answer,) = step(scenario.state, request).effects
        assert isinstance(answer, Answer)
        if isinstance(answer.result, Decision) and answer.result.source is not Source.NESTED:
            served[answer.result.key] = answer.result.name
    return served


def add_an_operator(scenario: Scenario) -> None:
    scenario.decide(problem("layer-norm"))


def add_another_device(scenario: Scenario) -> None:
    scenario.decide(problem("softmax", device="gpu"))


def change_a_winner(scenario: Scenario) -> None:
    key = scenario.decide(problem("softmax")).key
    scenario.apply(Invalidated(scenario.now(), key, "fast", "reference", True, "drifted"))
    assert scenario.decide(problem("softmax")).name == "reference"


def take_a_winner_back(scenario: Scenario) -> None:
    key = scenario.decide(problem("softmax")).key
    scenario.apply(Invalidated(scenario.now(), key, "fast", "reference", False, "drifted"))


def bypass_an_operator(scenario: Scenario) -> None:
    scenario.unverifiable.add("reference")
    assert scenario.decide(problem("layer-norm")).source is Source.BYPASSED


def grow_old(scenario: Scenario) -> None:
    scenario.wait(601)


def add_a_fused_graph(scenario: Scenario) -> None:
    scenario.decide(problem("layer-norm", scope=Scope.FUSED_GRAPH))


def find_one_slower_than_recorded(scenario: Scenario) -> None:
    key = scenario.decide(problem("softmax")).key
    for _ in range(15):
        scenario.apply(Compared(scenario.now(), key, "fast", "reference", 100, 200, True))


def push_one_out(scenario: Scenario) -> None:
    for number in range(scenario.policy.capacity - 1):
        scenario.decide(problem(f"pipeline {number}", scope=Scope.PIPELINE))


def retune_with_the_winner_out_of_memory(scenario: Scenario) -> None:
    take_a_winner_back(scenario)
    scenario.run_failures["fast"] = failure(FailureKind.TRANSIENT, "out-of-memory")
    assert scenario.decide(problem("softmax")).name == "reference"


@pytest.mark.parametrize(
    "change",
    [
        add_an_operator,
        add_a_fused_graph,
        add_another_device,
        change_a_winner,
        take_a_winner_back,
        find_one_slower_than_recorded,
        retune_with_the_winner_out_of_memory,
        bypass_an_operator,
        push_one_out,
        grow_old,
    ],
)
def test_every_lower_level_change_that_can_matter_changes_the_key_of_a_pipeline(
    change: Callable[[Scenario], None],
) -> None:
    scenario = tuned()
    before, key = fingerprint(scenario), pipeline_key(scenario)
    change(scenario)
    assert fingerprint(scenario) != before
    assert pipeline_key(scenario) != key


def key_of(which: int) -> str:
    return cache_key(LOWER[which], THREE, 0, SIMPLE).digest


def take_back(scenario: Scenario, which: int, *, ban: bool) -> None:
    event = Invalidated(scenario.now(), key_of(which), "fast", "reference", ban, "drifted")
    scenario.apply(event)


def find_slow(scenario: Scenario, which: int) -> None:
    scenario.apply(Compared(scenario.now(), key_of(which), "fast", "reference", 100, 200, True))


MOVES: dict[str, Callable[[Scenario, int], object]] = {
    "ask": lambda scenario, which: scenario.ask(LOWER[which]),
    "ask the next": lambda scenario, which: scenario.ask(LOWER[which - 1]),
    "ban": lambda scenario, which: take_back(scenario, which, ban=True),
    "take back": lambda scenario, which: take_back(scenario, which, ban=False),
    "find it slow": find_slow,
    "doubt the reference": lambda scenario, _: scenario.unverifiable.add("reference"),
    "trust the reference": lambda scenario, _: scenario.unverifiable.clear(),
    "make feeds up": lambda scenario, _: setattr(scenario, "synthetic", True),
    "use real feeds": lambda scenario, _: setattr(scenario, "synthetic", False),
    "run out of memory": lambda scenario, _: scenario.run_failures.update(
        fast=failure(FailureKind.TRANSIENT)
    ),
    "have memory": lambda scenario, _: scenario.run_failures.clear(),
    "wait": lambda scenario, which: scenario.wait((1, 61, 601)[which]),
}
"""What may happen between two looks, to one of the three questions."""


@given(
    st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 2)), max_size=12),
    st.sampled_from((2, 1024)),
)
def test_the_key_of_a_pipeline_changes_exactly_when_what_is_served_does(
    moves: list[tuple[str, int]], capacity: int
) -> None:
    policy = evolve(SIMPLE, capacity=capacity, regression=WindowMedian(pairs=1))
    scenario = Scenario(policy)
    looks = [(served_now(scenario), pipeline_key(scenario))]
    for move, which in moves:
        MOVES[move](scenario, which)
        looks.append((served_now(scenario), pipeline_key(scenario)))
    for (served, key), (served_next, key_next) in pairwise(looks):
        assert (key == key_next) == (served == served_next)


def test_a_pipeline_with_another_fingerprint_is_another_question() -> None:
    scenario = tuned()

    def pipeline() -> Source:
        lower = fingerprint(scenario)
        asked = problem("model", scope=Scope.PIPELINE, lower_level=lower)
        return scenario.decide(asked).source

    assert pipeline() is Source.TUNED
    assert pipeline() is Source.MEMORY
    change_a_winner(scenario)
    assert pipeline() is Source.TUNED


def test_pipelines_hits_and_reports_do_not_change_the_fingerprint() -> None:
    scenario = tuned()
    before = fingerprint(scenario)
    scenario.decide(problem("softmax"))
    scenario.decide(problem("model", scope=Scope.PIPELINE))
    scenario.wait(10)
    assert fingerprint(scenario) == before


def test_the_order_in_which_decisions_were_made_does_not_matter() -> None:
    names = ("a", "b", "c", "d", "e")
    prints = set()
    for order in (names, names[::-1]):
        scenario = Scenario()
        for name in order:
            scenario.decide(problem(name))
        prints.add(fingerprint(scenario))
    assert len(prints) == 1


def test_a_bypassed_key_counts_as_its_reference() -> None:
    measured, bypassed = Scenario(), Scenario(unverifiable={"reference"})
    first = measured.decide(problem(), (REFERENCE, SLOW))
    second = bypassed.decide(problem(), (REFERENCE, SLOW))
    assert first.key == second.key
    assert (first.source, second.source) == (Source.TUNED, Source.BYPASSED)
    assert fingerprint(measured) == fingerprint(bypassed), "the same plan serves"


def test_a_decision_that_waits_for_real_feeds_does_not_count_yet() -> None:
    scenario = Scenario(evolve(SIMPLE), synthetic=True)
    empty = fingerprint(scenario)
    scenario.decide(problem(), (REFERENCE, FAST))
    assert fingerprint(scenario) == empty
    scenario.synthetic = False
    scenario.decide(problem(), (REFERENCE, FAST))
    assert fingerprint(scenario) != empty
