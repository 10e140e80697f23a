"""S12: what a pipeline rests on."""

from collections.abc import Callable

import pytest
from attrs import evolve

from spec import Invalidated, Scope, Source, lower_level_fingerprint
from tests.spec.engine.scenario import FAST, REFERENCE, SIMPLE, SLOW, Scenario, problem


def tuned() -> Scenario:
    scenario = Scenario()
    scenario.decide(problem("softmax"))
    scenario.decide(problem("attention", scope=Scope.FUSED_GRAPH))
    return scenario


def fingerprint(scenario: Scenario) -> str:
    return lower_level_fingerprint(scenario.state, scenario.now())


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


@pytest.mark.parametrize(
    "change",
    [
        add_an_operator,
        add_another_device,
        change_a_winner,
        take_a_winner_back,
        bypass_an_operator,
        grow_old,
    ],
)
def test_every_lower_level_change_that_can_matter_changes_the_fingerprint(
    change: Callable[[Scenario], None],
) -> None:
    scenario = tuned()
    before = fingerprint(scenario)
    change(scenario)
    assert fingerprint(scenario) != before


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
