"""Who wins, and what is remembered of it (S7)."""

from collections.abc import Sequence
from fractions import Fraction

from attrs import evolve

from spec.decision import Decision, Source
from spec.engine.answering import ended
from spec.engine.effect import Effect, SaveRecord
from spec.engine.eviction import reported, settled
from spec.engine.search import PROVISIONAL, Contender, Exploring, Search, Trial
from spec.engine.setback import bypassed
from spec.engine.state import Held, State, Transition
from spec.evidence.decimal_text import decimal_text
from spec.evidence.machine_states import mixture, states_seen, window_ns
from spec.evidence.verdict import Faster, NotFaster, TooNoisy
from spec.failure import Failure, FailureKind
from spec.moment import Moment
from spec.policy import SECOND_NS, Policy
from spec.record import Record
from spec.report import CandidateReport, Outcome, TrialReport

BUDGET = "budget"


def with_report(stage: Exploring, report: CandidateReport) -> Exploring:
    """Return the stage with the outcome of one more candidate."""
    return evolve(stage, reports=(*stage.reports, report))


def facing_the_best(state: State, search: Search, stage: Exploring, now: Moment) -> Trial | None:
    """Return the turn with what its blocks must show, once its first call is known.

    What that call costs over the reference's first is shared by the calls that a decision is
    expected to serve, and counts as if every call took that much longer. None where it leaves
    nothing to show: no call could be fast enough.
    """
    policy, trial = state.policy, stage.trial
    extra = _extra(policy, stage)
    needed = 1 / policy.min_speedup - extra
    best = _best(state, search, stage, now)
    to_beat = None if best is stage.baseline else best.cost - extra
    if needed <= 0 or (to_beat is not None and to_beat <= 0):
        return None
    return evolve(trial, min_speedup=1 / needed, to_beat=to_beat)


def never_repaid(search: Search, stage: Exploring) -> Exploring:
    """Return the stage with a candidate given up for what its first call costs."""
    report = CandidateReport(
        search.candidates[stage.trial.candidate].name,
        Outcome.NOT_FASTER,
        first_ns=stage.trial.first_ns,
        reason="its first call costs more than all that follow could save",
    )
    return evolve(with_report(stage, report), verdicts=stage.verdicts + 1)


def _extra(policy: Policy, stage: Exploring) -> Fraction:
    """Return a call's share of what the first costs over the reference's, in reference calls."""
    assert stage.baseline is not None, "the reference is timed before any candidate"
    first_ns, reference_first_ns = stage.trial.first_ns, stage.baseline.first_ns
    assert first_ns is not None, "a candidate is warmed before anything else"
    assert reference_first_ns is not None, "and so is the reference"
    return Fraction(
        max(0, first_ns - reference_first_ns), policy.reuse * stage.baseline.reference_ns
    )


def with_verdict(
    policy: Policy, search: Search, stage: Exploring, verdict: Faster | NotFaster | TooNoisy
) -> Exploring:
    """Return the stage with the outcome of a candidate that was measured to a verdict."""
    trial = stage.trial
    states = states_seen(trial.blocks)
    ratio = verdict.ratio if states == 1 else mixture(trial.blocks)
    candidate_ns = _median_ns([time for block in trial.blocks for time in block.candidate_ns])
    cost = ratio + _extra(policy, stage)
    outcome, reason = _judged(policy, verdict, cost)
    report = CandidateReport(
        search.candidates[trial.candidate].name,
        outcome,
        verdict.blocks,
        ratio,
        verdict.dispersion,
        trial.check.verified,
        trial.first_ns,
        candidate_ns,
        states,
        window_ns(trial.blocks),
        reason,
    )
    over = evolve(with_report(stage, report), verdicts=stage.verdicts + 1)
    if outcome is not Outcome.FASTER:
        return over
    reference_ns = _median_ns([time for block in trial.blocks for time in block.reference_ns])
    contender = Contender(
        trial.candidate,
        ratio,
        verdict.dispersion,
        verdict.blocks,
        reference_ns,
        candidate_ns,
        trial.check,
        cost,
    )
    return evolve(over, contenders=(*over.contenders, contender))


def _judged(
    policy: Policy, verdict: Faster | NotFaster | TooNoisy, cost: Fraction
) -> tuple[Outcome, str]:
    match verdict:
        case Faster():
            if cost * policy.min_speedup <= 1 and cost < 1:
                return Outcome.FASTER, ""
            need = f"need at most {1 / policy.min_speedup}"
            return Outcome.NOT_FASTER, f"faster, but its cost is {cost}, {need}"
        case NotFaster():
            return Outcome.NOT_FASTER, verdict.reason
        case TooNoisy():
            return Outcome.NOISY, verdict.reason


def finished(state: State, search: Search, stage: Exploring, now: Moment) -> Transition:
    """End a search: promote the best contender or keep the reference.

    With nothing measured to a verdict since the time ran out, nothing is known: a bypass.
    """
    if stage.verdicts == 0 and stage.out_of_time:
        seconds = decimal_text(Fraction(state.policy.budget_ns, SECOND_NS))
        reason = f"no candidate was measured to a verdict within {seconds} s"
        failure = Failure(FailureKind.TRANSIENT, BUDGET, reason)
        return bypassed(concluded(state, search, stage, now), search, failure, now)
    best = _best(state, search, stage, now)
    policy = state.policy
    record = Record(
        search.key.digest,
        search.problem.scope,
        search.candidates[best.candidate].name,
        search.reference_name,
        now.wall_s,
        best.reference_ns,
        best.candidate_ns,
        best.ratio,
        best.dispersion,
        best.blocks,
        best.check.verified,
        best.check.feeds,
        best.check.provisional,
        stage.complete,
    )
    lifetime_s = record.lifetime_s(policy.ttl_s, policy.retry_after_s)
    held = Held(record, now.monotonic_ns + lifetime_s * SECOND_NS)
    following = settled(
        concluded(state, search, stage, now, winner=record.winner), search.key.digest, held
    )
    effects: tuple[Effect, ...] = ()
    if stage.verdicts > 0 and search.problem.persistent:
        effects = (SaveRecord(record),)
        following = following.counted("saved")
    decision = Decision(
        best.candidate,
        search.reference,
        record.winner,
        Source.TUNED,
        record.verified,
        record.ratio,
        search.key.digest,
        PROVISIONAL if record.provisional else "",
    )
    return ended(following, search, decision, effects)


def concluded(
    state: State,
    search: Search,
    stage: Exploring,
    now: Moment,
    *,
    rest: str = "",
    winner: str = "",
) -> State:
    """Return the state with the report of a search that is over.

    Candidates without a report yet are skipped for the reason `rest`.
    """
    winner = winner or search.reference_name
    reports = [
        evolve(report, outcome=Outcome.PROMOTED) if _is_winner(report, winner) else report
        for report in stage.reports
    ]
    told = {report.name for report in reports}
    reports += [
        CandidateReport(candidate.name, Outcome.SKIPPED, reason=rest)
        for candidate in search.candidates
        if candidate.name not in told
    ]
    report = TrialReport(
        search.key.digest,
        search.problem.scope,
        search.problem.operation,
        winner,
        now.monotonic_ns - search.started.monotonic_ns,
        stage.out_of_time,
        tuple(reports),
    )
    return reported(state, report)


def _is_winner(report: CandidateReport, winner: str) -> bool:
    return report.outcome is Outcome.FASTER and report.name == winner


def _best(state: State, search: Search, stage: Exploring, now: Moment) -> Contender:
    """Return the contender with the smallest cost, the first in order where costs are equal.

    One that was banned meanwhile is out. The reference stays where there is none.
    """
    assert stage.baseline is not None, "the reference is timed before any candidate"
    entry = state.entry(search.key.digest)
    best = stage.baseline
    for contender in stage.contenders:
        name = search.candidates[contender.candidate].name
        if entry.exclusion(name, now.monotonic_ns) is None and contender.cost < best.cost:
            best = contender
    return best


def _median_ns(times_ns: Sequence[int]) -> int:
    """Return the median, rounded down. Both sides ran twice per block, so the count is even."""
    ordered = sorted(times_ns)
    middle = len(ordered) // 2
    return (ordered[middle - 1] + ordered[middle]) // 2
