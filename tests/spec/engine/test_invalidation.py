"""S9 and S10: decisions taken back by the shell, or by what comparisons show."""

import pytest
from attrs import evolve

from spec import (
    Compared,
    Decision,
    FailureKind,
    IncidentPolicy,
    Invalidated,
    InvalidValue,
    RemoveRecord,
    Source,
    WindowMedian,
    step,
)
from tests.spec.engine.scenario import (
    REFERENCE,
    SECOND_NS,
    SIMPLE,
    SLOW,
    Scenario,
    failure,
    problem,
)

WATCHED = evolve(
    SIMPLE,
    regression=WindowMedian(pairs=3),
    incidents=IncidentPolicy(recurrence_ns=100 * SECOND_NS, ban_ns=50 * SECOND_NS),
)


def take_back(
    scenario: Scenario, decision: Decision, *, ban: bool, reference: str = "reference"
) -> None:
    scenario.apply(
        Invalidated(scenario.now(), decision.key, decision.name, reference, ban, "drifted")
    )


def compare(scenario: Scenario, decision: Decision, selected_ns: int, times: int = 1) -> None:
    for _ in range(times):
        scenario.apply(
            Compared(
                scenario.now(), decision.key, decision.name, "reference", 100, selected_ns, True
            )
        )


def test_an_invalidated_decision_leaves_memory_and_store_and_may_come_back() -> None:
    scenario = Scenario()
    decision = scenario.decide()
    take_back(scenario, decision, ban=False)
    assert scenario.trace[-1] == RemoveRecord(decision.key)
    assert not scenario.store
    again = scenario.decide()
    assert (again.name, again.source) == ("fast", Source.TUNED)


def test_a_ban_outlives_the_record() -> None:
    scenario = Scenario()
    decision = scenario.decide()
    take_back(scenario, decision, ban=True)
    scenario.wait(10**7)
    assert scenario.decide().name == "reference"
    take_back(scenario, decision, ban=False)
    assert scenario.decide().name == "reference", "taking back once more lifts no ban"


def test_a_failure_that_passes_does_not_end_a_ban() -> None:
    scenario = Scenario()
    number = scenario.begin()
    scenario.go_on_until_measuring(number, "fast")
    key = scenario.state.searches[number].key.digest
    scenario.apply(Invalidated(scenario.now(), key, "fast", "reference", True, "drifted"))
    scenario.run_failures["fast"] = failure(FailureKind.TRANSIENT)
    scenario.go_on(number)
    scenario.run_failures.clear()
    scenario.wait(61)
    again = scenario.decide()
    assert again.source is Source.TUNED, "pointless unless it is looked at again"
    assert again.name == "reference"


def test_a_lasting_failure_replaces_one_that_passes() -> None:
    scenario = Scenario(run_failures={"fast": failure(FailureKind.TRANSIENT)})
    key = scenario.decide().key
    scenario.apply(Invalidated(scenario.now(), key, "fast", "reference", True, "drifted"))
    scenario.run_failures.clear()
    scenario.wait(61)
    assert scenario.decide().name == "reference"


def test_a_ban_is_for_one_key() -> None:
    scenario = Scenario()
    take_back(scenario, scenario.decide(), ban=True)
    assert scenario.decide().name == "reference"
    assert scenario.decide(problem("attention")).name == "fast"


def test_a_banned_candidate_is_not_served_from_a_store_that_still_has_it() -> None:
    scenario = Scenario()
    decision = scenario.decide()
    stored = dict(scenario.store)
    take_back(scenario, decision, ban=True)
    scenario.store.update(stored)
    again = scenario.decide()
    assert (again.name, again.source) == ("reference", Source.TUNED)


def test_the_reference_cannot_be_banned() -> None:
    scenario = Scenario()
    decision = scenario.decide(None, (REFERENCE, SLOW))
    assert decision.name == "reference"
    take_back(scenario, decision, ban=True)
    assert not scenario.state.entry(decision.key).exclusions
    assert scenario.decide(None, (REFERENCE, SLOW)).source is Source.TUNED


def test_the_reference_cannot_be_banned_by_naming_another() -> None:
    scenario = Scenario()
    decision = scenario.decide(None, (REFERENCE, SLOW))
    take_back(scenario, decision, ban=True, reference="slow")
    assert not scenario.state.entry(decision.key).exclusions
    take_back(scenario, decision, ban=True, reference="slow")
    assert scenario.decide(None, (REFERENCE, SLOW)).name == "reference"
    again = scenario.decide(None, (REFERENCE, SLOW))
    assert (again.name, again.source) == ("reference", Source.MEMORY), "served in spite of it"


def test_invalidating_ends_a_bypass() -> None:
    scenario = Scenario(speeds_ns={"reference": 0, "fast": 1, "slow": 1})
    decision = scenario.decide()
    assert decision.source is Source.BYPASSED
    scenario.speeds_ns["reference"] = 100
    take_back(scenario, decision, ban=True)
    assert scenario.decide().source is Source.TUNED


def test_invalidating_a_key_that_is_not_held_takes_no_room() -> None:
    scenario = Scenario()
    decision = scenario.decide()
    scenario.new_process()
    take_back(scenario, decision, ban=False)
    assert not scenario.state.entries
    assert scenario.state.statistics.invalidations == 1


def test_a_request_under_way_is_not_run_again() -> None:
    scenario = Scenario()
    decision = scenario.decide()
    scenario.wait(601)
    number = scenario.begin()
    before = dict(scenario.outstanding)
    take_back(scenario, decision, ban=True)
    assert scenario.outstanding == before
    scenario.go_on(number)
    assert number in scenario.answers


def test_comparisons_that_hold_change_nothing() -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide()
    compare(scenario, decision, 90, times=20)
    assert scenario.decide().source is Source.MEMORY
    history = scenario.state.entry(decision.key).history
    assert history is not None
    assert len(history.ratios) == 3


def test_a_degraded_decision_is_demoted_first_and_banned_when_it_recurs() -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide()
    compare(scenario, decision, 120, times=2)
    assert scenario.decide().source is Source.MEMORY, "two pairs are no window"
    compare(scenario, decision, 120)
    assert scenario.trace[-1] == RemoveRecord(decision.key)
    again = scenario.decide()
    assert (again.name, again.source) == ("fast", Source.TUNED)
    compare(scenario, again, 120, times=3)
    assert scenario.decide().name == "reference"


def test_a_ban_for_regression_ends() -> None:
    scenario = Scenario(WATCHED)
    for _ in range(2):
        compare(scenario, scenario.decide(), 120, times=3)
    assert scenario.decide().name == "reference"
    scenario.wait(61)
    assert scenario.decide().name == "fast"


def test_a_degradation_long_after_the_last_is_no_recurrence() -> None:
    scenario = Scenario(WATCHED)
    compare(scenario, scenario.decide(), 120, times=3)
    scenario.wait(101)
    compare(scenario, scenario.decide(), 120, times=3)
    assert scenario.decide().name == "fast"


def test_a_new_decision_starts_a_new_history() -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide()
    compare(scenario, decision, 120, times=2)
    scenario.wait(601)
    again = scenario.decide()
    assert again.source is Source.TUNED
    compare(scenario, again, 120)
    assert scenario.decide().source is Source.MEMORY


def test_comparisons_of_another_plan_than_the_winner_are_ignored() -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide()
    compare(scenario, evolve(decision, name="slow"), 120, times=9)
    compare(scenario, evolve(decision, key="0" * 64), 120, times=9)
    assert scenario.decide().source is Source.MEMORY
    assert scenario.state.statistics.ignored_comparisons == 18


def test_comparing_the_reference_with_itself_says_nothing() -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide(None, (REFERENCE, SLOW))
    compare(scenario, decision, 500, times=9)
    assert scenario.decide(None, (REFERENCE, SLOW)).source is Source.MEMORY


@pytest.mark.parametrize(
    ("reference_ns", "selected_ns", "checked"), [(0, 5, True), (5, 0, True), (5, 5, False)]
)
def test_a_comparison_without_positive_times_or_checked_outputs_is_refused(
    reference_ns: int, selected_ns: int, checked: bool
) -> None:
    scenario = Scenario(WATCHED)
    decision = scenario.decide()
    event = Compared(
        scenario.now(),
        decision.key,
        decision.name,
        "reference",
        reference_ns,
        selected_ns,
        checked,
    )
    before = scenario.state
    with pytest.raises(InvalidValue, match="S10"):
        step(scenario.state, event)
    assert scenario.state == before
