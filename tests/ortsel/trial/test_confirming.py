"""A winner is measured once more, in new processes (E5)."""

import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from attrs import Factory, define

from ortsel.confirming import BLOCKS, ROUNDS, denial
from ortsel.plan import Plan, SessionSettings
from ortsel.selector import Selector, searching_ns
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import CannotVerify, Rig, Verified
from spec.candidate import Candidate
from spec.decision import Decision, Source
from spec.engine.effect import Purpose
from spec.failure import Failure, FailureKind
from spec.moment import Moment
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record
from spec.report import Outcome
from tests.ortsel.trial import models
from tests.ortsel.trial.models import REFERENCE

OTHER = Plan("other", settings=SessionSettings((("intra_op_num_threads", 1),)))
PROBLEM = Problem(Scope.PIPELINE, "onnx-model", "w", "e")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    model = models.busy(tmp_path / "busy.onnx")
    feed = {"x": np.ones((4, 384), np.float32)}
    limits = TrialLimits(measurement_least_ns=2_000_000, calls_least=1)
    with Rig(model, REFERENCE, [feed], None, limits=limits) as rig:
        yield rig


def deadline_ns() -> int:
    return time.monotonic_ns() + 60 * SECOND_NS


@define
class OnRig:
    """Trials on a rig that note the processes of every measurement."""

    rig: Rig
    plans: tuple[Plan, ...]
    seen: list[dict[str, int]] = Factory(list)

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        time_ns = self.rig.measure(self.plans[candidate], purpose, deadline_ns)
        if purpose is Purpose.PAIRED:
            self.seen.append(self.rig.process_ids())
        return time_ns

    def restart(self) -> None:
        self.rig.restart()


@pytest.mark.parametrize(("least", "denied"), [(Fraction(1, 1000), False), (Fraction(1000), True)])
def test_a_winner_must_win_between_new_processes(rig: Rig, least: Fraction, denied: bool) -> None:
    trials = OnRig(rig, (REFERENCE, OTHER))
    trials.measure(1, Purpose.PAIRED, deadline_ns())
    reason = denial(trials, 0, 1, least, deadline_ns())
    assert bool(reason) == denied
    pairs = {tuple(sorted(pids.values())) for pids in trials.seen}
    rounds = 1 if denied else ROUNDS
    assert len(pairs) == 1 + rounds, "those of the search and each round's own"
    assert len({pid for pair in pairs for pid in pair}) == 2 * len(pairs)
    assert len(trials.seen) == 1 + rounds * BLOCKS * 4


@define
class Runner:
    """Trials in which the second candidate takes half of the time until processes are new."""

    then_ns: int
    """What it takes from then on."""
    failure: Exception | None = None
    restarts: int = 0

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        if self.restarts and self.failure is not None:
            raise self.failure
        if candidate == 0:
            return 1_000_000
        return self.then_ns if self.restarts else 500_000

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        return Verified(1)

    def record_loaded(self, record: Record) -> None:
        raise AssertionError("nothing is stored")

    def restart(self) -> None:
        self.restarts += 1


class WatchedStore(MemoryStore):
    """A store that counts what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.saved = 0

    def save(self, record: Record, key_text: str = "") -> None:
        self.saved += 1
        super().save(record, key_text)


CANDIDATES = (Candidate("reference"), Candidate("other"))


def select(runner: Runner) -> tuple[Selector, WatchedStore, Decision]:
    store = WatchedStore()
    selector = Selector(Policy(), store)
    answer = selector.select(PROBLEM, CANDIDATES, 0, runner)
    assert isinstance(answer, Decision)
    return selector, store, answer


def test_what_was_confirmed_is_the_decision() -> None:
    runner = Runner(then_ns=500_000)
    selector, store, decision = select(runner)
    assert runner.restarts == ROUNDS
    assert (decision.name, decision.source) == ("other", Source.TUNED)
    assert selector.holds(decision.key, "other")
    assert store.load(decision.key) is not None
    report = selector.report(decision.key)
    assert report is not None
    assert report.winner == "other"


@pytest.mark.parametrize("then_ns", [980_000, 1_000_000, 2_000_000])
def test_what_was_not_confirmed_was_never_stored_and_no_report_calls_it_the_winner(
    then_ns: int,
) -> None:
    selector, store, decision = select(Runner(then_ns))
    assert (decision.index, decision.name, decision.source) == (0, "reference", Source.TUNED)
    told = f"other won and was not confirmed: in new processes it took {then_ns / 1e6:.3f} of"
    assert decision.reason.startswith(told)
    assert not selector.holds(decision.key, "other")
    assert store.saved == 0
    report = selector.report(decision.key)
    assert report is not None
    assert report.winner == "reference"
    outcomes = {one.name: (one.outcome, one.reason) for one in report.candidates}
    assert outcomes["other"] == (Outcome.NOT_FASTER, decision.reason)
    again = selector.select(PROBLEM, CANDIDATES, 0, Runner(then_ns=500_000))
    assert isinstance(again, Decision)
    assert again.name == "reference", "banned for this key in this process"


def test_a_failure_that_may_pass_denies_and_bans_nobody() -> None:
    failure = TrialFailedError("other", Failure(FailureKind.TRANSIENT, "timeout", "cut"))
    selector, store, decision = select(Runner(500_000, failure))
    assert decision.name == "reference"
    assert "timeout: cut" in decision.reason
    assert store.saved == 0
    again = selector.select(PROBLEM, CANDIDATES, 0, Runner(then_ns=500_000))
    assert isinstance(again, Decision)
    assert again.name == "other"
    report = selector.report(again.key)
    assert report is not None
    assert report.winner == "other", "an earlier denial says nothing of it"


def test_an_interrupt_meanwhile_leaves_no_decision() -> None:
    store = WatchedStore()
    selector = Selector(Policy(), store)
    with pytest.raises(ZeroDivisionError):
        selector.select(PROBLEM, CANDIDATES, 0, Runner(500_000, ZeroDivisionError()))
    assert store.saved == 0
    assert not selector.knows(PROBLEM, CANDIDATES, 0)


def test_whoever_wants_no_confirmation_gets_the_winner_of_the_search() -> None:
    runner = Runner(then_ns=2_000_000)
    selector = Selector(Policy(), MemoryStore())
    answer = selector.select(PROBLEM, CANDIDATES, 0, runner, confirms=False)
    assert isinstance(answer, Decision)
    assert (answer.name, runner.restarts) == ("other", 0)


def test_confirmation_is_within_the_budget() -> None:
    """The search ends early enough, and the rest is what confirming may take."""
    ends: list[tuple[bool, int]] = []

    class Noting(Runner):
        def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
            ends.append((self.restarts > 0, deadline_ns))
            return super().measure(candidate, purpose, deadline_ns)

    policy = Policy()
    asked = Moment(10**12, 10**9)
    selector = Selector(policy, MemoryStore())
    selector.select(PROBLEM, CANDIDATES, 0, Noting(500_000), clock=lambda: asked)
    searching = {end for restarted, end in ends if not restarted}
    confirming = {end for restarted, end in ends if restarted}
    assert max(searching) == asked.monotonic_ns + searching_ns(policy.budget_ns)
    assert confirming == {asked.monotonic_ns + policy.budget_ns}
    assert searching_ns(policy.budget_ns) < policy.budget_ns
