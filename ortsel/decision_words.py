"""Decisions in words, and as rows for `explain()`."""

from typing import Final

from attrs import evolve

from ortsel.candidates.search_space import SearchSpace
from ortsel.explain import WorkloadExplanation
from spec.decision import Decision, Source
from spec.failure import Failure
from spec.report import TrialReport

WAITING: Final = "waiting"
"""Source of a shape that is decided in the background, and is not yet."""

REASONS: Final = {
    Source.TUNED: "no candidate was faster beyond the noise and verified",
    Source.MEMORY: "decided earlier in this process",
    Source.STORED: "decided earlier, validated once in this process",
    Source.DISABLED: "selection is disabled",
    Source.BYPASSED: "the reference could not be measured or verified",
    Source.NESTED: "asked from inside a trial",
    Source.BUSY: "another search is under way",
    Source.CACHE_MISS: "no stored decision for this shape: tune it, or use mode blocking",
}


def words(failure: Failure) -> str:
    """Return a failure as one line for people."""
    return f"{failure.code}: {failure.detail}" if failure.detail else failure.code


def missed(workload: str) -> WorkloadExplanation:
    """Return the explanation of a shape for which there is nothing to find."""
    kept = WorkloadExplanation.kept(workload, REASONS[Source.CACHE_MISS])
    return evolve(kept, source=Source.CACHE_MISS.value)


def waiting(workload: str, reason: str) -> WorkloadExplanation:
    """Return the explanation of a shape that is to be decided in the background."""
    return evolve(WorkloadExplanation.kept(workload, reason), source=WAITING)


def with_few_turns(report: TrialReport, turns: int) -> TrialReport:
    """Return the report saying why there were no more turns: not the policy's limit, but time."""
    limit = f"the limit of {turns + 1} candidates was reached"  # the reference counts
    reason = f"left out: the time budget is enough for {turns} of the candidates"
    return evolve(
        report,
        candidates=tuple(
            evolve(one, reason=reason) if one.reason == limit else one for one in report.candidates
        ),
    )


def explained(
    workload: str,
    decision: Decision,
    space: SearchSpace,
    obstacle: str | None,
    report: TrialReport | None,
) -> WorkloadExplanation:
    """Return the explanation of a decision; `obstacle` is why its plan does not serve.

    None is that it serves, or that the decision is the reference.
    """
    plans = space.plans
    return WorkloadExplanation(
        workload=workload,
        plan=decision.name if obstacle is None else plans[decision.reference_index].name,
        source=decision.source.value,
        verified=decision.verified and obstacle is None,
        ratio=decision.ratio if obstacle is None else None,
        reason=_reason(decision) if obstacle is None else obstacle,
        key=decision.key,
        candidates=() if report is None else report.candidates,
        changes=tuple((plan.name, plan.notes) for plan in plans),
        elapsed_ns=0 if report is None else report.elapsed_ns,
        left_out=space.left_out,
        placed=space.placed,
    )


def _reason(decision: Decision) -> str:
    if decision.source is Source.TUNED:
        won = decision.index != decision.reference_index
        text = "faster beyond the noise, and verified equal" if won else REASONS[Source.TUNED]
        return f"{text}; {decision.reason}" if decision.reason else text
    if decision.source in (Source.MEMORY, Source.STORED):
        return REASONS[decision.source]
    return decision.reason or REASONS[decision.source]
