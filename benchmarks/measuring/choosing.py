"""What the tuner chooses for a case, before anything else is measured."""

import time
from collections.abc import Sequence

from attrs import define, field, frozen

import ortsel
from benchmarks.measuring.cases import Case, Feed
from benchmarks.measuring.no_figure import NoFigureError
from ortsel.candidates import CandidateFacts, candidate_space
from ortsel.candidates.shortlist import SHORT_LOOK
from ortsel.explain import WorkloadExplanation
from ortsel.plan import Plan
from spec.report import Outcome

CPU = "CPUExecutionProvider"
UNUSABLE = frozenset({Outcome.FAILED, Outcome.BANNED, Outcome.INELIGIBLE})
"""Nobody may choose these: they failed, or gave other outputs."""


@frozen
class Choice:
    """One search: what it could choose from, what it chose, and how long that took."""

    plans: tuple[Plan, ...]
    """The reference first; without those that failed or gave other outputs."""
    chosen: str
    explanation: WorkloadExplanation
    search_s: float
    """How long the first call took, which searches."""

    @property
    def reference(self) -> Plan:
        """The session as plain ONNX Runtime builds it."""
        return self.plans[0]


@define
class _Catalogue:
    """Ortsel's own candidates, remembered for what comes after the search."""

    plans: tuple[Plan, ...] = field(default=())

    def __call__(self, facts: CandidateFacts) -> Sequence[Plan]:
        self.plans = candidate_space(facts.reference, facts, None).plans
        return self.plans[1:]


def tuned(case: Case, feed: Feed, budget_s: float, seed: int = 0) -> Choice:
    """Search as a user's first call does in mode "blocking", with nothing stored.

    Where nothing could be decided the choice is what is served then: the reference.
    """
    catalogue = _Catalogue()
    config = ortsel.SelectionConfig(
        mode="blocking", store=None, budget_s=budget_s, seed=seed, candidates=catalogue
    )
    session = ortsel.InferenceSession(str(case.path), providers=[CPU], selection=config)
    started = time.monotonic()
    session.run(None, feed)
    search_s = time.monotonic() - started
    explained = session.explain()
    if not explained.workloads:
        raise NoFigureError(explained.not_tuned or "nothing was decided")
    workload = explained.workloads[0]
    bad = {
        one.name
        for one in workload.candidates
        if one.outcome in UNUSABLE and not one.reason.startswith(SHORT_LOOK)
    }
    plans = tuple(plan for plan in catalogue.plans if plan.name not in bad)
    return Choice(plans, workload.plan, workload, search_s)
