"""A winner is measured once more, in new processes (E5)."""

import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ortsel.plan import Plan, SessionSettings
from ortsel.selector import Selector
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.confirming import BLOCKS, ROUNDS, denial
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import CannotVerify, Rig, Verified
from spec.candidate import Candidate
from spec.decision import Decision, Source
from spec.engine.effect import Purpose
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record
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


@pytest.mark.parametrize(("least", "denied"), [(Fraction(1, 1000), False), (Fraction(1000), True)])
def test_a_winner_must_win_between_new_processes(rig: Rig, least: Fraction, denied: bool) -> None:
    rig.measure(OTHER, Purpose.WARMUP, deadline_ns())
    seen = [rig.process_ids()]

    def undisturbed(measure: Callable[[], int]) -> int:
        time_ns = measure()
        seen.append(rig.process_ids())
        return time_ns

    reason = denial(rig, REFERENCE, OTHER, least, deadline_ns, undisturbed)
    assert bool(reason) == denied
    pairs = {tuple(sorted(pids.values())) for pids in seen if len(pids) == 2}
    rounds = 1 if denied else ROUNDS
    assert len(pairs) == 1 + rounds, "those of the search and each round's own"
    assert len({pid for pair in pairs for pid in pair}) == 2 * len(pairs)
    assert len(seen) == 1 + rounds * BLOCKS * 4


class Runner:
    """Trials in which the second candidate takes half of the time, whatever is confirmed."""

    def __init__(self, word: str | Exception) -> None:
        self.word = word

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        return 1_000_000 if candidate == 0 else 500_000

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        return Verified(1)

    def record_loaded(self, record: Record) -> None:
        raise AssertionError("nothing is stored")

    def confirm(
        self,
        candidate: int,
        min_speedup: Fraction,
        deadline_ns: Callable[[], int],
        undisturbed: Callable[[Callable[[], int]], int],
    ) -> str:
        assert candidate == 1
        if isinstance(self.word, Exception):
            raise self.word
        return self.word


def select(word: str | Exception) -> tuple[Selector, MemoryStore, Decision]:
    store = MemoryStore()
    selector = Selector(Policy(), store)
    candidates = (Candidate("reference"), Candidate("other"))
    answer = selector.select(PROBLEM, candidates, 0, Runner(word))
    assert isinstance(answer, Decision)
    return selector, store, answer


def test_what_was_confirmed_is_the_decision() -> None:
    selector, store, decision = select("")
    assert (decision.name, decision.source) == ("other", Source.TUNED)
    assert selector.holds(decision.key, "other")
    assert store.load(decision.key) is not None


def test_what_was_not_confirmed_is_taken_back_and_the_reason_told() -> None:
    selector, store, decision = select("it took 1.01")
    assert (decision.name, decision.source) == ("reference", Source.TUNED)
    assert decision.reason == "other won and was not confirmed: it took 1.01"
    assert not selector.holds(decision.key, "other")
    assert store.load(decision.key) is None


def test_an_interrupt_meanwhile_leaves_no_decision() -> None:
    store = MemoryStore()
    selector = Selector(Policy(), store)
    candidates = (Candidate("reference"), Candidate("other"))
    with pytest.raises(ZeroDivisionError):
        selector.select(PROBLEM, candidates, 0, Runner(ZeroDivisionError()))
    assert not store.has_records()
    assert not selector.knows(PROBLEM, candidates, 0)
