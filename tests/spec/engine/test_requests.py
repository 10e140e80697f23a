"""S1 to S4: which requests are let in, and which are answered at once."""

import pytest
from attrs import evolve

from spec import (
    Candidate,
    Decision,
    Failure,
    FailureKind,
    Mode,
    Policy,
    Problem,
    ProtocolError,
    RecordAbsent,
    Requested,
    Scope,
    Source,
    step,
)
from tests.spec.engine.scenario import FAST, REFERENCE, SIMPLE, THREE, Scenario, failure, problem

GOOD = problem()
MANY = tuple(Candidate(f"plan-{number}") for number in range(4097))
BROKEN: tuple[tuple[str, Problem, tuple[Candidate, ...], int], ...] = (
    ("no-candidates", GOOD, (), 0),
    ("too-many-candidates", GOOD, MANY, 0),
    ("reference-index", GOOD, THREE, 3),
    ("reference-index", GOOD, THREE, -1),
    ("empty-operation", evolve(GOOD, operation=""), THREE, 0),
    ("empty-environment", evolve(GOOD, environment={}), THREE, 0),
    ("empty-workload", evolve(GOOD, workload=""), THREE, 0),
    ("empty-workload", evolve(GOOD, workload=None), THREE, 0),
    ("empty-name", GOOD, (REFERENCE, Candidate("")), 0),
    ("name-too-long", GOOD, (REFERENCE, Candidate("é" * 2049)), 0),
    ("duplicate-name", GOOD, (REFERENCE, FAST, FAST), 0),
    ("reference-unfit", GOOD, (Candidate("reference", ineligible="no AVX2"), FAST), 0),
    ("key-too-long", evolve(GOOD, model="x" * (384 * 1024)), THREE, 0),
    ("not-canonical", evolve(GOOD, options={"mantissa": 2**53}), THREE, 0),
    ("not-canonical", evolve(GOOD, options="\ud800"), THREE, 0),
    ("not-canonical", Problem(Scope.OPERATOR, "softmax", b"", {"device": "cpu"}), THREE, 0),
)


@pytest.mark.parametrize(("code", "asked", "candidates", "reference"), BROKEN)
def test_a_request_that_breaks_s1_is_answered_with_the_rule_it_breaks(
    code: str, asked: Problem, candidates: tuple[Candidate, ...], reference: int
) -> None:
    scenario = Scenario()
    answer = scenario.ask(asked, candidates, reference=reference)
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.code) == (FailureKind.INVALID, code)
    assert "got" in answer.detail
    assert "need" in answer.detail
    assert not scenario.state.entries, "nothing is remembered of it"


def test_the_largest_allowed_request_is_let_in() -> None:
    scenario = Scenario(Policy(mode=Mode.CACHE_ONLY))
    assert scenario.decide(GOOD, MANY[:4096]).source is Source.CACHE_MISS
    longest = Candidate("é" * 2048)
    assert len(longest.name.encode()) == 4096
    assert scenario.decide(GOOD, (REFERENCE, longest)).source is Source.CACHE_MISS


def test_a_key_of_exactly_the_limit_is_let_in_and_one_byte_more_is_not() -> None:
    policy = Policy(mode=Mode.CACHE_ONLY)
    empty = step(
        Scenario(policy).state,
        Requested(1, Scenario().now(), evolve(GOOD, model=""), THREE, 0),
    ).state.searches[1]
    room = 384 * 1024 - len(empty.key.text.encode())
    assert isinstance(Scenario(policy).ask(evolve(GOOD, model="x" * room)), Decision)
    assert isinstance(Scenario(policy).ask(evolve(GOOD, model="x" * (room + 1))), Failure)


def test_a_reference_of_unknown_workspace_is_refused_only_under_a_limit() -> None:
    unknown = (Candidate("reference", workspace_bytes=None), FAST)
    assert isinstance(Scenario().ask(GOOD, unknown), Decision)
    limited = Scenario(evolve(SIMPLE, max_workspace_bytes=2**30)).ask(GOOD, unknown)
    assert isinstance(limited, Failure)
    assert limited.code == "reference-unfit"


def test_an_invalid_request_is_told_so_even_in_a_quarantined_environment() -> None:
    scenario = Scenario(run_failures={"fast": failure(FailureKind.DEVICE)})
    scenario.ask()
    answer = scenario.ask(GOOD, ())
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.INVALID


def test_a_quarantined_environment_fails_even_where_a_decision_is_in_memory() -> None:
    scenario = Scenario()
    assert scenario.decide().source is Source.TUNED
    scenario.run_failures["fast"] = failure(FailureKind.DEVICE)
    assert isinstance(scenario.ask(problem("attention")), Failure)
    answer = scenario.ask()
    assert isinstance(answer, Failure)
    assert answer.kind is FailureKind.QUARANTINED


def test_another_environment_is_not_quarantined() -> None:
    scenario = Scenario(run_failures={"fast": failure(FailureKind.DEVICE)})
    scenario.ask(problem(device="gpu"))
    scenario.run_failures.clear()
    assert scenario.decide(problem(device="cpu")).source is Source.TUNED


def test_a_disabled_selector_answers_with_the_reference_and_asks_for_nothing() -> None:
    scenario = Scenario(Policy(mode=Mode.DISABLED))
    decision = scenario.decide(nested=True)
    assert (decision.name, decision.source) == ("reference", Source.DISABLED)
    assert len(scenario.trace) == 1


def test_a_second_request_is_served_from_memory() -> None:
    scenario = Scenario()
    assert scenario.decide().source is Source.TUNED
    again = scenario.decide(nested=True)
    assert (again.name, again.source, again.verified) == ("fast", Source.MEMORY, True)


def test_a_memory_hit_names_the_winner_where_it_stands_in_this_request() -> None:
    scenario = Scenario()
    scenario.decide()
    turned = scenario.decide(None, THREE[::-1], reference=2)
    assert turned.source is Source.MEMORY
    assert (turned.index, turned.reference_index, turned.name) == (1, 2, "fast")


def test_a_decision_is_not_served_from_memory_once_its_time_is_over() -> None:
    scenario = Scenario()
    scenario.decide()
    scenario.store.clear()
    scenario.wait(599)
    assert scenario.decide().source is Source.MEMORY
    scenario.wait(2)
    assert scenario.decide().source is Source.TUNED


@pytest.mark.parametrize("jump_s", [-(10**9), 10**9])
def test_a_jump_of_the_wall_clock_changes_nothing_in_memory(jump_s: int) -> None:
    scenario = Scenario()
    scenario.decide()
    scenario.wall_s += jump_s
    assert scenario.decide().source is Source.MEMORY
    scenario.monotonic_ns += 601 * 10**9
    assert scenario.decide().source is not Source.MEMORY


def test_a_winner_that_became_ineligible_is_not_served() -> None:
    scenario = Scenario()
    scenario.decide()
    out = (REFERENCE, evolve(FAST, ineligible="driver too old"), THREE[2])
    decision = scenario.decide(None, out)
    assert (decision.name, decision.source) == ("reference", Source.TUNED)


def test_a_nested_request_never_begins_a_search() -> None:
    scenario = Scenario()
    decision = scenario.decide(nested=True)
    assert (decision.name, decision.source) == ("reference", Source.NESTED)
    assert not scenario.state.searches


def test_a_key_under_way_makes_the_next_request_for_it_busy() -> None:
    scenario = Scenario(evolve(SIMPLE, max_parallel=4))
    scenario.begin()
    assert scenario.decide().source is Source.BUSY


def test_an_environment_under_way_makes_another_problem_of_it_busy() -> None:
    scenario = Scenario(evolve(SIMPLE, max_parallel=4))
    scenario.begin(problem("softmax"))
    assert scenario.decide(problem("attention")).source is Source.BUSY
    assert scenario.decide(problem("attention", device="gpu")).source is Source.TUNED


def test_the_parallel_limit_makes_another_environment_busy() -> None:
    scenario = Scenario(evolve(SIMPLE, max_parallel=1))
    first = scenario.begin()
    assert scenario.decide(problem(device="gpu")).source is Source.BUSY
    scenario.go_on(first)
    assert scenario.decide(problem(device="gpu")).source is Source.TUNED


def test_a_nested_request_is_called_nested_even_where_the_lane_is_busy() -> None:
    scenario = Scenario()
    scenario.begin()
    assert scenario.decide(nested=True).source is Source.NESTED


def test_a_number_under_way_is_refused_a_second_time() -> None:
    scenario = Scenario()
    number = scenario.begin()
    before = scenario.state
    with pytest.raises(ProtocolError, match=f"Requested {number}"):
        step(scenario.state, scenario.requests[number])
    assert scenario.state == before


def test_an_outcome_of_no_request_under_way_is_refused() -> None:
    scenario = Scenario()
    with pytest.raises(ProtocolError, match="RecordAbsent of request 7"):
        step(scenario.state, RecordAbsent(7, scenario.now()))


def test_pipelines_and_operators_of_one_name_are_different_questions() -> None:
    scenario = Scenario()
    scenario.decide(problem(scope=Scope.OPERATOR))
    assert scenario.decide(problem(scope=Scope.PIPELINE)).source is Source.TUNED
