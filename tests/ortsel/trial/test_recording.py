"""A real search, kept as data, ends with the same decision again (S13)."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from attrs import define, evolve

from ortsel.confirming import BLOCKS, ROUNDS, WARMUPS
from ortsel.plan import Plan
from ortsel.selector import Selector, read_moment
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.limits import TrialLimits
from ortsel.trial.recording import (
    Recording,
    RecordingTrials,
    ReplayError,
    Timed,
    Trial,
    recorded,
    recording_from_text,
    recording_to_text,
    replayed,
)
from ortsel.trial.rig import CannotVerify, Rig, Verified
from spec.candidate import Candidate
from spec.decision import Decision
from spec.engine.effect import Purpose
from spec.evidence import MedianMad
from spec.failure import Failure
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record
from spec.report import TrialReport
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE, candidate

pytestmark = pytest.mark.slow

POLICY = Policy(evidence=MedianMad(samples=5), min_speedup=Fraction(100), seed=7)
"""Under which a real search ends with the reference for certain, however noisy the machine."""
PLANS = (REFERENCE, Plan("single", settings=models.SINGLE_THREADED), candidate("wrong"))


class RigTrials:
    def __init__(self, rig: Rig) -> None:
        self.rig = rig

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        return self.rig.measure(PLANS[candidate], purpose, deadline_ns)

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        return self.rig.validate(PLANS[candidate], deadline_ns)

    def record_loaded(self, record: Record) -> None:
        raise AssertionError(record)


@pytest.fixture(scope="module")
def search(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Recording, Decision | Failure, TrialReport]:
    folder = tmp_path_factory.mktemp("recording")
    model = models.linear(folder / "model.onnx")
    variants = {"wrong": models.linear(folder / "wrong.onnx", factor=1.5)}
    problem = Problem(Scope.PIPELINE, "onnx-model", {"x": [8, 16]}, "here", "a model", ["options"])
    candidates = tuple(Candidate(plan.name) for plan in PLANS)
    selector = Selector(POLICY, MemoryStore())
    limits = TrialLimits(calls_least=1)
    with Rig(model, REFERENCE, [FEED], None, limits=limits, variant_models=variants) as rig:
        trials = RecordingTrials(RigTrials(rig), read_moment)
        answer = selector.select(problem, candidates, 0, trials, clock=trials.now)
    (report,) = selector.state.reports
    return recorded(problem, candidates, 0, POLICY, trials), answer, report


Search = tuple[Recording, Decision | Failure, TrialReport]


def test_recorded_times_give_the_same_decision_and_report(search: Search) -> None:
    recording, answer, report = search
    assert sum(isinstance(one.outcome, Timed) for one in recording.trials) > 20, "a real search"
    assert sum(isinstance(one.outcome, Failure) for one in recording.trials) == 1, "a wrong plan"
    again, selector = replayed(recording_from_text(recording_to_text(recording)), POLICY)
    assert again == answer
    assert tuple(selector.state.reports) == (report,)


def test_a_recording_survives_being_text(search: Search) -> None:
    recording = search[0]
    assert recording_from_text(recording_to_text(recording)) == recording


def test_other_times_give_another_decision(search: Search) -> None:
    """So that it is the recorded times that decide."""
    recording, answer, _ = search
    assert isinstance(answer, Decision)
    assert answer.name == REFERENCE.name, "nobody is really so much faster"
    faster = [
        evolve(one, outcome=a_thousand_times_faster(one.candidate))
        if isinstance(one.outcome, Timed)
        else one
        for one in (*recording.trials, *confirming(1))
    ]
    again, _ = replayed(evolve(recording, trials=tuple(faster)), POLICY)
    assert isinstance(again, Decision)
    assert (again.name, again.ratio) == ("single", Fraction(1, 1000))


def a_thousand_times_faster(candidate: int) -> Timed:
    return Timed(1_000_000 if candidate == 0 else 1000)


def confirming(winner: int) -> Iterator[Trial]:
    """What is asked besides where there is a winner."""
    for _ in range(ROUNDS):
        for side in (0, winner) * WARMUPS:
            yield Trial(side, Purpose.WARMUP.value, a_thousand_times_faster(side))
        for block in range(BLOCKS):
            for side in (0, winner, winner, 0) if block % 2 else (winner, 0, 0, winner):
                yield Trial(side, Purpose.PAIRED.value, a_thousand_times_faster(side))


@define
class Scripted:
    """Trials in which the candidate takes half of the time until processes are new."""

    then_ns: int
    restarts: int = 0

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        if candidate == 0:
            return 1_000_000
        return self.then_ns if self.restarts else 500_000

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        return Verified(1)

    def record_loaded(self, record: Record) -> None:
        raise AssertionError(record)

    def restart(self) -> None:
        self.restarts += 1


@pytest.mark.parametrize(("then_ns", "winner"), [(500_000, "single"), (1_000_000, "reference")])
def test_what_confirms_or_denies_a_winner_is_recorded_and_replayed(
    then_ns: int, winner: str
) -> None:
    problem = Problem(Scope.PIPELINE, "onnx-model", "w", "e")
    candidates = tuple(Candidate(plan.name) for plan in PLANS[:2])
    policy = Policy()
    runner = Scripted(then_ns)
    trials = RecordingTrials(runner, read_moment)
    selector = Selector(policy, MemoryStore())
    answer = selector.select(problem, candidates, 0, trials, clock=trials.now)
    assert isinstance(answer, Decision)
    assert answer.name == winner
    assert runner.restarts, "pointless unless processes were renewed"
    again, _ = replayed(recorded(problem, candidates, 0, policy, trials), policy)
    assert again == answer


def test_a_search_that_takes_another_way_is_no_replay(search: Search) -> None:
    recording = search[0]
    trials = recording.trials
    swapped = (evolve(trials[0], candidate=1), *trials[1:])
    for changed, words in (
        (evolve(recording, trials=swapped), "warmup of candidate 0, need warmup of candidate 1"),
        (evolve(recording, trials=trials[:-1]), "no further trial"),
        (evolve(recording, trials=(*trials, trials[-1])), "all trials"),
        (evolve(recording, moments=recording.moments[:-1]), "no more than were recorded"),
    ):
        with pytest.raises(ReplayError, match=words):
            replayed(changed, POLICY)


def test_another_policy_is_another_question(search: Search) -> None:
    with pytest.raises(ReplayError, match="a policy under which the key is"):
        replayed(search[0], Policy())


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema":2,"search":{}}', '{"schema":1,"search":{}}']
)
def test_a_text_that_is_no_recording_is_refused(text: str) -> None:
    with pytest.raises(ReplayError):
        recording_from_text(text)
