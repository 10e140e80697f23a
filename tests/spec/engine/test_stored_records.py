"""S5: a record of another time or process is checked here before it is trusted."""

from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve

from spec import (
    Decision,
    Failure,
    FailureKind,
    Invalidated,
    LoadRecord,
    Measure,
    Mode,
    Policy,
    Record,
    RecordUnreadable,
    RemoveRecord,
    SaveRecord,
    Scope,
    Source,
    StoreFailed,
    Validate,
)
from tests.spec.engine.scenario import REFERENCE, SIMPLE, THREE, Scenario, failure, problem

CACHE_ONLY = evolve(SIMPLE, mode=Mode.CACHE_ONLY)


def tuned(policy: Policy = SIMPLE) -> Scenario:
    """A new process beside a store that holds one decision."""
    scenario = Scenario(policy)
    assert scenario.decide().name == "fast"
    assert len(scenario.store) == 1
    scenario.new_process()
    scenario.trace.clear()
    return scenario


def only(scenario: Scenario) -> Record:
    (record,) = scenario.store.values()
    return record


def test_a_stored_decision_is_served_after_one_validation_and_no_measurement() -> None:
    scenario = tuned()
    decision = scenario.decide()
    assert (decision.name, decision.source, decision.verified) == ("fast", Source.STORED, True)
    assert [type(effect).__name__ for effect in scenario.trace] == [
        "LoadRecord",
        "Validate",
        "Answer",
    ]
    assert scenario.decide().source is Source.MEMORY


def test_cache_only_validates_too_and_never_measures() -> None:
    scenario = tuned()
    scenario.policy = CACHE_ONLY
    scenario.new_process()
    assert scenario.decide().source is Source.STORED
    assert any(isinstance(effect, Validate) for effect in scenario.trace)
    missing = scenario.decide(problem("attention"))
    assert (missing.name, missing.source) == ("reference", Source.CACHE_MISS)
    assert scenario.measured_names() == []


@pytest.mark.parametrize(
    "kind", [FailureKind.REJECTED, FailureKind.CRASHED, FailureKind.UNSUPPORTED]
)
def test_a_stored_winner_that_fails_here_is_removed_and_not_tried_again(kind: FailureKind) -> None:
    scenario = tuned()
    scenario.check_failures["fast"] = failure(kind)
    decision = scenario.decide()
    assert (decision.name, decision.source) == ("reference", Source.TUNED)
    assert RemoveRecord(decision.key) in scenario.trace
    assert "fast" not in scenario.measured_names()
    assert "slow" in scenario.measured_names(), "the others get their turn"


def test_a_stored_winner_that_fails_for_a_passing_reason_comes_back_later() -> None:
    scenario = tuned()
    scenario.check_failures["fast"] = failure(FailureKind.TRANSIENT, "out-of-memory")
    assert scenario.decide().name == "reference"
    assert not only(scenario).complete
    scenario.check_failures.clear()
    scenario.wait(59)
    assert scenario.decide().name == "reference"
    scenario.wait(2)
    assert scenario.decide().name == "fast"


def test_a_device_failure_while_confirming_quarantines_and_keeps_the_record() -> None:
    scenario = tuned()
    scenario.check_failures["fast"] = failure(FailureKind.DEVICE)
    answer = scenario.ask()
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.DEVICE
    assert len(scenario.store) == 1
    again = scenario.ask()
    assert isinstance(again, Failure)
    assert again.kind is FailureKind.QUARANTINED


def test_a_stored_winner_that_cannot_be_verified_is_not_served_where_it_must_be() -> None:
    scenario = tuned()
    scenario.unverifiable.add("fast")
    decision = scenario.decide()
    assert decision.name == "reference"
    assert RemoveRecord(decision.key) in scenario.trace


def test_a_stored_winner_that_cannot_be_verified_is_served_where_that_is_waived() -> None:
    scenario = tuned(evolve(SIMPLE, require_validation=False))
    scenario.unverifiable.add("fast")
    decision = scenario.decide()
    assert (decision.name, decision.source, decision.verified) == ("fast", Source.STORED, False)


@pytest.mark.parametrize(
    ("change", "is_warned"),
    [
        ({"scope": Scope.PIPELINE}, True),
        ({"key": "0" * 64}, True),
        ({"reference": "another"}, True),
        ({"ratio": Fraction(1)}, True),
        ({"ratio": Fraction(99, 100)}, True),
        ({"blocks": 0}, True),
        ({"winner": "gone"}, False),
        ({"verified": False}, False),
        ({"created_s": 1_700_000_000 - 600}, False),
        ({"created_s": 1_700_000_000 + 301}, True),
        ({"complete": False, "created_s": 1_700_000_000 - 60}, False),
    ],
)
def test_a_record_that_does_not_fit_is_a_miss_and_is_not_removed(
    change: dict[str, Any], is_warned: bool
) -> None:
    scenario = tuned(SIMPLE)
    ((key, record),) = scenario.store.items()
    scenario.store[key] = evolve(record, **change)
    scenario.policy = CACHE_ONLY
    scenario.new_process()
    assert scenario.decide().source is Source.CACHE_MISS
    assert not any(isinstance(effect, RemoveRecord) for effect in scenario.trace)
    assert scenario.state.statistics.store_warnings == is_warned


@pytest.mark.parametrize("age_s", [0, 599, -300])
def test_a_record_at_the_edge_of_its_time_is_a_hit(age_s: int) -> None:
    scenario = tuned()
    ((key, record),) = scenario.store.items()
    scenario.store[key] = evolve(record, created_s=1_700_000_000 - age_s)
    assert scenario.decide().source is Source.STORED


def test_a_stored_decision_keeps_its_age_in_memory() -> None:
    scenario = tuned()
    scenario.wait(590)
    assert scenario.decide().source is Source.STORED
    scenario.wait(9)
    assert scenario.decide().source is Source.MEMORY
    scenario.wait(2)
    assert scenario.decide().source is Source.TUNED


def test_an_unreadable_record_is_a_miss_with_a_warning() -> None:
    scenario = Scenario(CACHE_ONLY)
    number = scenario.begin()
    scenario.apply(RecordUnreadable(number, scenario.now(), "truncated"))
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.source is Source.CACHE_MISS
    assert scenario.state.statistics.store_warnings == 1


def test_a_failed_store_operation_costs_a_warning_and_nothing_else() -> None:
    scenario = Scenario()
    scenario.decide()
    scenario.apply(StoreFailed(scenario.now(), "0" * 64, "disk full"))
    assert scenario.state.statistics.store_warnings == 1
    assert scenario.decide().source is Source.MEMORY


def test_a_problem_that_is_not_persistent_never_meets_the_store() -> None:
    scenario = Scenario()
    assert scenario.decide(problem(persistent=False)).source is Source.TUNED
    assert not any(isinstance(effect, LoadRecord | SaveRecord) for effect in scenario.trace)
    cache_only = Scenario(CACHE_ONLY)
    assert cache_only.decide(problem(persistent=False)).source is Source.CACHE_MISS


def test_a_winner_banned_while_it_is_being_validated_is_not_served() -> None:

    scenario = tuned()
    number = scenario.begin()
    scenario.go_on(number, 1)
    key = only(scenario).key
    scenario.apply(Invalidated(scenario.now(), key, "fast", "reference", True, "drifted"))
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.name == "reference"


def test_a_record_whose_time_runs_out_while_it_is_validated_is_not_served() -> None:
    scenario = tuned()
    scenario.wait(599)
    number = scenario.begin()
    scenario.go_on(number, 1)
    scenario.wait(1)
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.source is Source.TUNED


def test_a_decision_verified_on_synthetic_feeds_is_verified_again_before_it_serves() -> None:
    scenario = Scenario(synthetic=True)
    first = scenario.decide()
    assert (first.name, first.source) == ("fast", Source.TUNED)
    assert "synthetic" in first.reason
    assert only(scenario).provisional
    scenario.synthetic = False
    scenario.trace.clear()
    second = scenario.decide()
    assert (second.name, second.source, second.reason) == ("fast", Source.STORED, "")
    assert sum(isinstance(effect, Validate) for effect in scenario.trace) == 1
    assert scenario.decide().source is Source.MEMORY


def test_a_decision_refuted_on_real_feeds_is_removed_from_the_store() -> None:
    scenario = Scenario(synthetic=True)
    key = scenario.decide().key
    scenario.check_failures["fast"] = failure(FailureKind.REJECTED, "differs")
    assert scenario.decide().name == "reference"
    assert RemoveRecord(key) in scenario.trace


def test_a_stored_reference_is_confirmed_like_any_winner() -> None:
    slow = (REFERENCE, THREE[2])
    scenario = Scenario()
    assert scenario.decide(None, slow).name == "reference"
    scenario.new_process()
    scenario.trace.clear()
    decision = scenario.decide(None, slow)
    assert (decision.name, decision.source) == ("reference", Source.STORED)
    assert not any(isinstance(effect, Measure) for effect in scenario.trace)
