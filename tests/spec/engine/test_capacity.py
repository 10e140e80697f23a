"""S11: memory is bounded in every dimension, and what belongs to a key leaves with it."""

import pytest
from attrs import evolve

from spec import Failure, FailureKind, Invalidated, Moment, Source, initial_state, step
from spec.engine.eviction import quarantined
from spec.engine.fifo import Fifo
from spec.engine.state import MAX_EXCLUSIONS, MAX_QUARANTINED
from tests.spec.engine.scenario import SIMPLE, Scenario, failure, problem


def test_the_first_key_in_is_the_first_out() -> None:
    scenario = Scenario(evolve(SIMPLE, capacity=2))
    keys = [scenario.decide(problem(name)).key for name in ("a", "b")]
    assert scenario.decide(problem("a")).source is Source.MEMORY, "a hit does not renew a place"
    keys.append(scenario.decide(problem("c")).key)
    assert list(scenario.state.keys) == keys[1:]
    assert scenario.state.statistics.evictions == 1
    assert scenario.decide(problem("b")).source is Source.MEMORY
    assert scenario.decide(problem("a")).source is Source.STORED


def test_an_evicted_key_loses_its_bans_too() -> None:
    scenario = Scenario(evolve(SIMPLE, capacity=1))
    banned = scenario.decide(problem("a"))
    scenario.apply(Invalidated(scenario.now(), banned.key, "fast", "reference", True, "drifted"))
    assert scenario.decide(problem("a")).name == "reference"
    scenario.decide(problem("b"))
    scenario.store.clear()
    assert scenario.decide(problem("a")).name == "fast"


def test_a_ban_keeps_the_place_of_its_key() -> None:
    scenario = Scenario(evolve(SIMPLE, capacity=2))
    first, second = (scenario.decide(problem(name)) for name in ("a", "b"))
    scenario.apply(Invalidated(scenario.now(), first.key, "fast", "reference", True, "drifted"))
    scenario.decide(problem("a"))
    assert list(scenario.state.keys) == [first.key, second.key]


def test_bypasses_count_as_keys() -> None:
    scenario = Scenario(evolve(SIMPLE, capacity=2), unverifiable={"reference"})
    for name in ("a", "b", "c"):
        assert scenario.decide(problem(name)).source is Source.BYPASSED
    assert len(scenario.state.entries) == 2


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_reports_are_kept_up_to_the_limit_newest_last(limit: int) -> None:
    scenario = Scenario(evolve(SIMPLE, reports=limit))
    for name in ("a", "b", "c", "d"):
        scenario.decide(problem(name))
    kept = [report.operation for report in scenario.state.reports]
    assert kept == ["a", "b", "c", "d"][4 - limit :]


def test_bans_of_one_key_are_bounded_and_the_oldest_leaves() -> None:
    state, now = initial_state(SIMPLE), Moment(0, 0)
    for number in range(MAX_EXCLUSIONS + 1):
        event = Invalidated(now, "key", f"plan-{number}", "reference", True, "drifted")
        state = step(state, event).state
    exclusions = state.entry("key").exclusions
    assert len(exclusions) == MAX_EXCLUSIONS
    assert "plan-0" not in exclusions
    assert "plan-1" in exclusions


def test_when_too_many_environments_failed_every_one_counts_as_quarantined() -> None:
    state = initial_state(SIMPLE)
    for number in range(MAX_QUARANTINED - 1):
        state = quarantined(state, f"lane-{number}", failure(FailureKind.DEVICE))
    assert not state.is_quarantined("healthy")
    state = quarantined(state, "one more", failure(FailureKind.DEVICE))
    assert state.is_quarantined("healthy")
    assert len(quarantined(state, "another", failure(FailureKind.DEVICE)).quarantine) == (
        MAX_QUARANTINED
    )


def test_what_happened_first_stays_the_reason_of_a_quarantine() -> None:
    state = quarantined(initial_state(SIMPLE), "lane", Failure(FailureKind.DEVICE, "first"))
    state = quarantined(state, "lane", Failure(FailureKind.DEVICE, "second"))
    assert state.quarantine["lane"].code == "first"


def test_a_queue_gives_back_what_came_first_and_keeps_the_order() -> None:
    queue = Fifo[str]()
    for name in ("a", "b", "c"):
        queue = queue.push(name)
    oldest, rest = queue.pop()
    assert oldest == "a"
    assert list(rest) == ["b", "c"]
    assert list(queue) == ["a", "b", "c"], "the queue before is unchanged"
    assert list(rest.push("d")) == ["b", "c", "d"]


def test_an_empty_queue_gives_nothing_back() -> None:
    with pytest.raises(IndexError):
        Fifo[str]().pop()
