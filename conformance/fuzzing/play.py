"""A plan, played by the reference model: which events there are, and what each must lead to."""

from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from attrs import evolve, frozen

from conformance.codec import REPORT, encode_statistics
from conformance.fuzzing.plan import (
    NAMES,
    Action,
    Ask,
    Asked,
    JumpWall,
    LookAround,
    Misbehave,
    Plan,
    Serve,
    TakeBack,
    Trouble,
    Wait,
    Watch,
)
from conformance.protocol.message import Sight, Style
from spec.canonical_json import Json
from spec.decision import Decision
from spec.engine.effect import (
    Answer,
    Effect,
    LoadRecord,
    Measure,
    RemoveRecord,
    SaveRecord,
    Validate,
)
from spec.engine.event import (
    Abandoned,
    Compared,
    Event,
    Invalidated,
    Measured,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    Requested,
    StoreFailed,
    TrialFailed,
    Unverifiable,
    Validated,
)
from spec.engine.fingerprint import lower_level_fingerprint
from spec.engine.protocol import ProtocolError
from spec.engine.state import State, initial_state
from spec.engine.step import step
from spec.errors import InvalidValue
from spec.failure import Failure, FailureKind
from spec.moment import Moment
from spec.policy import SECOND_NS
from spec.problem import Scope
from spec.record import Record

START_WALL_S: Final = 1_700_000_000
MAX_STEPS: Final = 120
"""No further action begins after so many. What takes longer to show itself shrinks for minutes."""
OUTCOME_NS: Final = 100_000
"""Time between two outcomes; a budget of 5 ms ends after 50."""
SIGHTS: Final = tuple(Sight)
TRIAL_FAILURES: Final = (
    FailureKind.UNSUPPORTED,
    FailureKind.TRANSIENT,
    FailureKind.REJECTED,
    FailureKind.CRASHED,
    FailureKind.DEVICE,
)
Waiting: TypeAlias = LoadRecord | Measure | Validate


@frozen
class Took:
    """An event and its effects."""

    event: Event
    effects: tuple[Effect, ...]


@frozen
class Refused:
    """An event that was refused, and how."""

    event: Event
    refused: str


@frozen
class Saw:
    """A look, and what was seen."""

    sight: Sight
    now: Moment
    value: Json


PlayedStep: TypeAlias = Took | Refused | Saw


@frozen
class Play:
    """All steps, in order."""

    plan: Plan
    steps: tuple[PlayedStep, ...]
    selections: int
    """How many requests were made."""


def played(plan: Plan, style: Style) -> Play:
    """Play a plan. In the calling style each request is served to its end before anything else."""
    player = _Player(plan, style)
    for action in plan.actions:
        if len(player.steps) >= MAX_STEPS:
            break
        player.act(action)
    return Play(plan, tuple(player.steps), player.number)


class _Player:
    def __init__(self, plan: Plan, style: Style) -> None:
        self.plan = plan
        self.is_calling = style is Style.CALLING
        self.state: State = initial_state(plan.policy)
        self.steps: list[PlayedStep] = []
        self.number = 0
        self._store: dict[str, Record] = {}
        self._waiting: dict[int, Waiting] = {}
        self._asked: dict[int, Asked] = {}
        self._given: list[tuple[Decision, str]] = []
        self._monotonic_ns = SECOND_NS
        self._wall_offset_s = 0
        self._measured = 0

    def act(self, action: Action) -> None:
        match action:
            case Ask():
                self._ask(action)
            case Serve():
                if self._waiting:
                    self._serve(self._one_of_waiting(action.which), action.patience, action.trouble)
            case Wait():
                self._monotonic_ns += action.duration_ns
            case JumpWall():
                self._wall_offset_s += action.seconds
            case TakeBack():
                self._take_back(action)
            case Watch():
                self._watch(action)
            case Misbehave():
                self._misbehave(action)
            case LookAround():
                self._look(SIGHTS[action.sight % len(SIGHTS)])
            case _:
                assert_never(action)

    def _now(self) -> Moment:
        wall_s = START_WALL_S + self._monotonic_ns // SECOND_NS + self._wall_offset_s
        return Moment(self._monotonic_ns, wall_s)

    def _feed(self, event: Event) -> tuple[Effect, ...]:
        try:
            transition = step(self.state, event)
        except ProtocolError:
            self.steps.append(Refused(event, "out-of-turn"))
            return ()
        except InvalidValue:
            self.steps.append(Refused(event, "invalid-value"))
            return ()
        self.state = transition.state
        self.steps.append(Took(event, transition.effects))
        for effect in transition.effects:
            match effect:
                case SaveRecord():
                    self._store[effect.record.key] = effect.record
                case RemoveRecord():
                    self._store.pop(effect.key, None)
                case Answer():
                    self._answered(effect)
                case _:
                    self._waiting[effect.request] = effect
        return transition.effects

    def _answered(self, answer: Answer) -> None:
        self._waiting.pop(answer.request, None)
        asked = self._asked.pop(answer.request)
        if isinstance(answer.result, Decision):
            reference = asked.candidates[asked.reference].name
            self._given = [*self._given[-7:], (answer.result, reference)]

    def _ask(self, action: Ask) -> None:
        asked = self.plan.questions[action.question % len(self.plan.questions)]
        if action.turn and asked.candidates:
            turn = action.turn % len(asked.candidates)
            candidates = (*asked.candidates[turn:], *asked.candidates[:turn])
            reference = (asked.reference - turn) % len(asked.candidates)
            asked = Asked(asked.problem, candidates, reference)
        for _ in range(action.times):
            self.number += 1
            self._asked[self.number] = asked
            self._feed(
                Requested(
                    self.number,
                    self._now(),
                    asked.problem,
                    asked.candidates,
                    asked.reference,
                    action.nested,
                )
            )
            self._serve(self.number, action.patience, action.trouble)

    def _one_of_waiting(self, which: int) -> int:
        numbers = sorted(self._waiting)
        return numbers[which % len(numbers)]

    def _serve(self, request: int, patience: int, trouble: Trouble | None) -> None:
        done = 0
        while request in self._waiting and (done < patience or self.is_calling):
            self._monotonic_ns += OUTCOME_NS
            waiting = self._waiting[request]
            if trouble is not None and done == trouble.after:
                self._feed(self._bad_outcome(waiting, trouble.how))
            else:
                self._feed(self._good_outcome(waiting))
            done += 1

    def _good_outcome(self, effect: Waiting) -> Event:
        now = self._now()
        match effect:
            case LoadRecord():
                record = self._store.get(effect.key)
                if record is None:
                    return RecordAbsent(effect.request, now)
                return RecordLoaded(effect.request, now, record)
            case Validate():
                return Validated(effect.request, now, feeds=2)
            case Measure():
                name = self._asked[effect.request].candidates[effect.candidate].name
                base_ns = self.plan.latencies_ns[NAMES.index(name) if name in NAMES else 0]
                noise = self.plan.noise_percent[self._measured % len(self.plan.noise_percent)]
                self._measured += 1
                return Measured(effect.request, now, base_ns * (100 + noise) // 100)

    def _bad_outcome(self, effect: Waiting, how: int) -> Event:
        now, request = self._now(), effect.request
        failure = Failure(TRIAL_FAILURES[how % len(TRIAL_FAILURES)], "found")
        match effect:
            case LoadRecord():
                if how % 8 == 0:
                    return RecordUnreadable(request, now, "truncated")
                return RecordLoaded(request, now, self._found_record(effect, how))
            case Validate():
                odd: tuple[Event, ...] = (
                    Unverifiable(request, now, "a map"),
                    Validated(request, now, provisional=True),
                    TrialFailed(request, now, failure),
                    TrialFailed(request, now, failure),
                    Abandoned(request, now, "closing"),
                )
                return odd[how // len(TRIAL_FAILURES) % len(odd)]
            case Measure():
                outcomes: tuple[Event, ...] = (
                    TrialFailed(request, now, failure),
                    TrialFailed(request, now, failure),
                    Measured(request, now, 0),
                    Measured(request, now, 1),
                    Measured(request, now, 90 * SECOND_NS),
                    Abandoned(request, now, "closing"),
                )
                return outcomes[how // len(TRIAL_FAILURES) % len(outcomes)]

    def _found_record(self, effect: LoadRecord, how: int) -> Record:
        """Return a record that a store might hold: sound, or with one fault."""
        asked = self._asked[effect.request]
        reference = asked.candidates[asked.reference].name
        others = [one.name for one in asked.candidates] + ["z"]
        winner = others[how // 8 % len(others)]
        age_s = (0, 1, 4, 70, -299, -301)[how // 64 % 6]
        sound = Record(
            effect.key,
            asked.problem.scope,
            winner,
            reference,
            self._now().wall_s - age_s,
            100,
            50,
            Fraction(1, 2) if winner != reference else Fraction(1),
            Fraction(0),
            5,
            verified=True,
            feeds=2,
        )
        other = Scope.OPERATOR if asked.problem.scope is Scope.PIPELINE else Scope.PIPELINE
        faulty = (
            sound,
            sound,
            evolve(sound, scope=other),
            evolve(sound, verified=False),
            evolve(sound, provisional=True),
            evolve(sound, complete=False),
            evolve(sound, ratio=Fraction(3, 2)),
            evolve(sound, reference="z"),
        )
        return faulty[how % 8]

    def _take_back(self, action: TakeBack) -> None:
        if not self._given or (self.is_calling and self._waiting):
            return
        decision, reference = self._given[action.which % len(self._given)]
        self._feed(
            Invalidated(self._now(), decision.key, decision.name, reference, action.ban, "drifted")
        )

    def _watch(self, action: Watch) -> None:
        if not self._given or (self.is_calling and not action.checked):
            return
        decision, reference = self._given[action.which % len(self._given)]
        for _ in range(action.times):
            self._monotonic_ns += OUTCOME_NS
            self._feed(
                Compared(
                    self._now(),
                    decision.key,
                    decision.name,
                    reference,
                    100,
                    action.selected_ns,
                    action.checked,
                )
            )

    def _misbehave(self, action: Misbehave) -> None:
        if self.is_calling:
            return
        request = self._one_of_waiting(action.which) if self._waiting else self.number + 1
        now, effect = self._now(), self._waiting.get(request)
        events: list[Event] = [
            TrialFailed(request, now, Failure(FailureKind.INVALID, "no")),
            StoreFailed(now, "0" * 64, "disk full"),
        ]
        if not isinstance(effect, Measure):
            events.append(Measured(request, now, 5))
        if not isinstance(effect, Validate):
            events.append(Validated(request, now))
        if not isinstance(effect, LoadRecord):
            events.append(RecordAbsent(request, now))
        self._feed(events[action.how % len(events)])

    def _look(self, sight: Sight) -> None:
        now = self._now()
        value: Json
        match sight:
            case Sight.STATISTICS:
                value = encode_statistics(self.state.statistics)
            case Sight.REPORTS:
                value = [REPORT.encode(report) for report in self.state.reports]
            case Sight.FINGERPRINT:
                value = lower_level_fingerprint(self.state, now)
        self.steps.append(Saw(sight, now, value))
