"""Deciding about a model's attention before a search for the whole, within that search's budget.

Nothing here may cost a user anything but a little of that budget: whatever cannot be done, or is
not sure to pay, is not done, with the reason for whoever asks.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, TypeAlias

from attrs import evolve, frozen

from ortsel import telemetry
from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.candidates.search_space import SearchSpace
from ortsel.errors import OrtselError
from ortsel.loaded_model import LoadedModel
from ortsel.operator_scope.cutting import LEAST_INSTANCES, CutAttention, cut_in_child
from ortsel.operator_scope.findings import OperatorFinding, OperatorFindings
from ortsel.operator_scope.narrowing import Decided, narrowed_by
from ortsel.operator_scope.resting import (
    NOTHING,
    Resting,
    attention_plans,
    resting_in_store,
    standing_decision,
)
from ortsel.operator_scope.worth import Side, saved_ns, spent_ns
from ortsel.plan import Plan
from ortsel.selector import Selector, TrialRunner
from ortsel.session_builder import CPU
from ortsel.store.store import Store
from ortsel.trial.calling import Calling
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.trial.limits import SECOND_NS
from ortsel.trial.memory import available_memory_bytes
from ortsel.trial.rig import CannotVerify, Verified
from ortsel.trial.values import read_values
from ortsel.variant_cache import VariantCache
from ortsel.workload import workload_part
from spec.candidate import Candidate, CandidateSet
from spec.canonical_json import Json, canonical, digest
from spec.engine.effect import Purpose
from spec.evidence import AnytimeValid
from spec.keys import cache_key
from spec.moment import Moment
from spec.policy import Policy
from spec.problem import Problem, Scope
from spec.record import Record

OPERATION: Final = "attention"
LEAST_VARIANTS: Final = 2
"""Ways of writing attention to choose from: with one, the whole model tells as soon."""
SHARE: Final = 3
"""One part in so many of a search's budget may go to attention by itself."""
CUTTING_SHARE: Final = 6
"""One part in so many may go to cutting it out."""
LEAST_SPEEDUP: Final = Fraction(11, 10)
MOST_BLOCKS: Final = 24
LEAST_RATE: Final = Fraction(1, 10**6)
"""Rates of false promotions that so few blocks can keep."""
COPIES: Final = 5
"""Of a model, that are held for a moment while attention is cut out: two as it is read, one with
more outputs, its session, and the reference's in another child."""
MOST_REMEMBERED: Final = 256
"""Workloads of which a session remembers what their candidates rest on."""

UNDECIDED: Final = "undecided"

Clock: TypeAlias = Callable[[], Moment]


@frozen
class Search:
    """The search for a whole model that attention is decided before."""

    call: Call
    trials: CallTrials
    subject: Subject
    problem: Problem
    space: SearchSpace
    clock: Clock
    """Its time, which stands still while it waits."""
    patient: Callable[[TrialRunner], tuple[TrialRunner, Clock]]
    """Gives trials that wait where its own would, and their time."""
    pause: Callable[[], None]
    """Returns when nobody asks anything."""
    check: Callable[[], None]
    """Raises where nobody wants it any more."""


class OperatorScope:
    """What one session knows of its model's attention by itself. Safe for many threads."""

    def __init__(
        self, model: LoadedModel, selector: Selector, asked_for: bool | None, places: int | None
    ) -> None:
        """`asked_for` says whether to do it where it can be done; None, where it is sure to pay.

        `places` is how often the model may compute attention; None is not known.
        """
        self._model = model
        self._selector = selector
        self._alone = selector.with_policy(policy_alone(selector.policy))
        """Decides about attention by itself; over the same store."""
        self._asked_for = asked_for
        self._few = places is not None and places < LEAST_INSTANCES
        self._remembered: dict[str, Resting] = {}
        self._lock = threading.Lock()

    def after_fork_in_child(self) -> None:
        """Start with a new lock."""
        self._lock = threading.Lock()

    def known(
        self,
        asked: Mapping[str, Json],
        problem: Problem,
        space: SearchSpace,
        store: Store | None = None,
    ) -> Resting:
        """Return what the candidates of a question rest on, without deciding anything anew.

        `asked` are the parts of its key if they rest on nothing. A decision that rests on nothing
        is preferred, where there is one.
        """
        if self._few or not problem.persistent or len(attention_plans(space)) < LEAST_VARIANTS:
            return NOTHING
        place = self._selector.store if store is None else store
        workload = canonical(problem.workload)
        with self._lock:
            resting = self._remembered.get(workload, NOTHING)
        if resting.decisions:
            if all(
                (record := standing_decision(self._selector, key, place)) is not None
                and record.winner == winner
                for key, winner in resting.decisions
            ):
                return resting
            with self._lock:
                self._remembered.pop(workload, None)
        if self._selector.stored_record(digest(canonical(dict(asked))), place) is not None:
            return NOTHING
        return resting_in_store(self._selector, asked, space, place)

    def told(self, resting: Resting) -> OperatorFindings:
        """Return what to say of decisions that were not made just now."""
        found = []
        for key, winner in resting.decisions:
            record = standing_decision(self._selector, key)
            ratio = None if record is None else record.ratio
            found.append(OperatorFinding("", winner, "stored", ratio, key))
        return OperatorFindings(tuple(found))

    def decide(self, search: Search) -> tuple[Resting, OperatorFindings]:
        """Decide about the attention of a model. Never raises because of what it finds.

        Raises `WorkStoppedError` and `DisturbedError` in the background, `TrialsUnavailableError`
        where no trial can be made at all.
        """
        obstacle = self._obstacle(search.problem, search.space)
        if obstacle is not None:
            return NOTHING, OperatorFindings(reason=obstacle)
        try:
            resting, findings = self._decided(search)
        except (WorkStoppedError, DisturbedError, TrialsUnavailableError):
            raise
        except TrialFailedError as error:
            search.check()  # a child that was stopped has not failed
            return NOTHING, OperatorFindings(reason=str(error))
        except OrtselError as error:
            return NOTHING, OperatorFindings(reason=str(error))
        except Exception as error:  # noqa: BLE001
            telemetry.unexpected("attention is not looked at by itself", error)
            return NOTHING, OperatorFindings(reason=f"{type(error).__name__}: {error}")
        if resting.decisions:
            with self._lock:
                while len(self._remembered) >= MOST_REMEMBERED:
                    self._remembered.pop(next(iter(self._remembered)))
                self._remembered[canonical(search.problem.workload)] = resting
        return resting, findings

    def _obstacle(self, problem: Problem, space: SearchSpace) -> str | None:
        """Return why it is not done; empty where nobody need be told."""
        if self._few or self._asked_for is False:
            return ""
        if len(attention_plans(space)) < LEAST_VARIANTS:
            return ""
        if any(one.name != CPU for one in space.plans[0].providers or ()):
            # Alone, it would pay for copies between device and host that it never makes inside.
            return "the session's own plan is not on the CPU alone"
        return None if problem.persistent else "the environment is not known in full"

    def _decided(self, search: Search) -> tuple[Resting, OperatorFindings]:
        plans = attention_plans(search.space)
        budget_ns = self._selector.policy.budget_ns
        if (need := COPIES * self._model_bytes()) > (got := available_memory_bytes()):
            reason = f"got {got >> 20} MiB of memory, need {need >> 20} to cut it out"
            return NOTHING, OperatorFindings(reason=reason)
        search.pause()
        deadline_ns = time.monotonic_ns() + budget_ns // CUTTING_SHARE
        whole, alone = self._sides(search.trials, deadline_ns)
        worth_ns = saved_ns(len(plans), whole)
        if reason := self._too_dear(worth_ns, spent_ns(len(plans), 1, alone), budget_ns):
            return NOTHING, OperatorFindings(reason=reason)
        folder = search.trials.scratch / "attention"
        folder.mkdir()
        search.pause()
        deadline_ns = time.monotonic_ns() + budget_ns // CUTTING_SHARE
        cut = cut_in_child(
            search.trials.model_path,
            search.space.plans[0],
            search.call.feed,
            tuple(plan.variant for plan in plans),
            folder,
            deadline_ns,
            search.subject.stop_asked,
            search.subject.niceness,
        )
        rewritten = [one for one in cut if len(one.variants) >= LEAST_VARIANTS]
        if not rewritten or any(len(one.variants) == 1 for one in cut):
            reason = f"fewer than {LEAST_VARIANTS} ways of writing it: {cut[0].words()}"
            return NOTHING, OperatorFindings(reason=reason)
        questions = [_Question.of(one, folder, search, plans) for one in rewritten]
        unknown = sum(self._record(one) is None for one in questions)
        if reason := self._too_dear(worth_ns, spent_ns(len(plans), unknown, alone), budget_ns):
            return NOTHING, OperatorFindings(reason=reason)
        return self._raced(search, questions, plans, budget_ns)

    def _sides(self, trials: CallTrials, deadline_ns: int) -> tuple[Side, Side]:
        """Return what trials of the whole model and of one attention cost."""
        session = trials.reference_session(deadline_ns)
        size = self._model_bytes()
        whole = Side(session.first_call_ns, session.creation_ns, rewrites=True, weight_bytes=size)
        return whole, Side(session.first_call_ns // LEAST_INSTANCES)

    def _model_bytes(self) -> int:
        source = self._model.source
        if isinstance(source, bytes):
            return len(source)
        files = (source, *(source.parent / name for name in self._model.content().external))
        return sum(file.stat().st_size for file in files)

    def _too_dear(self, worth_ns: int, cost_ns: int, budget_ns: int) -> str:
        if self._asked_for:
            return ""
        if cost_ns > budget_ns // SHARE:
            return f"it would take about {cost_ns / SECOND_NS:.0f} s, too much of the budget"
        if worth_ns > cost_ns:
            return ""
        return (
            f"it would take about {cost_ns / SECOND_NS:.0f} s and spare the model "
            f"{worth_ns / SECOND_NS:.0f} s"
        )

    def _record(self, question: "_Question") -> Record | None:
        return standing_decision(self._alone, question.key(self._alone.policy))

    def _raced(
        self,
        search: Search,
        questions: "Sequence[_Question]",
        plans: tuple[Plan, ...],
        budget_ns: int,
    ) -> tuple[Resting, OperatorFindings]:
        ends_ns = search.clock().monotonic_ns + budget_ns // SHARE
        decided: list[Decided] = []
        findings: list[OperatorFinding] = []
        for position, question in enumerate(questions):
            record, source = self._record(question), "stored"
            if record is None:
                left_ns = max(1, ends_ns - search.clock().monotonic_ns)
                self._race(search, question, left_ns // (len(questions) - position))
                record, source = self._record(question), "tuned"
            report = self._alone.report(question.key(self._alone.policy))
            candidates = () if report is None else report.candidates
            one = Decided(question.attention, record, candidates)
            decided.append(one)
            findings.append(_finding(one, source))
        named = tuple((plan.name, plan.variant) for plan in plans)
        open_ones = [one.attention.words() for one in decided if one.record is None]
        reason = f"undecided, so it only orders: {'; '.join(open_ones)}" if open_ones else ""
        resting = narrowed_by(tuple(decided), named, self._selector.policy.min_speedup)
        return resting, OperatorFindings(tuple(findings), reason)

    def _race(self, search: Search, question: "_Question", budget_ns: int) -> None:
        """Search for one attention, in so much time."""
        with CallTrials(question.subject, question.call) as trials:
            runner, clock = search.patient(_OnlyInChildren(trials))
            problem, candidates = question.problem, question.candidates
            # It serves nobody: a lucky winner costs the whole model's search some order.
            self._alone.select(
                problem,
                candidates,
                0,
                runner,
                clock=clock,
                budget_ns=budget_ns,
                confirms=False,
            )


@frozen
class _Question:
    """Which plan computes one attention fastest."""

    attention: CutAttention
    subject: Subject
    call: Call
    problem: Problem
    candidates: CandidateSet

    @classmethod
    def of(
        cls, attention: CutAttention, folder: Path, search: Search, plans: tuple[Plan, ...]
    ) -> "_Question":
        """Ask it for files that were cut out of a model."""
        reference = search.space.plans[0]
        built = dict(attention.variants)
        offered = (reference, *(plan for plan in plans if plan.variant in built))
        model = LoadedModel.of(folder / attention.model, time.time_ns())
        feed: dict[str, Any] = dict(read_values(folder / attention.feed))
        outputs = attention.outputs
        subject = evolve(
            search.subject,
            model=model,
            plans=offered,
            session_of=_no_session,
            variants=VariantCache(None),
            built=tuple((name, folder / file) for name, file in attention.variants),
            may_build_variants=True,
        )
        calling = Calling.BOUND_CPU
        whole = search.problem
        problem = Problem(
            scope=Scope.OPERATOR,
            operation=OPERATION,
            workload=workload_part(feed, outputs, calling, search.subject.load.part()),
            environment=whole.environment,
            model=model.content().digest,
            options=options_part(offered),
            persistent=whole.persistent,
        )
        return cls(
            attention,
            subject,
            Call(feed, outputs, calling, list),
            problem,
            CandidateSet(Candidate(plan.name) for plan in offered),
        )

    def key(self, policy: Policy) -> str:
        """Return the digest of its key."""
        return cache_key(self.problem, self.candidates, 0, policy).digest


def _finding(decided: Decided, source: str) -> OperatorFinding:
    record, attention = decided.record, decided.attention
    return OperatorFinding(
        attention.words(),
        UNDECIDED if record is None else record.winner,
        source,
        None if record is None else record.ratio,
        "" if record is None else record.key,
        attention.refused,
        decided.candidates if source == "tuned" else (),
    )


class _OnlyInChildren:
    """Trials that are never made in this process: nothing of an operator's search serves."""

    def __init__(self, trials: CallTrials) -> None:
        self._trials = trials

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Pass it on."""
        return self._trials.measure(candidate, purpose, deadline_ns)

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        """Pass it on."""
        return self._trials.validate(reference, candidate, deadline_ns)

    def record_loaded(self, record: Record) -> None:
        """Keep it back: a stored plan is compared in children like any other."""


def policy_alone(policy: Policy) -> Policy:
    """Return the policy by which attention is decided by itself.

    What gains a few per cent there is no gain that a whole model would show, so that it need not be
    told from the reference: near ties are what a search spends most of its time on.
    """
    evidence = policy.evidence
    if (
        isinstance(evidence, AnytimeValid)
        and evidence.max_blocks > MOST_BLOCKS
        and evidence.false_promotion_rate >= LEAST_RATE
    ):
        evidence = evolve(evidence, max_blocks=max(MOST_BLOCKS, evidence.min_blocks))
    return evolve(policy, min_speedup=max(policy.min_speedup, LEAST_SPEEDUP), evidence=evidence)


def options_part(plans: Sequence[Plan]) -> dict[str, Json]:
    """Return the options of a key for plans, the reference first."""
    described = sorted(canonical({plan.name: plan.parts()}) for plan in plans)
    return {"candidates": digest(canonical(described)), "reference": plans[0].parts()}


def beginning(moment: Moment, clock: Clock) -> Clock:
    """Return a clock that says this moment first, and then what the other one says.

    A request is made at the first time that it reads, so that its budget runs from there.
    """
    first = [moment]
    return lambda: first.pop() if first else clock()


def _no_session(_: Plan) -> None:
    """Say that no session serves: none ever does for attention by itself."""
