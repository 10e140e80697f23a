"""One session's side of selection: describes its calls, runs trials, checks and keeps plans."""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.candidates import CandidateFacts, candidate_plans
from ortsel.environment import read_environment
from ortsel.errors import OrtselError
from ortsel.explain import Explanation, WorkloadExplanation
from ortsel.fork import keep_for_ever, starts_over
from ortsel.loaded_model import LoadedModel
from ortsel.plan import Plan
from ortsel.random_operators import random_operators
from ortsel.selection_config import SelectionConfig, SelectionMode
from ortsel.selector import Selector
from ortsel.selectors import searching
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.variant_cache import VariantMissingError, variant_cache
from ortsel.workload import describe_workload, workload_part
from spec.candidate import Candidate, CandidateSet
from spec.canonical_json import Json, canonical, digest
from spec.decision import Decision, Source
from spec.engine.statistics import Statistics
from spec.failure import Failure, FailureKind
from spec.policy import SECOND_NS, YEAR_S
from spec.problem import Problem, Scope

if TYPE_CHECKING:
    import onnxruntime

log = logging.getLogger("ortsel")

MAX_PLANS: Final = 1
"""Plan sessions alive beside the reference. Each holds the model's weights once more."""


NONDETERMINISTIC: Final = "reference_nondeterministic"
BUSY_RETRY_S: Final = 1
"""When a shape that found another search under way asks again."""

_warned: list[str] = []
"""Why tuning is off; the first reason is enough for everybody."""


@frozen
class Choice:
    """What serves a shape from now on."""

    session: "onnxruntime.InferenceSession | None"
    """The session of the winning plan; None is the reference."""
    until_ns: int
    """Monotonic time at which the choice is made anew."""
    run: "Callable[[Sequence[str], Mapping[str, Any], None], Any] | None" = None
    """ONNX Runtime's own entry behind the session that serves, for calls whose inputs were accepted
    once: by then its wrapper has nothing left to check. None where the wrapper must be asked."""


class Choices(dict[Hashable, Choice]):
    """What serves each shape, by the signature of its calls."""

    def __init__(self) -> None:
        super().__init__()
        starts_over(self)

    def remember(self, signature: Hashable, choice: Choice, most: int) -> None:
        """Let a choice serve a signature; of more than `most` the first in leaves."""
        self.pop(signature, None)
        while len(self) >= most:
            self.pop(next(iter(self)), None)
        self[signature] = choice

    def without(self, session: object) -> list[Hashable]:
        """Take a plan's session back everywhere, and return the signatures that it served."""
        served = [key for key, choice in list(self.items()) if choice.session is session]
        for signature in served:
            self[signature] = reference_for_ever()
        return served

    def after_fork_in_child(self) -> None:
        """Go back to the reference; the parent's plans cannot run here, nor be destroyed."""
        for choice in self.values():
            keep_for_ever(choice.session)
        self.clear()


class SessionTuner:
    """Everything between one session and the selector. Safe for many threads."""

    def __init__(
        self,
        model: LoadedModel,
        reference: Plan,
        config: SelectionConfig,
        selector: Selector,
    ) -> None:
        self._model = model
        self._reference = reference
        self._config = config
        self._selector = selector
        self._sessions: dict[str, onnxruntime.InferenceSession] = {}
        self._explained: dict[Hashable, WorkloadExplanation] = {}
        self._known_plans: tuple[Plan, ...] | None = None
        self._random: tuple[str, ...] | None = None
        self._lock = threading.Lock()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Start over; the parent's plans are of no use here and must not be destroyed."""
        self._lock = threading.Lock()
        for session in self._sessions.values():
            keep_for_ever(session)
        self._sessions = {}
        self._explained = {}

    def plans(self) -> tuple[Plan, ...]:
        """Return the reference and then the candidates, in the order in which they are tried."""
        if self._known_plans is None:
            facts = CandidateFacts.read(self._model.source, self._reference, self._config.plugins)
            self._known_plans = candidate_plans(self._reference, facts, self._config.candidates)
        return self._known_plans

    def asks_nobody(self) -> bool:
        """Whether a decision would be a miss for certain, so that nothing need be prepared."""
        cache_only = self._config.mode is SelectionMode.CACHE_ONLY
        return cache_only and self._selector.knows_nothing()

    def decide(self, signature: Hashable, describe: Callable[[], Call]) -> Choice:
        """Return what serves calls like this one, tuning now where the mode allows it.

        The user's own result is there already, so nothing that goes wrong here reaches the caller;
        `describe` gives the call, and is asked only where something can come of it.
        """
        workload = "a call"
        try:
            if self.asks_nobody():
                choice, explanation = self._miss(describe())
            else:
                call = describe()
                workload = describe_workload(call.feed, call.output_names, call.calling)
                choice, explanation = self._decide(workload, call)
        except TrialsUnavailableError as error:
            _warn_once(error)
            choice = reference_for_ever()
            explanation = WorkloadExplanation.kept(workload, str(error))
        except VariantMissingError as error:
            choice = Choice(None, _later(self._config.policy.retry_after_s))
            explanation = WorkloadExplanation.kept(workload, str(error))
        except OrtselError as error:
            log.info("ortsel: %s keeps the reference: %s", workload, error)
            choice = reference_for_ever()
            explanation = WorkloadExplanation.kept(workload, str(error))
        except Exception as error:
            log.exception("ortsel: %s keeps the reference", workload)
            choice = Choice(None, _later(self._config.policy.retry_after_s))
            explanation = WorkloadExplanation.kept(workload, f"{type(error).__name__}: {error}")
        self.note(signature, explanation)
        return choice

    def note(self, signature: Hashable, explanation: WorkloadExplanation) -> None:
        """Remember what to explain about a shape."""
        with self._lock:
            self._explained.pop(signature, None)
            while len(self._explained) >= self._config.max_shapes:
                self._explained.pop(next(iter(self._explained)))
            self._explained[signature] = explanation

    def statistics(self) -> Statistics:
        """Return the selector's counters."""
        return self._selector.state.statistics

    def explain(self) -> Explanation:
        """Return what was decided so far, per shape."""
        with self._lock:
            return Explanation(tuple(self._explained.values()))

    def withdraw(self, signature: Hashable, reason: str) -> None:
        """Stop serving a plan that failed in a request, and ban it for its key."""
        with self._lock:
            explanation = self._explained.get(signature)
            if explanation is None or explanation.plan == self._reference.name:
                return
            self._explained[signature] = explanation.withdrawn(self._reference.name, reason)
            self._sessions.pop(explanation.plan, None)
        log.warning("ortsel: %s keeps the reference: %s", explanation.workload, reason)
        self._selector.invalidate(
            explanation.key, explanation.plan, self._reference.name, ban=True, reason=reason
        )

    def problem(self, call: Call) -> Problem:
        """Return the question that a call asks, in the named parts of its key."""
        environment = read_environment()
        return Problem(
            scope=Scope.PIPELINE,
            operation="onnx-model",
            workload=workload_part(call.feed, call.output_names, call.calling),
            environment=environment.parts(),
            model=self._content(),
            options=self._options_part(),
            lower_level=self._selector.lower_level(),
            persistent=not environment.unknown,
        )

    def _content(self) -> str:
        """Return the model's hash. Node names count only where the user places nodes by name."""
        by_name = "session.name_based_layer_assignment" in dict(self._reference.settings.config)
        return self._model.content(node_names=by_name).digest

    def _options_part(self) -> Json:
        """Return what the user configured.

        Naming the providers that ONNX Runtime would have taken anyway changes nothing: the
        reference's are those that it reports.
        """
        plans = sorted(canonical({plan.name: plan.parts()}) for plan in self.plans())
        return {
            "candidates": digest(canonical(plans)),
            "reference": self._reference.parts(),
        }

    def _miss(self, call: Call) -> tuple[Choice, WorkloadExplanation]:
        """Say that there is nothing to find, without hashing the model or reading the machine."""
        workload = describe_workload(call.feed, call.output_names, call.calling)
        explanation = WorkloadExplanation.kept(workload, _REASONS[Source.CACHE_MISS])
        explanation = evolve(explanation, source=Source.CACHE_MISS.value)
        return Choice(None, _later(self._config.policy.retry_after_s)), explanation

    def _random_operators(self) -> tuple[str, ...]:
        """Return the operators of the model that draw random numbers, in any branch of it."""
        if self._random is None:
            self._random = random_operators(self._model.source)
        return self._random

    def _decide(self, workload: str, call: Call) -> tuple[Choice, WorkloadExplanation]:
        if drawing := self._random_operators():
            # Runs agree only as long as no branch that draws is taken, which no run can show.
            reason = f"{NONDETERMINISTIC}: the model draws random numbers ({', '.join(drawing)})"
            return reference_for_ever(), WorkloadExplanation.kept(workload, reason)
        plans = self.plans()
        budget_ns = self._selector.policy.budget_ns
        subject = Subject(
            self._model,
            plans,
            self.session_of,
            budget_ns,
            self._config.synthetic_feeds,
            self._config.progress,
            may_build_variants=self._config.mode is SelectionMode.BLOCKING,
            variants=variant_cache(self._config.store),
        )
        with CallTrials(subject, call) as trials:
            candidates = CandidateSet(Candidate(plan.name) for plan in plans)
            decision = self._select(call, candidates, trials)
            self._model.check_unchanged()
            if isinstance(decision, Failure):
                explanation = WorkloadExplanation.kept(workload, words(decision))
                return Choice(None, _later(self._config.policy.retry_after_s)), explanation
            session, obstacle = None, ""
            if decision.index != decision.reference_index:
                session, obstacle = self._admit(decision, trials)
            return self._chosen(workload, decision, session, obstacle)

    def _select(
        self, call: Call, candidates: tuple[Candidate, ...], trials: CallTrials
    ) -> Decision | Failure:
        """Ask the selector; measuring needs the process's one place for searches."""
        problem = self.problem(call)
        if self._config.mode is not SelectionMode.BLOCKING:
            return self._selector.select(problem, candidates, 0, trials)
        place = searching()
        if not place.acquire(blocking=False):
            answer = self._selector.select(problem, candidates, 0, trials, nested=True)
            if isinstance(answer, Decision) and answer.source is Source.NESTED:
                return evolve(answer, source=Source.BUSY)
            return answer
        try:
            return self._selector.select(problem, candidates, 0, trials)
        finally:
            place.release()

    def _admit(
        self, decision: Decision, trials: CallTrials
    ) -> tuple["onnxruntime.InferenceSession | None", str]:
        """Build the winner in this process, and check it on the call that asked.

        Returns its session, or why it cannot serve.
        """
        plan = self.plans()[decision.index]
        with self._lock:
            held = plan.name in self._sessions
            full = not held and len(self._sessions) >= MAX_PLANS
            others = ", ".join(self._sessions)
        if full:
            return (
                None,
                f"{plan.name} is faster, but {others} is held already (at most {MAX_PLANS})",
            )
        try:
            session = trials.check_here(decision.index)
        except TrialFailedError as error:
            reason = f"{plan.name} failed in this process: {words(error.failure)}"
            ban = error.failure.kind is not FailureKind.TRANSIENT
            self._selector.invalidate(
                decision.key, plan.name, self._reference.name, ban=ban, reason=reason
            )
            return None, reason
        with self._lock:
            return self._sessions.setdefault(plan.name, session), ""

    def _chosen(
        self,
        workload: str,
        decision: Decision,
        session: "onnxruntime.InferenceSession | None",
        obstacle: str,
    ) -> tuple[Choice, WorkloadExplanation]:
        searched = decision.source in (Source.TUNED, Source.BYPASSED, Source.MEMORY)
        report = self._selector.report(decision.key) if searched else None
        serves_reference = session is None
        explanation = WorkloadExplanation(
            workload=workload,
            plan=self._reference.name if serves_reference else decision.name,
            source=decision.source.value,
            verified=decision.verified and not obstacle,
            ratio=None if obstacle else decision.ratio,
            reason=obstacle or _reason(decision),
            key=decision.key,
            candidates=() if report is None else report.candidates,
            changes=tuple((plan.name, plan.notes) for plan in self.plans()),
            elapsed_ns=0 if report is None else report.elapsed_ns,
        )
        until_ns = self._selector.valid_until_ns(decision.key)
        if decision.source in (Source.BUSY, Source.NESTED):
            until_ns = _later(BUSY_RETRY_S)
        elif until_ns is None:
            until_ns = _later(self._config.policy.retry_after_s)
        return Choice(session, until_ns), explanation

    def session_of(self, plan: Plan) -> "onnxruntime.InferenceSession | None":
        """Return the session that serves a plan in this process, if there is one."""
        with self._lock:
            return self._sessions.get(plan.name)


def words(failure: Failure) -> str:
    """Return a failure as one line for people."""
    return f"{failure.code}: {failure.detail}" if failure.detail else failure.code


def _later(seconds: int) -> int:
    return time.monotonic_ns() + seconds * SECOND_NS


def _warn_once(error: TrialsUnavailableError) -> None:
    if not _warned:
        _warned.append(str(error))
        log.warning("ortsel: tuning is off in this process: %s", error)


def reference_for_ever() -> Choice:
    """Return the choice of the reference that is not looked at again in this process."""
    return Choice(None, _later(YEAR_S))


def _reason(decision: Decision) -> str:
    if decision.source is Source.TUNED and decision.index != decision.reference_index:
        words = "faster beyond the noise, and verified equal"
        return f"{words}; {decision.reason}" if decision.reason else words
    if decision.source in (Source.TUNED, Source.MEMORY, Source.STORED):
        return _REASONS[decision.source]
    return decision.reason or _REASONS[decision.source]


_REASONS: Final = {
    Source.TUNED: "no candidate was faster beyond the noise and verified",
    Source.MEMORY: "decided earlier in this process",
    Source.STORED: "decided earlier, validated once in this process",
    Source.DISABLED: "selection is disabled",
    Source.BYPASSED: "the reference could not be measured or verified",
    Source.NESTED: "asked from inside a trial",
    Source.BUSY: "another search is under way",
    Source.CACHE_MISS: "no stored decision for this shape: tune it, or use mode blocking",
}
