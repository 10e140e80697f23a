"""A small obedient shell for examples: says what each plan does, runs requests, keeps a trace."""

from collections.abc import Sequence

from attrs import define, field

from spec import (
    Answer,
    Candidate,
    Decision,
    Effect,
    Event,
    Failure,
    FailureKind,
    LoadRecord,
    Measure,
    Measured,
    MedianMad,
    Moment,
    Policy,
    Problem,
    Record,
    RecordAbsent,
    RecordLoaded,
    RemoveRecord,
    Requested,
    SaveRecord,
    Scope,
    State,
    TrialFailed,
    Unverifiable,
    Validate,
    Validated,
    initial_state,
    step,
)

MILLISECOND_NS = 1_000_000
SECOND_NS = 1_000_000_000
REFERENCE, FAST, SLOW = Candidate("reference"), Candidate("fast"), Candidate("slow")
THREE = (REFERENCE, FAST, SLOW)
SPEEDS_NS = {"reference": 100_000, "fast": 50_000, "slow": 200_000, "faster": 40_000}
SIMPLE = Policy(evidence=MedianMad(samples=3), retry_after_s=60, ttl_s=600)


def problem(
    operation: str = "softmax",
    *,
    device: str = "cpu",
    scope: Scope = Scope.OPERATOR,
    persistent: bool = True,
    lower_level: str = "",
) -> Problem:
    return Problem(
        scope,
        operation,
        {"rows": 8},
        {"device": device},
        lower_level=lower_level,
        persistent=persistent,
    )


@define
class Scenario:
    """One engine and the world it works in."""

    policy: Policy = SIMPLE
    state: State = field(init=False)
    speeds_ns: dict[str, int] = field(factory=lambda: dict(SPEEDS_NS))
    check_failures: dict[str, Failure] = field(factory=dict)
    """What a validation of a candidate ends in."""
    run_failures: dict[str, Failure] = field(factory=dict)
    """What a measurement of a candidate ends in."""
    unverifiable: set[str] = field(factory=set)
    synthetic: bool = False
    """Whether validations use synthetic feeds."""
    store: dict[str, Record] = field(factory=dict)
    monotonic_ns: int = SECOND_NS
    wall_s: int = 1_700_000_000
    step_ns: int = 1000
    """How long each outcome takes."""
    trace: list[Effect] = field(factory=list)
    log: list[Event] = field(factory=list)
    answers: dict[int, Decision | Failure] = field(factory=dict)
    outstanding: dict[int, Effect] = field(factory=dict)
    requests: dict[int, Requested] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.state = initial_state(self.policy)

    def now(self) -> Moment:
        return Moment(self.monotonic_ns, self.wall_s)

    def wait(self, seconds: int) -> None:
        self.monotonic_ns += seconds * SECOND_NS
        self.wall_s += seconds

    def apply(self, event: Event) -> tuple[Effect, ...]:
        transition = step(self.state, event)
        self.state = transition.state
        self.log.append(event)
        self.trace += transition.effects
        for effect in transition.effects:
            match effect:
                case SaveRecord():
                    self.store[effect.record.key] = effect.record
                case RemoveRecord():
                    self.store.pop(effect.key, None)
                case Answer():
                    self.answers[effect.request] = effect.result
                    self.outstanding.pop(effect.request, None)
                case _:
                    self.outstanding[effect.request] = effect
        return transition.effects

    def begin(
        self,
        asked: Problem | None = None,
        candidates: Sequence[Candidate] = THREE,
        *,
        reference: int = 0,
        nested: bool = False,
    ) -> int:
        """Send a request; return its number."""
        number = len(self.requests) + 1
        event = Requested(
            number, self.now(), asked or problem(), tuple(candidates), reference, nested
        )
        self.requests[number] = event
        self.apply(event)
        return number

    def ask(
        self,
        asked: Problem | None = None,
        candidates: Sequence[Candidate] = THREE,
        *,
        reference: int = 0,
        nested: bool = False,
    ) -> Decision | Failure:
        """Send a request and see it through."""
        number = self.begin(asked, candidates, reference=reference, nested=nested)
        self.go_on(number)
        return self.answers[number]

    def decide(
        self,
        asked: Problem | None = None,
        candidates: Sequence[Candidate] = THREE,
        *,
        reference: int = 0,
        nested: bool = False,
    ) -> Decision:
        """Send a request that must end in a decision, and see it through."""
        result = self.ask(asked, candidates, reference=reference, nested=nested)
        assert isinstance(result, Decision), result
        return result

    def go_on(self, number: int, steps: int = 100_000) -> None:
        """Report honest outcomes of a request, until it is answered or for some steps."""
        for _ in range(steps):
            if number not in self.outstanding:
                return
            self.monotonic_ns += self.step_ns
            self.apply(self.outcome(number))

    def go_on_until_measuring(self, number: int, name: str) -> None:
        """Report honest outcomes until a candidate is about to be measured."""
        for _ in range(1000):
            effect = self.outstanding[number]
            if isinstance(effect, Measure) and self.name(number, effect.candidate) == name:
                return
            self.go_on(number, 1)
        raise AssertionError(name)

    def name(self, number: int, candidate: int) -> str:
        return self.requests[number].candidates[candidate].name

    def outcome(self, number: int) -> Event:
        effect, now = self.outstanding[number], self.now()
        match effect:
            case LoadRecord():
                if effect.key in self.store:
                    return RecordLoaded(number, now, self.store[effect.key])
                return RecordAbsent(number, now)
            case Measure():
                name = self.name(number, effect.candidate)
                if name in self.run_failures:
                    return TrialFailed(number, now, self.run_failures[name])
                return Measured(number, now, self.speeds_ns[name])
            case Validate():
                name = self.name(number, effect.candidate)
                if name in self.check_failures:
                    return TrialFailed(number, now, self.check_failures[name])
                if name in self.unverifiable:
                    return Unverifiable(number, now, "a map of strings")
                return Validated(number, now, feeds=2, provisional=self.synthetic)
            case _:
                raise AssertionError(effect)

    def new_process(self) -> None:
        """Lose the memory, keep the store."""
        self.state = initial_state(self.policy)
        self.outstanding.clear()
        self.log.clear()

    def measured_names(self) -> list[str]:
        """Names that were measured at all, in order of their first time."""
        names = []
        for effect in self.trace:
            if isinstance(effect, Measure):
                name = self.name(effect.request, effect.candidate)
                if name not in names:
                    names.append(name)
        return names


def failure(kind: FailureKind, code: str = "seen") -> Failure:
    return Failure(kind, code, "as told")
