"""The search: the reference first, then each candidate against it (S6)."""

from collections.abc import Sequence
from fractions import Fraction

from attrs import evolve

from spec.engine.answering import waiting
from spec.engine.effect import Effect, Measure, Purpose, Validate
from spec.engine.event import Measured, TrialFailed, Unverifiable, Validated
from spec.engine.promotion import (
    concluded,
    facing_the_best,
    finished,
    never_repaid,
    with_report,
    with_verdict,
)
from spec.engine.search import UNCHECKED, Check, Contender, Exploring, Search, Trial
from spec.engine.setback import bypassed, device_failed, reference_failed, set_back
from spec.engine.state import State, Transition, describe
from spec.errors import InvalidValue
from spec.evidence.block import Block, Side, block_order
from spec.evidence.machine_states import mixture, states_seen, window_ns
from spec.evidence.order_statistics import median, relative_mad
from spec.evidence.rule import assess
from spec.evidence.verdict import Undecided
from spec.failure import Failure, FailureKind
from spec.moment import Moment
from spec.policy import Policy
from spec.report import CandidateReport, Outcome

OUT_OF_TIME = "the search's time budget ended"
OUT_OF_TURN = "undecided when its share of the time budget ended"
TURN_SHARES = 2
"""How many fair shares of the time that is left one turn may take."""
ZERO_DURATION = "zero-duration"
UNVERIFIABLE = "unverifiable"


def begun(state: State, search: Search, before: tuple[Effect, ...] = ()) -> Transition:
    """Begin with the reference's warm-ups."""
    trial = Trial(search.reference, state.policy.warmups, search.deadline_ns)
    stage = Exploring(trial, _measure(search, trial, Purpose.WARMUP))
    return waiting(state.counted("explorations"), search, stage, before)


def measured(
    state: State, search: Search, stage: Exploring, awaited: Measure, event: Measured
) -> Transition:
    """Take one measurement."""
    if type(event.latency_ns) is not int or event.latency_ns < 0:
        raise InvalidValue("latency_ns", repr(event.latency_ns), "whole nanoseconds >= 0", "S13")
    if _is_candidate(search, stage) and event.now.monotonic_ns >= stage.trial.deadline_ns:
        return _cut(state, search, stage, event.now)
    match awaited.purpose:
        case Purpose.WARMUP:
            return _warmed(state, search, stage, event)
        case Purpose.BASELINE:
            return _timed_reference(state, search, stage, event)
        case Purpose.PAIRED:
            return _paired(state, search, stage, event)


def checked(event: Validated) -> Check:
    """Return what a passed validation proves. Raises `InvalidValue` for one without feeds."""
    if type(event.feeds) is not int or event.feeds < 1:
        raise InvalidValue("feeds", repr(event.feeds), "a whole number >= 1", "E7")
    return Check(True, event.feeds, event.provisional)


def validated(
    state: State, search: Search, stage: Exploring, event: Validated | Unverifiable
) -> Transition:
    """Take the outcome of a validation; measure what passed, or what may go unchecked."""
    if isinstance(event, Unverifiable) and state.policy.require_validation:
        failure = Failure(FailureKind.UNSUPPORTED, UNVERIFIABLE, event.reason)
        return failed(state, search, stage, TrialFailed(event.request, event.now, failure))
    check = UNCHECKED
    if isinstance(event, Validated):
        check = checked(event)
    trial = evolve(stage.trial, check=check)
    if not _is_candidate(search, stage):
        effect = _measure(search, trial, Purpose.BASELINE)
        return waiting(state, search, evolve(stage, trial=trial, awaits=effect))
    if event.now.monotonic_ns >= trial.deadline_ns:
        return _cut(state, search, evolve(stage, trial=trial), event.now)
    return _next_block(state, search, stage, trial, event.now)


def failed(state: State, search: Search, stage: Exploring, event: TrialFailed) -> Transition:
    """Take a failure, by its kind (S8)."""
    failure, trial = event.failure, stage.trial
    if failure.kind is FailureKind.DEVICE:
        over = _failed_report(search, stage, failure)
        reported = concluded(state, search, over, event.now, rest="the device failed")
        return device_failed(reported, search, failure)
    if trial.candidate == search.reference:
        over = _failed_report(search, stage, failure)
        reported = concluded(state, search, over, event.now, rest="the reference failed")
        return reference_failed(reported, search, failure, event.now)
    if failure.kind is FailureKind.TRANSIENT and event.now.monotonic_ns >= trial.deadline_ns:
        # The shell cuts what runs over its deadline. That says nothing about the candidate.
        return _cut(state, search, stage, event.now)
    if isinstance(stage.awaits, Measure) and stage.awaits.candidate == search.reference:
        # The reference worked alone and fails beside this candidate. Whose fault that is, nobody
        # knows: not enough to give up on either for good.
        detail = describe(failure.code, failure.detail)
        failure = Failure(FailureKind.TRANSIENT, "reference-failed-beside-it", detail)
    over = _failed_report(search, stage, failure)
    if failure.kind is FailureKind.TRANSIENT:
        over = evolve(over, complete=False)
    following = set_back(state, search, trial.candidate, failure, event.now)
    return _next_candidate(following, search, over, event.now)


def _warmed(state: State, search: Search, stage: Exploring, event: Measured) -> Transition:
    trial = stage.trial
    if trial.first_ns is None:
        trial = evolve(trial, first_ns=event.latency_ns)
        if _is_candidate(search, stage):
            stage = evolve(stage, trial=trial)
            facing = facing_the_best(state, search, stage, event.now)
            if facing is None:
                return _next_candidate(state, search, never_repaid(search, stage), event.now)
            trial = facing
    trial = evolve(trial, warmups_left=trial.warmups_left - 1)
    effect: Measure | Validate
    if trial.warmups_left > 0:
        effect = _measure(search, trial, Purpose.WARMUP)
    else:
        effect = Validate(search.request, search.reference, trial.candidate, trial.deadline_ns)
    return waiting(state, search, evolve(stage, trial=trial, awaits=effect))


def _timed_reference(state: State, search: Search, stage: Exploring, event: Measured) -> Transition:
    trial = stage.trial
    if event.latency_ns == 0:
        failure = Failure(FailureKind.UNSUPPORTED, ZERO_DURATION, "the reference took no time")
        over = _failed_report(search, stage, failure)
        reported = concluded(state, search, over, event.now, rest="the reference failed")
        return bypassed(reported, search, failure, None)
    baseline = Contender(
        search.reference,
        Fraction(1),
        Fraction(0),
        0,
        event.latency_ns,
        event.latency_ns,
        trial.check,
        Fraction(1),
        trial.first_ns,
    )
    report = CandidateReport(
        search.reference_name,
        Outcome.REFERENCE,
        ratio=Fraction(1),
        dispersion=Fraction(0),
        verified=trial.check.verified,
        first_ns=trial.first_ns,
        median_ns=event.latency_ns,
    )
    over = evolve(with_report(stage, report), baseline=baseline)
    return _next_candidate(state, search, over, event.now)


def _paired(state: State, search: Search, stage: Exploring, event: Measured) -> Transition:
    if event.latency_ns == 0:
        failure = Failure(FailureKind.UNSUPPORTED, ZERO_DURATION, "a paired measurement of 0 ns")
        return _next_candidate(state, search, _failed_report(search, stage, failure), event.now)
    trial = stage.trial
    times_ns = (*trial.times_ns, event.latency_ns)
    if len(times_ns) < len(trial.order):
        trial = Trial(
            trial.candidate,
            0,
            trial.deadline_ns,
            trial.first_ns,
            trial.min_speedup,
            trial.to_beat,
            trial.check,
            trial.blocks,
            trial.ratios,
            trial.order,
            times_ns,
            trial.block_started_ns,
        )
        return waiting(state, search, _going_on(stage, trial, _measure_next(search, trial)))
    block = _block(trial.order, times_ns, trial.block_started_ns)
    trial = evolve(trial, blocks=(*trial.blocks, block), ratios=(*trial.ratios, block.ratio))
    verdict = assess(search.evidence, trial.ratios, trial.min_speedup, trial.to_beat)
    if isinstance(verdict, Undecided):
        return _next_block(state, search, stage, trial, event.now)
    over = with_verdict(state.policy, search, evolve(stage, trial=trial), verdict)
    return _next_candidate(state, search, over, event.now)


def _block(order: tuple[Side, ...], times_ns: tuple[int, ...], started_ns: int) -> Block:
    sides: dict[Side, list[int]] = {Side.REFERENCE: [], Side.CANDIDATE: []}
    for side, time_ns in zip(order, times_ns, strict=True):
        sides[side].append(time_ns)
    (r1, r2), (c1, c2) = sides[Side.REFERENCE], sides[Side.CANDIDATE]
    return Block((r1, r2), (c1, c2), started_ns)


def _next_block(
    state: State, search: Search, stage: Exploring, trial: Trial, now: Moment
) -> Transition:
    name = search.candidates[trial.candidate].name
    order = block_order(state.policy.seed, search.key.digest, name, len(trial.blocks))
    trial = evolve(trial, order=order, times_ns=(), block_started_ns=now.monotonic_ns)
    return waiting(state, search, _going_on(stage, trial, _measure_next(search, trial)))


def _measure_next(search: Search, trial: Trial) -> Measure:
    side = trial.order[len(trial.times_ns)]
    candidate = search.reference if side is Side.REFERENCE else trial.candidate
    return Measure(search.request, candidate, Purpose.PAIRED, trial.deadline_ns)


def _going_on(stage: Exploring, trial: Trial, effect: Measure) -> Exploring:
    return Exploring(
        trial,
        effect,
        stage.baseline,
        stage.reports,
        stage.contenders,
        stage.tried,
        stage.verdicts,
        stage.out_of_time,
        stage.complete,
    )


def _next_candidate(state: State, search: Search, stage: Exploring, now: Moment) -> Transition:
    """Give the next candidate its turn, saying of each one passed over why; or end the search."""
    policy, entry = state.policy, state.entry(search.key.digest)
    before = stage.trial.candidate
    following = 0 if before == search.reference else before + 1
    for index in range(following, len(search.candidates)):
        if index == search.reference:
            continue
        candidate = search.candidates[index]
        exclusion = entry.exclusion(candidate.name, now.monotonic_ns)
        if not candidate.fits(policy.max_workspace_bytes):
            reason = candidate.ineligible or _over_workspace(candidate.workspace_bytes)
            stage = with_report(stage, _passed_over(candidate.name, Outcome.INELIGIBLE, reason))
        elif exclusion is not None:
            report = _passed_over(candidate.name, Outcome.BANNED, exclusion.reason)
            complete = stage.complete and exclusion.until_ns is None
            stage = evolve(with_report(stage, report), complete=complete)
        elif now.monotonic_ns >= search.deadline_ns:
            report = _passed_over(candidate.name, Outcome.SKIPPED, OUT_OF_TIME)
            stage = evolve(with_report(stage, report), complete=False, out_of_time=True)
        elif stage.tried >= policy.max_candidates:
            reason = f"the limit of {policy.max_candidates} candidates was reached"
            report = _passed_over(candidate.name, Outcome.SKIPPED, reason)
            stage = evolve(with_report(stage, report), complete=False)
        else:
            trial = Trial(index, policy.warmups, _turn_ends_ns(policy, search, stage, index, now))
            effect = _measure(search, trial, Purpose.WARMUP)
            begun = evolve(stage, trial=trial, awaits=effect, tried=stage.tried + 1)
            return waiting(state, search, begun)
    return finished(state, search, stage, now)


def _turn_ends_ns(policy: Policy, search: Search, stage: Exploring, index: int, now: Moment) -> int:
    """Return when the turn of the candidate at `index` ends: twice its fair share of what is left.

    Most turns end early, so twice the share is there for those that need it, and one stubborn
    candidate cannot take the turns of all that follow. The fair share counts this candidate and
    those behind it that may have a turn, as far as the candidate limit allows.
    """
    left_ns = search.deadline_ns - now.monotonic_ns
    may_have_one = sum(
        search.candidates[behind].fits(policy.max_workspace_bytes)
        for behind in range(index, len(search.candidates))
        if behind != search.reference
    )
    turns = min(may_have_one, policy.max_candidates - stage.tried)
    return now.monotonic_ns + min(left_ns, TURN_SHARES * left_ns // turns)


def _cut(state: State, search: Search, stage: Exploring, now: Moment) -> Transition:
    """End a turn whose time is over. Its evidence is unfinished and promotes nothing."""
    trial = stage.trial
    report = CandidateReport(
        search.candidates[trial.candidate].name,
        Outcome.SKIPPED,
        blocks=len(trial.blocks),
        ratio=_so_far(trial.blocks),
        dispersion=relative_mad(trial.ratios) if trial.ratios else None,
        verified=trial.check.verified,
        first_ns=trial.first_ns,
        states=states_seen(trial.blocks),
        window_ns=window_ns(trial.blocks),
        reason=OUT_OF_TIME if now.monotonic_ns >= search.deadline_ns else OUT_OF_TURN,
    )
    over = evolve(with_report(stage, report), complete=False, out_of_time=True)
    return _next_candidate(state, search, over, now)


def _so_far(blocks: Sequence[Block]) -> Fraction | None:
    if not blocks:
        return None
    return (
        median([block.ratio for block in blocks]) if states_seen(blocks) == 1 else mixture(blocks)
    )


def _failed_report(search: Search, stage: Exploring, failure: Failure) -> Exploring:
    trial = stage.trial
    report = CandidateReport(
        search.candidates[trial.candidate].name,
        Outcome.FAILED,
        blocks=len(trial.blocks),
        verified=trial.check.verified,
        first_ns=trial.first_ns,
        states=states_seen(trial.blocks),
        window_ns=window_ns(trial.blocks),
        reason=f"{failure.kind.value}: {describe(failure.code, failure.detail)}",
    )
    return with_report(stage, report)


def _passed_over(name: str, outcome: Outcome, reason: str) -> CandidateReport:
    return CandidateReport(name, outcome, reason=reason)


def _over_workspace(workspace_bytes: int | None) -> str:
    if workspace_bytes is None:
        return "its workspace is unknown, and the policy sets a limit"
    return f"it needs {workspace_bytes} bytes of workspace, over the policy's limit"


def _is_candidate(search: Search, stage: Exploring) -> bool:
    return stage.trial.candidate != search.reference


def _measure(search: Search, trial: Trial, purpose: Purpose) -> Measure:
    return Measure(search.request, trial.candidate, purpose, trial.deadline_ns)
