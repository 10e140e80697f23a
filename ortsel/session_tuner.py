"""One session's side of selection: describes its calls, runs trials, checks and keeps plans."""

import logging
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, frozen

from ortsel import telemetry
from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.background.patient_trials import PatientTrials
from ortsel.background.turn import Turn
from ortsel.call_trials import Call, CallTrials, Subject
from ortsel.candidates import CandidateFacts, SearchSpace, candidate_space
from ortsel.choice import Choice, later_ns, reference_for_ever
from ortsel.decision_words import explained, missed, waiting, with_few_turns, words
from ortsel.environment import read_environment
from ortsel.errors import OrtselError
from ortsel.explain import Explanation, WorkloadExplanation
from ortsel.fork import keep_for_ever, starts_over
from ortsel.loaded_model import LoadedModel
from ortsel.operator_scope.findings import OperatorFindings
from ortsel.operator_scope.resting import NOTHING, Resting
from ortsel.operator_scope.scope import OperatorScope, Search, beginning, options_part
from ortsel.plan import Plan, Shapes, sorted_shapes
from ortsel.provider_caches import cache_folder
from ortsel.question import Question
from ortsel.random_operators import random_operators
from ortsel.ranking_by_history import ranked_by_history
from ortsel.ranking_by_records import ranked_by_records
from ortsel.selection_config import SelectionConfig, SelectionMode
from ortsel.selector import Selector, TrialRunner, read_moment, searching_ns
from ortsel.selectors import searching
from ortsel.store.search_log import Considered
from ortsel.store.store import Store
from ortsel.trial.calling import Calling, WayOfCalling
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.trial.limits import never
from ortsel.variant_cache import VariantMissingError, variant_cache
from ortsel.watch.replay import Round, Served, replay
from ortsel.watch.served_call import ServedCall
from ortsel.workload_mapper import WorkloadMapper
from spec.canonical_json import Json
from spec.decision import Decision, Source
from spec.engine.statistics import Statistics
from spec.failure import Failure, FailureKind
from spec.keys import key_parts
from spec.moment import Moment
from spec.problem import Problem, Scope

if TYPE_CHECKING:
    import onnxruntime

MAX_PLANS: Final = 1
"""Sessions of plans for any shape alive beside the reference. Each holds the model's weights once
more, but for those that are mapped."""
MAX_SHAPE_PLANS: Final = 8
"""The same of plans that are made for one shape, counted apart: a shape's own small gain is not to
keep out what every shape gains from."""
SHAPE_PLANS_BYTES: Final = 256 * 2**20
"""What models of these together may take, but for the first. Shapes for which there is no room are
offered plans for any shape alone: one of those can serve them all."""
MAX_SPACES: Final = 64
"""Shapes whose candidates are remembered; they are made again within some milliseconds."""
SCREENING_SHARE: Final = 2
"""What part of a search's budget short looks at its candidates may take, at most."""
NONDETERMINISTIC: Final = "reference_nondeterministic"
BUSY_RETRY_S: Final = 1
"""When a shape that found another search under way asks again."""
NICENESS: Final = 19
"""Of the children of a search in the background: the system's lowest ordinary priority."""

_warned: list[str] = []
"""Why tuning is off; the first reason is enough for everybody."""


@frozen
class Idle:
    """The background's side of a decision."""

    turn: Turn
    reason_against_search: Callable[[], str]
    """Gives why there must be no search for this shape now; empty when there may be one."""


@frozen
class _NotYetError(OrtselError):
    """Only a search could tell, and there must be none now."""

    reason: str


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
        self.mapper = WorkloadMapper(config.shape_buckets, config.workload_values, config.load)
        """How calls are told apart, in tuning and in serving alike."""
        self._sessions: dict[str, onnxruntime.InferenceSession] = {}
        self._for_one_shape: dict[str, Shapes] = {}
        """What the sessions take that take one shape alone, by the names of their plans."""
        self._explained: dict[Hashable, WorkloadExplanation] = {}
        self._known_facts: CandidateFacts | None = None
        self._spaces: dict[tuple[Shapes, bool], SearchSpace] = {}
        self._known_scope: OperatorScope | None = None
        self._random: tuple[str, ...] | None = None
        self._lock = threading.RLock()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Start over; the parent's plans are of no use here and must not be destroyed."""
        self._lock = threading.RLock()
        for session in self._sessions.values():
            keep_for_ever(session)
        self._sessions = {}
        self._explained = {}
        if self._known_scope is not None:
            self._known_scope.after_fork_in_child()

    def _facts(self) -> CandidateFacts:
        """Return what no call changes; read at the first need, since it takes a while."""
        if self._known_facts is None:
            facts = CandidateFacts.read(self._model.source, self._reference, self._config.plugins)
            tolerance = self._config.tolerance
            facts = evolve(facts, reduced_precision=tolerance.is_loose, lossy=tolerance.is_lossy)
            self._known_scope = OperatorScope(
                self._model,
                self._selector,
                self._config.operator_scope,
                facts.model.attention_nodes,
            )
            self._known_facts = facts
        return self._known_facts

    def _space(self, call: Call) -> SearchSpace:
        """Return the candidates of a call: those for any shape, and those for its shapes alone."""
        shapes = self._shapes(call)
        copied = bool(shapes) and call.calling is Calling.NUMPY
        known = self._spaces.get((shapes, copied))
        if known is not None:
            return known
        facts = evolve(self._facts(), shapes=shapes, has_fixed_addresses=copied)
        space = candidate_space(self._reference, facts, self._config.candidates)
        own = self._config.candidates is None
        if own and self._config.mode is not SelectionMode.CACHE_ONLY:
            space = ranked_by_records(space, self._selector.store, self._content())
        if len(self._spaces) >= MAX_SPACES:
            self._spaces.clear()
        self._spaces[shapes, copied] = space
        return space

    def _shapes(self, call: Call) -> Shapes:
        """Return the shapes that a plan may be made for; none where shapes share a decision."""
        if self.mapper.buckets is not None:
            return ()
        shapes = sorted_shapes((name, value.shape) for name, value in call.feed.items())
        with self._lock:
            held = [
                self._for_one_shape[name] for name in self._sessions if name in self._for_one_shape
            ]
        has_room = not held or shapes in held or len(held) < self._most_shape_plans()
        return shapes if has_room else ()

    def _most_shape_plans(self) -> int:
        """Return how many sessions for one shape may be alive; one, of weights in other files."""
        try:
            weights_elsewhere = bool(self._model.content().external)
        except OrtselError:
            weights_elsewhere = True
        if weights_elsewhere:
            return 1
        fitting = SHAPE_PLANS_BYTES // max(1, self._model.size_bytes())
        return max(1, min(MAX_SHAPE_PLANS, fitting))

    def asks_nobody(self) -> bool:
        """Whether a decision would be a miss for certain, so that nothing need be prepared."""
        cache_only = self._config.mode is SelectionMode.CACHE_ONLY
        return cache_only and self._selector.knows_nothing()

    def decide(self, signature: Hashable, describe: Callable[[], Call]) -> Choice:
        """Return what serves calls like this one, tuning now where the mode allows it.

        The user's own result is there already, so nothing that goes wrong here reaches the caller;
        `describe` gives the call, and is asked only where something can come of it.
        """
        workload: list[str] = []

        def decided() -> tuple[Choice, WorkloadExplanation]:
            call = describe()
            workload.append(self.describe(call))
            if self.asks_nobody():
                return Choice(None, later_ns(self._config.policy.retry_after_s)), missed(
                    workload[0]
                )
            return self._decide(workload[0], call, None)

        return self._noted(signature, workload, decided)

    def decide_when_idle(self, signature: Hashable, call: Call, idle: Idle) -> Choice | None:
        """Return what serves calls like this one, from the background thread.

        None when only a search could tell, and `idle` has a reason against one. Raises
        `WorkStoppedError` and `DisturbedError`; nothing else.
        """
        workload = self.describe(call)
        try:
            return self._noted(signature, [workload], lambda: self._decide(workload, call, idle))
        except _NotYetError as error:
            self.note(signature, waiting(workload, error.reason))
            return None

    def _noted(
        self,
        signature: Hashable,
        described: Sequence[str],
        decide: Callable[[], tuple[Choice, WorkloadExplanation]],
    ) -> Choice:
        """Decide, keep what there is to explain, and let nothing out that goes wrong."""

        def kept(reason: str) -> WorkloadExplanation:
            return WorkloadExplanation.kept(described[0] if described else "a call", reason)

        try:
            choice, explanation = decide()
        except (WorkStoppedError, DisturbedError, _NotYetError):
            raise
        except TrialsUnavailableError as error:
            _warn_once(error)
            choice, explanation = reference_for_ever(), kept(str(error))
        except VariantMissingError as error:
            choice = Choice(None, later_ns(self._config.policy.retry_after_s))
            explanation = kept(str(error))
        except OrtselError as error:
            explanation = kept(str(error))
            telemetry.tell(
                logging.INFO,
                "reference-kept",
                f"{explanation.workload} keeps the reference: {error}",
                workload=explanation.workload,
                reason=str(error),
            )
            choice = reference_for_ever()
        except Exception as error:  # noqa: BLE001
            explanation = kept(f"{type(error).__name__}: {error}")
            telemetry.unexpected("a shape keeps the reference", error)
            choice = Choice(None, later_ns(self._config.policy.retry_after_s))
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

    def withdraw(self, signature: Hashable, reason: str, cause: str) -> None:
        """Stop serving a plan that failed or was wrong in a request, and ban it for its key."""
        explanation = self._withdrawn(signature, reason, drop=True)
        if explanation is None:
            return
        workload, plan = explanation.workload, explanation.plan
        telemetry.warn_once(
            plan,
            "plan-withdrawn",
            f"{workload}: {plan} is banned: {reason}; the reference serves, and nothing need be "
            "done; this is a fault of the plan worth reporting",
            workload=workload,
            plan=plan,
            key=explanation.key,
            cause=cause,
            reason=reason,
        )
        telemetry.banned(cause)
        self._selector.invalidate(
            explanation.key, plan, self._reference.name, ban=True, reason=reason
        )

    def demoted(self, signature: Hashable, reason: str, *, drop: bool) -> None:
        """Say that a plan was taken back; `drop` its session where nothing else uses it."""
        self._withdrawn(signature, reason, drop=drop)

    def _withdrawn(
        self, signature: Hashable, reason: str, *, drop: bool
    ) -> WorkloadExplanation | None:
        """Say that the reference serves; return what was said before, if a plan served."""
        with self._lock:
            explanation = self._explained.get(signature)
            if explanation is None or explanation.plan == self._reference.name:
                return None
            self._explained[signature] = explanation.withdrawn(self._reference.name, reason)
            if drop:
                self._sessions.pop(explanation.plan, None)
            return explanation

    def workload_of(self, signature: Hashable) -> str:
        """Return a line about a shape."""
        explanation = self._explained.get(signature)
        return "a call" if explanation is None else explanation.workload

    def same_key(self, signature: Hashable) -> list[Hashable]:
        """Return the signatures that share a decision with this one, itself included."""
        with self._lock:
            known = self._explained.get(signature)
            if known is None or not known.key:
                return [signature]
            return [one for one, said in self._explained.items() if said.key == known.key]

    def replay(self, signature: Hashable, call: ServedCall, turn: Turn, seed: int) -> Round | None:
        """Time a served plan in pairs with the reference; None where it serves no more.

        Raises `DisturbedError`, `WorkStoppedError`, `TrialFailedError`, `TrialsUnavailableError`.
        """
        explanation = self._explained.get(signature)
        if explanation is None or not self._selector.holds(explanation.key, explanation.plan):
            return None
        repeated = Call(call.inputs.feed, call.output_names, call.calling, list)
        plans = self._space(repeated).plans
        names = [plan.name for plan in plans]
        if explanation.plan not in names[1:]:
            return None
        place = searching()
        if not place.acquire(blocking=False):
            raise DisturbedError("a search is under way")
        try:
            with CallTrials(self._subject(Idle(turn, str), plans), repeated) as trials:
                served = Served(
                    explanation.key,
                    explanation.plan,
                    names.index(explanation.plan),
                    self._reference.name,
                )
                patient = PatientTrials(trials, turn)
                budget_ns = self._selector.policy.budget_ns
                return replay(self._selector, served, patient, budget_ns, seed)
        finally:
            place.release()

    def question(self, call: Call, store: Store | None = None) -> Question:
        """Return the question that a call asks, with what its candidates rest on.

        Nothing is decided for it; `store` is another place to look in than the selector's own.
        """
        space = self._space(call)
        plain = self._asked(call, space, NOTHING)
        asked = key_parts(plain.problem, plain.candidates, 0, self._selector.policy)
        resting = self._scope().known(asked, plain.problem, space, store)
        return self._asked(call, space, resting) if resting.decisions else plain

    def _scope(self) -> OperatorScope:
        self._facts()
        assert self._known_scope is not None, "made with the facts"
        return self._known_scope

    def _asked(
        self,
        call: Call,
        space: SearchSpace,
        resting: Resting,
        findings: OperatorFindings | None = None,
    ) -> Question:
        told = self._scope().told(resting) if findings is None else findings
        narrowed = resting.narrowed(space)
        return Question(self._problem(call, narrowed, resting), narrowed, resting, told)

    def _problem(self, call: Call, space: SearchSpace, resting: Resting) -> Problem:
        """Return the question that a call asks, in the named parts of its key."""
        environment = read_environment()
        return Problem(
            scope=Scope.PIPELINE,
            operation="onnx-model",
            workload=call.workload or self.workload(call.feed, call.output_names, call.calling),
            environment=environment.parts(),
            model=self._content(),
            # Naming the providers that ONNX Runtime would have taken anyway changes nothing: the
            # reference's are those that it reports.
            options=options_part(space.plans) | resting.options(),
            lower_level=resting.fingerprint(),
            persistent=not environment.unknown,
        )

    def workload(
        self, feed: Mapping[str, Any], output_names: Sequence[str], calling: WayOfCalling
    ) -> Json:
        """Return the workload as a part of a key. Raises `UntunableFeedError`."""
        return self.mapper.part(feed, output_names, calling)

    def describe(self, call: Call) -> str:
        """Return one line for people about a call."""
        return self.mapper.describe(call.feed, call.output_names, call.calling)

    def _content(self) -> str:
        """Return the model's hash. Node names count only where the user places nodes by name."""
        by_name = "session.name_based_layer_assignment" in dict(self._reference.settings.config)
        return self._model.content(node_names=by_name).digest

    def _random_operators(self) -> tuple[str, ...]:
        """Return the operators of the model that draw random numbers, in any branch of it."""
        if self._random is None:
            self._random = random_operators(self._model.source)
        return self._random

    def _decide(
        self, workload: str, call: Call, idle: Idle | None
    ) -> tuple[Choice, WorkloadExplanation]:
        self._model.check_unchanged()  # before another model's operators are looked at
        if drawing := self._random_operators():
            # Runs agree only as long as no branch that draws is taken, which no run can show.
            reason = f"{NONDETERMINISTIC}: the model draws random numbers ({', '.join(drawing)})"
            return reference_for_ever(), WorkloadExplanation.kept(workload, reason)
        question = self.question(call)
        with CallTrials(self._subject(idle, question.space.plans), call) as trials:
            decision, question = self._select(question, call, trials, idle)
            self._model.check_unchanged()
            if isinstance(decision, Failure):
                explanation = WorkloadExplanation.kept(workload, words(decision))
                return Choice(None, later_ns(self._config.policy.retry_after_s)), explanation
            session, obstacle = None, None
            if decision.index != decision.reference_index:
                if idle is not None:
                    idle.turn.pause()
                session, obstacle = self._admit(decision, question.space, trials)
            choice, explanation = self._chosen(workload, decision, question, session, obstacle)
            return choice, evolve(
                explanation, disturbed=trials.disturbed(), by_state=trials.by_state()
            )

    def _subject(self, idle: Idle | None, plans: tuple[Plan, ...]) -> Subject:
        return Subject(
            self._model,
            plans,
            self.session_of,
            self._selector.policy.budget_ns,
            self._config.synthetic_feeds,
            self._config.progress,
            may_build_variants=self._config.mode is not SelectionMode.CACHE_ONLY,
            variants=variant_cache(self._config.store),
            caches=cache_folder(self._config.store),
            niceness=0 if idle is None else NICENESS,
            stop_asked=never if idle is None else idle.turn.is_stopped,
            tolerance=self._config.tolerance,
            third_opinion=self._config.third_opinion,
            load=self._config.load,
        )

    def _select(
        self, question: Question, call: Call, trials: CallTrials, idle: Idle | None
    ) -> tuple[Decision | Failure, Question]:
        """Ask the selector; measuring needs the process's one place for searches.

        Returns the question too, since a search may first decide about attention by itself.
        """
        problem, candidates = question.problem, question.candidates
        if self._config.mode is SelectionMode.CACHE_ONLY:
            return self._selector.select(problem, candidates, 0, trials), question
        if (
            idle is not None
            and not self._selector.knows(problem, candidates, 0)
            and (reason := idle.reason_against_search())
        ):
            raise _NotYetError(reason)
        place = searching()
        if not place.acquire(blocking=False):
            if idle is not None:
                raise DisturbedError("another search is under way")
            answer = self._selector.select(problem, candidates, 0, trials, nested=True)
            if isinstance(answer, Decision) and answer.source is Source.NESTED:
                return evolve(answer, source=Source.BUSY), question
            return answer, question
        try:
            runner, clock = _patient(trials, idle)
            began = clock()
            if not self._selector.decides(problem, candidates, 0):
                question = self._with_operators(question, call, trials, idle, clock)
                question = self._by_history(question, call)
                trials.offer(question.space.plans)
                question = self._screened(question, trials, idle, clock)
                ends_ns = began.monotonic_ns + searching_ns(self._selector.policy.budget_ns)
                question = question.affordable(trials.turns(ends_ns - clock().monotonic_ns))
                trials.offer(question.space.plans)
            return self._selector.select(
                question.problem,
                question.candidates,
                0,
                runner,
                clock=beginning(began, clock),
                considered=_considered(question.space),
                most_turns=question.turns,
            ), question
        finally:
            place.release()

    def _by_history(self, question: Question, call: Call) -> Question:
        """Return the question with its candidates in the order that earlier searches suggest.

        Candidates of the user's own keep the user's order.
        """
        if self._config.candidates is not None:
            return question
        space = ranked_by_history(
            self._space(call),
            self._facts(),
            self._selector.searches,
            question.problem,
            read_moment().wall_s,
        )
        return evolve(question, space=evolve(question.resting.narrowed(space), placed=space.placed))

    def _screened(
        self,
        question: Question,
        trials: CallTrials,
        idle: Idle | None,
        clock: Callable[[], Moment],
    ) -> Question:
        """Return the question after a short look at its candidates, where there are many."""
        share_ns = self._selector.policy.budget_ns // SCREENING_SHARE
        ends_ns = clock().monotonic_ns + share_ns

        def left_ns() -> int:
            return ends_ns - clock().monotonic_ns

        def at_once(look: Callable[[], Fraction]) -> Fraction:
            return look()

        undisturbed = at_once if idle is None else idle.turn.undisturbed
        screened = trials.screen(left_ns, undisturbed)
        if screened.ratios or screened.failures:
            question = question.shortlisted(screened)
        return question

    def _with_operators(
        self,
        question: Question,
        call: Call,
        trials: CallTrials,
        idle: Idle | None,
        clock: Callable[[], Moment],
    ) -> Question:
        """Return the question after its attention was decided by itself, where that can pay."""
        if question.resting.decisions:
            return question
        search = Search(
            call,
            trials,
            self._subject(idle, question.space.plans),
            question.problem,
            question.space,
            clock,
            lambda inner: _patient(inner, idle),
            _nothing if idle is None else idle.turn.pause,
            _nothing if idle is None else idle.turn.check,
        )
        resting, findings = self._scope().decide(search)
        return self._asked(call, self._space(call), resting, findings)

    def _admit(
        self, decision: Decision, space: SearchSpace, trials: CallTrials
    ) -> tuple["onnxruntime.InferenceSession | None", str | None]:
        """Build the winner in this process, and check it on the call that asked.

        Returns its session, or why it cannot serve.
        """
        plan = space.plans[decision.index]
        most = self._most_shape_plans() if plan.shapes else MAX_PLANS
        with self._lock:
            held = plan.name in self._sessions
            of_a_kind = [
                name
                for name in self._sessions
                if (name in self._for_one_shape) == bool(plan.shapes)
            ]
            full = not held and len(of_a_kind) >= most
            others = ", ".join(of_a_kind)
        if full:
            return (
                None,
                f"{plan.name} is faster, but {others} is held already (at most {most})",
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
            if plan.shapes:
                self._for_one_shape[plan.name] = plan.shapes
            return self._sessions.setdefault(plan.name, session), None

    def _chosen(
        self,
        workload: str,
        decision: Decision,
        question: Question,
        session: "onnxruntime.InferenceSession | None",
        obstacle: str | None,
    ) -> tuple[Choice, WorkloadExplanation]:
        searched = decision.source in (Source.TUNED, Source.BYPASSED, Source.MEMORY)
        report = self._selector.report(decision.key) if searched else None
        if report is not None and question.turns is not None:
            report = with_few_turns(report, question.turns)
        explanation = explained(workload, decision, question.space, obstacle, report)
        explanation = evolve(explanation, operators=question.findings)
        until_ns = self._selector.valid_until_ns(decision.key)
        if decision.source in (Source.BUSY, Source.NESTED):
            until_ns = later_ns(BUSY_RETRY_S)
        elif until_ns is None:
            until_ns = later_ns(self._config.policy.retry_after_s)
        return Choice(session, until_ns), explanation

    def session_of(self, plan: Plan) -> "onnxruntime.InferenceSession | None":
        """Return the session that serves a plan in this process, if there is one."""
        with self._lock:
            return self._sessions.get(plan.name)


def _patient(trials: TrialRunner, idle: Idle | None) -> tuple[TrialRunner, Callable[[], Moment]]:
    """Return trials that wait while somebody asks, in the background, and the time to go by."""
    if idle is None:
        return trials, read_moment
    patient = PatientTrials(trials, idle.turn)
    return patient, patient.now


def _considered(space: SearchSpace) -> Considered:
    return Considered(space.generated, space.left_out_by_rule(), space.placed)


def _nothing() -> None:
    """Check nothing: who asked waits for the answer."""


def _warn_once(error: TrialsUnavailableError) -> None:
    if not _warned:
        _warned.append(str(error))
        telemetry.tell(
            logging.WARNING,
            "tuning-off",
            f"tuning is off in this process: {error}; the reference serves",
            reason=str(error),
        )
