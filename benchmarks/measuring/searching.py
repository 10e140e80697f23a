"""Searches over plans that a benchmark makes, through the same engine and rig as a user's."""

from collections.abc import Sequence
from pathlib import Path

from attrs import define

from benchmarks.measuring.cases import Feed
from benchmarks.measuring.no_figure import NoFigureError
from ortsel.plan import Plan, Provider
from ortsel.selector import Selector
from ortsel.store.memory_store import MemoryStore
from ortsel.trial.interpreter import WORKER_MODULE
from ortsel.trial.limits import TrialLimits
from ortsel.trial.rig import CannotVerify, Rig, Verified
from spec.candidate import Candidate
from spec.decision import Decision
from spec.engine.effect import Purpose
from spec.failure import Failure
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record
from spec.report import CandidateReport, Outcome

REFERENCE = Plan("reference", (Provider("CPUExecutionProvider"),))
LIMITS = TrialLimits(calls_least=1)
"""As in a search of a user's."""
DECIDED = frozenset({Outcome.PROMOTED, Outcome.FASTER, Outcome.NOT_FASTER, Outcome.NOISY})


@define
class _Trials:
    rig: Rig
    plans: Sequence[Plan]

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        return self.rig.measure(self.plans[candidate], purpose, deadline_ns)

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        del reference
        return self.rig.validate(self.plans[candidate], deadline_ns)

    def restart(self) -> None:
        self.rig.restart()

    def record_loaded(self, record: Record) -> None:
        del record


def search_alone(
    model: Path,
    feed: Feed,
    reference: Plan,
    candidate: Plan,
    policy: Policy,
    worker: str = WORKER_MODULE,
) -> CandidateReport:
    """Return how one candidate fared against the reference, in processes of their own.

    Raises `NoFigureError` where there was no verdict on it.
    """
    selector = Selector(policy, MemoryStore())
    plans = (reference, candidate)
    problem = Problem(Scope.PIPELINE, "onnx-model", str(model), "benchmark")
    with Rig(model, reference, [feed], None, limits=LIMITS, worker=worker) as rig:
        candidates = tuple(Candidate(plan.name) for plan in plans)
        answer = selector.select(problem, candidates, 0, _Trials(rig, plans))
    if isinstance(answer, Failure):
        reason = f"{answer.kind.value} ({answer.code}): {answer.detail}"
        raise NoFigureError(reason)
    assert isinstance(answer, Decision)
    report = selector.report(answer.key)
    found = [
        one for one in (() if report is None else report.candidates) if one.name == candidate.name
    ]
    if not found or found[0].outcome not in DECIDED:
        reason = answer.reason if not found else f"{found[0].outcome.value}: {found[0].reason}"
        raise NoFigureError(reason)
    return found[0]
