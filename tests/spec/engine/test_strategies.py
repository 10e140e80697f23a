"""The strategies produce the interesting cases often enough to be worth running."""

from collections import Counter

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.stateful import run_state_machine_as_test

from spec import (
    Answer,
    Candidate,
    Decision,
    Event,
    Failure,
    FailureKind,
    Measure,
    Moment,
    Policy,
    Requested,
    Source,
    State,
    Transition,
    initial_state,
    step,
)
from tests.spec.engine.machine import EngineMachine
from tests.spec.engine.strategies import (
    Asked,
    broken_questions,
    candidate_sets,
    policies,
    questions,
)

SAMPLE = settings(
    max_examples=200,
    stateful_step_count=25,
    phases=(Phase.generate,),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_the_machine_meets_every_answer_and_promotes_often() -> None:
    seen: Counter[str] = Counter()

    def counting(state: State, event: Event) -> Transition:
        transition = step(state, event)
        for effect in transition.effects:
            result = getattr(effect, "result", None)
            if isinstance(result, Decision):
                seen[result.source.value] += 1
                seen["another plan than the reference"] += result.index != result.reference_index
            elif isinstance(result, Failure):
                seen[result.kind.value] += 1
            seen["trials"] += isinstance(effect, Measure)
        return transition

    class Machine(EngineMachine):
        engine = (counting,)

    run_state_machine_as_test(Machine, settings=SAMPLE)
    answers = {source.value for source in Source} | {"invalid", "quarantined", "device"}
    assert answers <= set(seen), f"never met: {answers - set(seen)}"
    assert seen["another plan than the reference"] > 30, seen
    assert seen["trials"] > 1000, seen


def test_questions_mostly_have_several_candidates_that_may_be_tried() -> None:
    sizes: list[int] = []

    @settings(SAMPLE)
    @given(candidate_sets())
    def collect(candidates: tuple[Candidate, ...]) -> None:
        sizes.append(len(candidates))

    collect()
    assert sum(size >= 3 for size in sizes) > len(sizes) / 2
    assert 1 in sizes


@given(asked=questions())
def test_the_reference_of_a_question_is_one_of_its_candidates(asked: Asked) -> None:
    assert 0 <= asked.reference < len(asked.candidates)
    names = [candidate.name for candidate in asked.candidates]
    assert len(set(names)) == len(names)


@given(asked=broken_questions(), policy=policies())
def test_broken_questions_are_refused_under_every_policy(asked: Asked, policy: Policy) -> None:
    event = Requested(1, Moment(0, 0), asked.problem, asked.candidates, asked.reference)
    (answer,) = step(initial_state(policy), event).effects
    assert isinstance(answer, Answer)
    assert isinstance(answer.result, Failure)
    assert answer.result.kind is FailureKind.INVALID
