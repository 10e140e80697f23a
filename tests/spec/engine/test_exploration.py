"""S6, S7, S8: the search, who wins it, and what failures mean."""

from fractions import Fraction

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec import (
    Abandoned,
    Candidate,
    CandidateReport,
    Decision,
    Failure,
    FailureKind,
    Invalidated,
    InvalidValue,
    Measure,
    Measured,
    MedianMad,
    Outcome,
    ProtocolError,
    Purpose,
    SaveRecord,
    Source,
    TrialFailed,
    TrialReport,
    Unverifiable,
    Validate,
    Validated,
    step,
)
from tests.spec.engine.scenario import (
    FAST,
    REFERENCE,
    SECOND_NS,
    SIMPLE,
    SLOW,
    THREE,
    Scenario,
    failure,
    problem,
)

FASTER = Candidate("faster")


def last_report(scenario: Scenario) -> TrialReport:
    return list(scenario.state.reports)[-1]


def fate(scenario: Scenario, name: str) -> CandidateReport:
    (found,) = [one for one in last_report(scenario).candidates if one.name == name]
    return found


def test_the_reference_is_warmed_checked_against_itself_and_timed_before_all() -> None:
    scenario = Scenario(evolve(SIMPLE, warmups=2))
    scenario.decide(None, (FAST, REFERENCE), reference=1)
    trials = [effect for effect in scenario.trace if isinstance(effect, Measure | Validate)]
    purposes = [one.purpose if isinstance(one, Measure) else "check" for one in trials[:4]]
    assert purposes == [Purpose.WARMUP, Purpose.WARMUP, "check", Purpose.BASELINE]
    assert {one.candidate for one in trials[:4]} == {1}
    check = trials[2]
    assert isinstance(check, Validate)
    assert check.reference == check.candidate == 1


def test_each_candidate_is_warmed_then_checked_then_measured_in_balanced_blocks() -> None:
    scenario = Scenario(evolve(SIMPLE, warmups=2))
    scenario.decide(None, (REFERENCE, FAST))
    trials = [effect for effect in scenario.trace if isinstance(effect, Measure | Validate)][4:]
    assert [type(one) for one in trials[:3]] == [Measure, Measure, Validate]
    paired = [one.candidate for one in trials[3:]]
    blocks = [paired[start : start + 4] for start in range(0, len(paired), 4)]
    assert len(blocks) == 3
    assert all(block in ([0, 1, 1, 0], [1, 0, 0, 1]) for block in blocks)


def test_another_seed_may_give_another_order_and_the_same_seed_never_does() -> None:
    def order(seed: int) -> list[int]:
        scenario = Scenario(evolve(SIMPLE, seed=seed, evidence=MedianMad(samples=9)))
        scenario.decide(None, (REFERENCE, FAST))
        return [effect.candidate for effect in scenario.trace if isinstance(effect, Measure)]

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(8)}) > 1


def test_candidates_are_tried_in_the_order_given() -> None:
    scenario = Scenario()
    scenario.decide(None, (SLOW, REFERENCE, FAST), reference=1)
    assert scenario.measured_names() == ["reference", "slow", "fast"]


def test_the_fastest_verified_candidate_wins_and_is_saved_with_its_evidence() -> None:
    scenario = Scenario()
    decision = scenario.decide(None, (*THREE, FASTER))
    assert (decision.index, decision.ratio) == (3, Fraction(2, 5))
    (record,) = scenario.store.values()
    assert (record.winner, record.reference_ns, record.winner_ns) == ("faster", 100_000, 40_000)
    assert (record.blocks, record.feeds, record.complete) == (3, 2, True)
    assert fate(scenario, "faster").outcome is Outcome.PROMOTED
    assert fate(scenario, "fast").outcome is Outcome.FASTER
    assert fate(scenario, "slow").outcome is Outcome.NOT_FASTER
    assert fate(scenario, "reference").outcome is Outcome.REFERENCE


def test_a_tie_keeps_the_one_that_came_first() -> None:
    twin = Candidate("twin")
    scenario = Scenario()
    scenario.speeds_ns["twin"] = scenario.speeds_ns["fast"]
    assert scenario.decide(None, (REFERENCE, twin, FAST)).name == "twin"
    assert (
        Scenario(speeds_ns=scenario.speeds_ns).decide(None, (REFERENCE, FAST, twin)).name == "fast"
    )


@pytest.mark.parametrize(("fast_ns", "wins"), [(97_087, True), (97_088, False), (100_000, False)])
def test_a_promotion_needs_the_minimum_speed_up_exactly(fast_ns: int, wins: bool) -> None:
    scenario = Scenario(speeds_ns={"reference": 100_000, "fast": fast_ns})
    assert (scenario.decide(None, (REFERENCE, FAST)).name == "fast") is wins


def test_an_identical_plan_is_not_promoted_even_where_no_speed_up_is_asked_for() -> None:
    policy = evolve(SIMPLE, min_speedup=Fraction(1))
    scenario = Scenario(policy, speeds_ns={"reference": 100_000, "fast": 100_000})
    assert scenario.decide(None, (REFERENCE, FAST)).name == "reference"


def test_a_noisy_candidate_is_not_promoted() -> None:
    scenario = Scenario()
    number = scenario.begin(None, (REFERENCE, FAST))
    scenario.go_on_until_measuring(number, "fast")
    latencies = iter((50_000, 10_000, 10_000, 50_000, 50_000, 90_000, 90_000))
    while number in scenario.outstanding:
        effect = scenario.outstanding[number]
        if isinstance(effect, Measure) and effect.candidate == 1:
            scenario.speeds_ns["fast"] = next(latencies)
        scenario.go_on(number, 1)
    assert fate(scenario, "fast").outcome is Outcome.NOISY
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.name == "reference"


@given(
    order=st.permutations(("reference", "fast", "slow", "faster")),
    speeds=st.permutations((40_000, 50_000, 100_000, 200_000)),
)
def test_permuting_the_candidates_never_changes_a_winner_that_is_not_tied(
    order: list[str], speeds: list[int]
) -> None:
    names = ("reference", "fast", "slow", "faster")
    speeds_ns = dict(zip(names, speeds, strict=True))
    straight = Scenario(speeds_ns=speeds_ns).decide(None, tuple(map(Candidate, names)))
    turned = Scenario(speeds_ns=speeds_ns).decide(
        None, tuple(map(Candidate, order)), reference=order.index("reference")
    )
    assert (straight.name, straight.ratio, straight.key) == (turned.name, turned.ratio, turned.key)
    assert straight.name == min(names, key=lambda name: speeds_ns[name])


def test_an_ineligible_and_an_oversized_candidate_say_why_they_are_not_tried() -> None:
    scenario = Scenario(evolve(SIMPLE, max_workspace_bytes=100))
    scenario.decide(
        None,
        (
            REFERENCE,
            Candidate("old", ineligible="needs sm_90"),
            Candidate("large", workspace_bytes=101),
            Candidate("unknown", workspace_bytes=None),
            Candidate("fast", workspace_bytes=100),
        ),
    )
    assert scenario.measured_names() == ["reference", "fast"]
    assert fate(scenario, "old").reason == "needs sm_90"
    assert "101 bytes" in fate(scenario, "large").reason
    assert "unknown" in fate(scenario, "unknown").reason


def test_the_candidate_limit_counts_the_reference_and_leaves_the_search_incomplete() -> None:
    scenario = Scenario(evolve(SIMPLE, max_candidates=2))
    assert scenario.decide(None, (REFERENCE, SLOW, FAST)).name == "reference"
    assert scenario.measured_names() == ["reference", "slow"]
    assert "limit of 2" in fate(scenario, "fast").reason
    (record,) = scenario.store.values()
    assert not record.complete
    assert scenario.decide(None, (REFERENCE, SLOW, FAST)).source is Source.MEMORY
    scenario.wait(61)
    assert scenario.decide(None, (REFERENCE, SLOW, FAST)).source is Source.TUNED


def test_a_candidate_under_way_is_cut_when_the_budget_is_over_and_promotes_nothing() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=SECOND_NS))
    number = scenario.begin(None, (REFERENCE, SLOW, FAST))
    scenario.go_on_until_measuring(number, "fast")
    scenario.go_on(number, 5)
    scenario.monotonic_ns = SECOND_NS * 2
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert (answer.name, answer.source) == ("reference", Source.TUNED)
    assert fate(scenario, "fast").outcome is Outcome.SKIPPED
    assert "budget" in fate(scenario, "fast").reason
    assert last_report(scenario).budget_exhausted
    (record,) = scenario.store.values()
    assert not record.complete


def test_a_winner_found_before_the_budget_was_over_is_kept() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=SECOND_NS))
    number = scenario.begin(None, (REFERENCE, FAST, SLOW))
    scenario.go_on_until_measuring(number, "slow")
    scenario.monotonic_ns = SECOND_NS * 2
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.name == "fast"
    assert not next(iter(scenario.store.values())).complete


def test_a_budget_that_ends_before_any_verdict_stores_no_guess_and_tries_again_later() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=1))
    first = scenario.decide()
    assert (first.name, first.source) == ("reference", Source.BYPASSED)
    assert first.reason.startswith("budget")
    assert not scenario.store
    assert scenario.decide().source is Source.BYPASSED
    scenario.wait(61)
    assert len(scenario.state.reports) == 1
    scenario.decide()
    assert len(scenario.state.reports) == 2, "searched again"


def test_the_reference_is_checked_and_timed_even_if_that_takes_the_whole_budget() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=1))
    scenario.decide()
    assert scenario.measured_names() == ["reference"]
    assert fate(scenario, "reference").outcome is Outcome.REFERENCE


def test_one_stubborn_candidate_cannot_take_the_turns_of_all_that_follow() -> None:
    stubborn, rivals = Candidate("stubborn"), [Candidate(f"rival-{at}") for at in range(4)]
    scenario = Scenario(evolve(SIMPLE, budget_ns=10 * SECOND_NS))
    scenario.speeds_ns |= {"stubborn": 90_000} | {rival.name: 200_000 for rival in rivals}
    number = scenario.begin(None, (REFERENCE, stubborn, *rivals, FAST))
    scenario.go_on_until_measuring(number, "stubborn")
    effect = scenario.outstanding[number]
    assert isinstance(effect, Measure)
    share_ns = 2 * (11 * SECOND_NS - scenario.monotonic_ns) // 6
    assert effect.deadline_ns == scenario.monotonic_ns + share_ns
    scenario.monotonic_ns = effect.deadline_ns
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.name == "fast"
    assert fate(scenario, "stubborn").outcome is Outcome.SKIPPED
    assert not next(iter(scenario.store.values())).complete, "it is looked at again"


def test_what_the_shell_cuts_at_the_deadline_keeps_its_next_chance() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=SECOND_NS))
    number = scenario.begin(None, (REFERENCE, FAST))
    scenario.go_on_until_measuring(number, "fast")
    scenario.monotonic_ns = 2 * SECOND_NS
    late = Failure(FailureKind.TRANSIENT, "timeout", "cut at the deadline")
    scenario.apply(TrialFailed(number, scenario.now(), late))
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.source is Source.BYPASSED
    assert not scenario.state.entry(answer.key).exclusions


def test_a_crash_after_the_deadline_still_excludes() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=SECOND_NS))
    number = scenario.begin(None, (REFERENCE, FAST))
    scenario.go_on_until_measuring(number, "fast")
    scenario.monotonic_ns = 2 * SECOND_NS
    scenario.apply(TrialFailed(number, scenario.now(), failure(FailureKind.CRASHED, "SIGSEGV")))
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert set(scenario.state.entry(answer.key).exclusions) == {"fast"}


def test_a_crash_after_the_deadline_of_the_only_rival_leaves_the_reference_in_memory() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=SECOND_NS))
    number = scenario.begin(None, (REFERENCE, FAST))
    scenario.go_on_until_measuring(number, "fast")
    scenario.monotonic_ns = 2 * SECOND_NS
    scenario.apply(TrialFailed(number, scenario.now(), failure(FailureKind.CRASHED, "SIGSEGV")))
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.source is Source.TUNED
    assert not scenario.store


def test_every_trial_carries_the_deadline_of_its_request() -> None:
    scenario = Scenario(evolve(SIMPLE, budget_ns=5 * SECOND_NS))
    scenario.decide()
    trials = [effect for effect in scenario.trace if isinstance(effect, Measure | Validate)]
    assert {effect.deadline_ns for effect in trials} == {6 * SECOND_NS}


def test_where_nothing_else_can_be_tried_the_reference_is_held_in_memory_only() -> None:
    scenario = Scenario()
    alone = scenario.decide(None, (REFERENCE,))
    assert (alone.source, alone.ratio, alone.verified) == (Source.TUNED, Fraction(1), True)
    assert not any(isinstance(effect, SaveRecord) for effect in scenario.trace)
    assert scenario.decide(None, (REFERENCE,)).source is Source.MEMORY


def test_a_reference_that_disagrees_with_itself_is_bypassed_for_good() -> None:
    scenario = Scenario(check_failures={"reference": failure(FailureKind.REJECTED, "differs")})
    decision = scenario.decide()
    assert decision.source is Source.BYPASSED
    assert decision.reason.startswith("reference_nondeterministic")
    assert scenario.measured_names() == ["reference"]
    scenario.wait(10**6)
    assert scenario.decide().reason == decision.reason


@pytest.mark.parametrize(
    ("kind", "comes_back"),
    [
        (FailureKind.TRANSIENT, True),
        (FailureKind.UNSUPPORTED, False),
        (FailureKind.CRASHED, False),
    ],
)
def test_a_reference_that_fails_is_bypassed_as_long_as_its_failure_lasts(
    kind: FailureKind, comes_back: bool
) -> None:
    scenario = Scenario(run_failures={"reference": failure(kind)})
    assert scenario.decide().source is Source.BYPASSED
    scenario.run_failures.clear()
    scenario.wait(59)
    assert scenario.decide().source is Source.BYPASSED
    scenario.wait(2)
    assert (scenario.decide().source is Source.TUNED) is comes_back


def test_a_reference_that_cannot_be_compared_verifies_nothing() -> None:
    scenario = Scenario(unverifiable={"reference"})
    decision = scenario.decide()
    assert decision.source is Source.BYPASSED
    assert "unverifiable" in decision.reason


def test_a_reference_that_cannot_be_compared_races_where_validation_is_waived() -> None:
    policy = evolve(SIMPLE, require_validation=False)
    scenario = Scenario(policy, unverifiable={"reference", "fast"})
    decision = scenario.decide()
    assert (decision.name, decision.verified) == ("fast", False)


def test_a_reference_that_takes_no_time_is_bypassed() -> None:
    decision = Scenario(speeds_ns={"reference": 0, "fast": 5, "slow": 5}).decide()
    assert decision.source is Source.BYPASSED
    assert "zero-duration" in decision.reason


def test_a_candidate_that_takes_no_time_fails_and_is_not_promoted() -> None:
    scenario = Scenario(speeds_ns={"reference": 100, "fast": 0, "slow": 200})
    assert scenario.decide().name == "reference"
    assert fate(scenario, "fast").outcome is Outcome.FAILED
    assert "zero-duration" in fate(scenario, "fast").reason


@pytest.mark.parametrize(
    ("kind", "comes_back"),
    [
        (FailureKind.TRANSIENT, True),
        (FailureKind.UNSUPPORTED, False),
        (FailureKind.REJECTED, False),
        (FailureKind.CRASHED, False),
    ],
)
def test_a_failed_candidate_stays_out_as_long_as_its_failure_lasts(
    kind: FailureKind, comes_back: bool
) -> None:
    scenario = Scenario(run_failures={"fast": failure(kind)})
    assert scenario.decide().name == "reference"
    assert fate(scenario, "fast").outcome is Outcome.FAILED
    assert kind.value in fate(scenario, "fast").reason
    assert next(iter(scenario.store.values())).complete is not comes_back
    scenario.run_failures.clear()
    scenario.store.clear()
    scenario.wait(601)
    assert (scenario.decide().name == "fast") is comes_back
    if not comes_back:
        assert fate(scenario, "fast").outcome is Outcome.BANNED


def test_a_candidate_that_cannot_be_compared_is_unsupported_where_it_must_be() -> None:
    scenario = Scenario(unverifiable={"fast"})
    assert scenario.decide().name == "reference"
    assert "unsupported: unverifiable" in fate(scenario, "fast").reason


def test_a_candidate_with_wrong_outputs_is_never_measured_in_pairs() -> None:
    scenario = Scenario(check_failures={"fast": failure(FailureKind.REJECTED, "differs")})
    scenario.decide(None, (REFERENCE, FAST))
    paired = [e for e in scenario.trace if isinstance(e, Measure) and e.purpose is Purpose.PAIRED]
    assert not paired


def test_a_device_failure_answers_with_it_and_ends_all_trials_of_the_device() -> None:
    scenario = Scenario(run_failures={"fast": failure(FailureKind.DEVICE, "illegal-access")})
    answer = scenario.ask()
    assert isinstance(answer, Failure)
    assert (answer.kind, answer.code) == (FailureKind.DEVICE, "illegal-access")
    assert "slow" not in scenario.measured_names()
    assert fate(scenario, "slow").outcome is Outcome.SKIPPED
    assert not scenario.store


def test_a_reference_that_fails_in_a_block_costs_the_candidate_this_search_only() -> None:
    scenario = Scenario()
    number = scenario.begin(None, (REFERENCE, FAST))
    scenario.go_on_until_measuring(number, "fast")
    scenario.go_on(number, 2)
    scenario.run_failures["reference"] = failure(FailureKind.CRASHED, "SIGSEGV")
    scenario.go_on(number)
    assert "reference-failed-beside-it" in fate(scenario, "fast").reason
    scenario.run_failures.clear()
    scenario.wait(61)
    assert scenario.decide(None, (REFERENCE, FAST)).name == "fast"


def test_a_ban_that_arrives_during_the_search_keeps_its_candidate_from_winning() -> None:
    scenario = Scenario()
    number = scenario.begin(None, (REFERENCE, FASTER, FAST, SLOW))
    scenario.go_on_until_measuring(number, "slow")
    key = scenario.state.searches[number].key.digest
    scenario.apply(Invalidated(scenario.now(), key, "faster", "reference", True, "drifted"))
    scenario.go_on(number)
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert answer.name == "fast"


@pytest.mark.parametrize("steps", [0, 1, 2, 10])
def test_an_abandoned_search_answers_with_the_reference_and_leaves_nothing(steps: int) -> None:
    scenario = Scenario()
    number = scenario.begin()
    scenario.go_on(number, steps)
    scenario.apply(Abandoned(number, scenario.now(), "closing"))
    answer = scenario.answers[number]
    assert isinstance(answer, Decision)
    assert (answer.name, answer.source) == ("reference", Source.BYPASSED)
    assert "closing" in answer.reason
    assert not scenario.store
    assert not scenario.state.entries
    assert scenario.decide().source is Source.TUNED, "the key and the lane are free again"


def test_what_crashed_in_an_abandoned_search_is_not_tried_again() -> None:
    scenario = Scenario(run_failures={"fast": failure(FailureKind.CRASHED, "SIGSEGV")})
    number = scenario.begin()
    scenario.go_on_until_measuring(number, "slow")
    scenario.apply(Abandoned(number, scenario.now(), "closing"))
    scenario.run_failures.clear()
    assert scenario.decide().name == "reference"


@pytest.mark.parametrize(
    ("steps", "need"),
    [(0, "RecordLoaded"), (1, "Measured"), (2, "Validated")],
)
def test_an_event_that_answers_another_effect_is_refused_with_what_was_expected(
    steps: int, need: str
) -> None:
    scenario = Scenario()
    number = scenario.begin()
    scenario.go_on(number, steps)
    now, before = scenario.now(), scenario.state
    wrong = Measured(number, now, 5) if need != "Measured" else Validated(number, now)
    for event in (wrong, Unverifiable(number, now, "a map")) if steps < 2 else (wrong,):
        with pytest.raises(ProtocolError, match=need):
            step(scenario.state, event)
    assert scenario.state == before


@pytest.mark.parametrize("kind", [FailureKind.INVALID, FailureKind.QUARANTINED])
def test_a_trial_cannot_fail_in_a_way_that_only_requests_do(kind: FailureKind) -> None:
    scenario = Scenario()
    number = scenario.begin()
    scenario.go_on(number, 1)
    with pytest.raises(ProtocolError, match="TrialFailed as"):
        step(scenario.state, TrialFailed(number, scenario.now(), failure(kind)))


def test_impossible_outcomes_are_refused() -> None:
    scenario = Scenario()
    number = scenario.begin()
    scenario.go_on(number, 1)
    with pytest.raises(InvalidValue, match="latency_ns"):
        step(scenario.state, Measured(number, scenario.now(), -1))
    scenario.go_on(number, 1)
    with pytest.raises(InvalidValue, match="feeds"):
        step(scenario.state, Validated(number, scenario.now(), feeds=0))


def test_two_environments_are_searched_side_by_side_without_touching_each_other() -> None:
    scenario = Scenario(evolve(SIMPLE, max_parallel=2))
    first = scenario.begin(problem(device="cpu"))
    second = scenario.begin(problem(device="gpu"))
    while scenario.outstanding:
        for number in sorted(scenario.outstanding):
            scenario.go_on(number, 1)
    answers = [scenario.answers[number] for number in (first, second)]
    assert [isinstance(one, Decision) and one.name for one in answers] == ["fast", "fast"]
