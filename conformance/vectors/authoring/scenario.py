"""A shell made of values: it answers the reference model's effects and writes down what happens."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from attrs import evolve, frozen

from conformance.codec import (
    REPORT,
    STATISTICS,
    encode_effects,
    encode_event,
    encode_moment,
    encode_policy,
    without_words,
)
from conformance.vectors.vector import Happens, Looked, Refused, Script, Step, Vector
from spec import (
    Abandoned,
    Answer,
    Candidate,
    Decision,
    Effect,
    Event,
    Failure,
    InvalidValue,
    LoadRecord,
    Measure,
    Measured,
    MedianMad,
    Moment,
    Policy,
    Problem,
    ProtocolError,
    Purpose,
    Record,
    RecordAbsent,
    RecordLoaded,
    RecordUnreadable,
    RemoveRecord,
    Requested,
    SaveRecord,
    Scope,
    TrialFailed,
    Unverifiable,
    Validate,
    Validated,
    WindowMedian,
    initial_state,
    lower_level_fingerprint,
    step,
)

MICROSECOND: Final = 1_000
MILLISECOND: Final = 1_000_000
SECOND: Final = 1_000_000_000
WALL_S: Final = 1_700_000_000
THREE_BLOCKS: Final = MedianMad(samples=3, max_relative_mad=Fraction(1, 10))
"""The smallest rule, so that a script stays readable."""
POLICY: Final = Policy(evidence=THREE_BLOCKS, regression=WindowMedian())
CPU: Final = {"device": "cpu"}
GPU: Final = {"device": "gpu"}
SOFTMAX: Final = Problem(Scope.OPERATOR, "softmax", {"rows": 8}, CPU)
CANDIDATES: Final = (Candidate("reference"), Candidate("fast"), Candidate("slow"))

Timing: TypeAlias = int | Failure | Sequence[int | Failure]
"""One answer to every measurement of a candidate, or several in turn."""
Check: TypeAlias = Failure | str | tuple[int, bool]
"""A failure; why nothing can be compared; or the number of feeds and whether they are synthetic."""
PASSED: Final = (2, False)
SYNTHETIC: Final = (2, True)


@frozen
class World:
    """What measuring and checking would say, by candidate name."""

    times: Mapping[str, Timing]
    checks: Mapping[str, Check] = {}
    step_ns: int = 0
    """Time that passes with every answer, beside what is measured."""


WORLD: Final = World({"reference": 1000, "fast": 500, "slow": 2000})


class Scenario:
    """One script in the making. The store is a dictionary, so that what is saved can be loaded."""

    def __init__(self, policy: Policy = POLICY, world: World = WORLD) -> None:
        self.policy = policy
        self.world = world
        self.now = Moment(SECOND, WALL_S)
        self.store: dict[str, Record] = {}
        self.unreadable = False
        self.key = ""
        """Of the latest request that was answered with a decision or loaded a record."""
        self._state = initial_state(policy)
        self._steps: list[Step] = []
        self._awaiting: dict[int, Effect] = {}
        self._requests = 0
        self._answers: list[str] = []
        self._measurements: dict[str, int] = {}
        self._concurrent = False
        self._candidates: dict[int, tuple[Candidate, ...]] = {}

    def pass_time(self, nanoseconds: int = 0, *, seconds: int = 0) -> "Scenario":
        """Let both clocks run on."""
        before = self.now
        monotonic_ns = before.monotonic_ns + nanoseconds + seconds * SECOND
        passed_s = monotonic_ns // SECOND - before.monotonic_ns // SECOND
        self.now = Moment(monotonic_ns, before.wall_s + passed_s)
        return self

    def set_wall(self, wall_s: int) -> "Scenario":
        """Let the wall clock jump."""
        self.now = evolve(self.now, wall_s=wall_s)
        return self

    def ask(
        self,
        problem: Problem = SOFTMAX,
        candidates: Sequence[Candidate] = CANDIDATES,
        reference: int = 0,
        *,
        nested: bool = False,
    ) -> int:
        """Request a decision, and leave it under way where it is. Returns its number."""
        self._requests += 1
        number = self._requests
        self._concurrent = self._concurrent or bool(self._awaiting)
        self._candidates[number] = tuple(candidates)
        self.tell(Requested(number, self.now, problem, tuple(candidates), reference, nested))
        return number

    def decide(
        self,
        problem: Problem = SOFTMAX,
        candidates: Sequence[Candidate] = CANDIDATES,
        reference: int = 0,
    ) -> "Scenario":
        """Request a decision and answer everything until it is there."""
        return self.finish(self.ask(problem, candidates, reference))

    def finish(self, number: int, limit: int = 1_000_000) -> "Scenario":
        """Answer everything that a request asks for, or the next `limit` effects."""
        while number in self._awaiting and limit > 0:
            self.tell(self._outcome(self._awaiting[number]))
            limit -= 1
        return self

    def until_paired(self, number: int, name: str) -> "Scenario":
        """Answer until a paired measurement of this candidate is asked for."""
        while number in self._awaiting:
            effect = self._awaiting[number]
            is_paired = isinstance(effect, Measure) and effect.purpose is Purpose.PAIRED
            if is_paired and self._subject(number, effect) == name:
                return self
            self.tell(self._outcome(effect))
        return self

    def until_validating(self, number: int, name: str) -> "Scenario":
        """Answer until a validation of this candidate is asked for."""
        while number in self._awaiting:
            effect = self._awaiting[number]
            if isinstance(effect, Validate) and self._subject(number, effect) == name:
                return self
            self.tell(self._outcome(effect))
        return self

    def abandon(self, number: int) -> "Scenario":
        """Give a request up."""
        self._concurrent = True
        return self.tell(Abandoned(number, self.now, "closing"))

    def interrupt(self, event: Event) -> "Scenario":
        """Let something happen while a request is under way."""
        self._concurrent = True
        return self.tell(event)

    def tell(self, event: Event) -> "Scenario":
        """Feed one event and write down what follows."""
        transition = step(self._state, event)
        self._state = transition.state
        self._awaiting.pop(getattr(event, "request", -1), None)
        for effect in transition.effects:
            self._take(effect)
        effects = without_words(encode_effects(transition.effects))
        self._steps.append(Happens(encode_event(event), effects))
        return self

    def refuse(self, event: Event) -> "Scenario":
        """Feed one event that must be refused."""
        try:
            step(self._state, event)
        except ProtocolError:
            refused = "out-of-turn"
        except InvalidValue:
            refused = "invalid-value"
        else:
            message = f"not refused: {event}"
            raise AssertionError(message)
        self._concurrent = True
        self._steps.append(Refused(encode_event(event), refused))
        return self

    def fingerprint(self) -> str:
        """Look at the fingerprint now, without writing it down."""
        return lower_level_fingerprint(self._state, self.now)

    def look(self, what: str) -> "Scenario":
        """Write down what the machine holds: "fingerprint", "statistics" or "reports"."""
        now = encode_moment(self.now) if what == "fingerprint" else None
        if what == "fingerprint":
            self._steps.append(Looked(what, now, self.fingerprint()))
        elif what == "statistics":
            self._steps.append(Looked(what, now, STATISTICS.encode(self._state.statistics)))
        else:
            reports = [without_words(REPORT.encode(one)) for one in self._state.reports]
            self._steps.append(Looked(what, now, reports))
        return self

    def vector(
        self,
        name: str,
        comment: str,
        *answers: str,
        holds: str = "",
        breaks: str = "",
        flags: str = "usual",
    ) -> Vector:
        """Return the script as a vector. Fails where the answers are not those expected."""
        if tuple(answers) != tuple(self._answers):
            message = f"{name}: answers are {self._answers}, not {list(answers)}"
            raise AssertionError(message)
        styles = ("stepping",) if self._concurrent or self._awaiting else ("stepping", "calling")
        script = Script(encode_policy(self.policy), tuple(self._steps), styles, answers)
        return Vector(
            name,
            comment,
            tuple(holds.split()),
            tuple(breaks.split()),
            tuple(flags.split()),
            script,
        )

    def _subject(self, number: int, effect: Effect) -> str:
        assert isinstance(effect, (Measure, Validate)), "only these are about a candidate"
        return self._candidates[number][effect.candidate].name

    def _take(self, effect: Effect) -> None:
        match effect:
            case Answer():
                self._answers.append(summary(effect.result))
                if isinstance(effect.result, Decision):
                    self.key = effect.result.key
            case SaveRecord():
                self.store[effect.record.key] = effect.record
            case RemoveRecord():
                self.store.pop(effect.key, None)
            case _:
                if isinstance(effect, LoadRecord):
                    self.key = effect.key
                self._awaiting[effect.request] = effect

    def _outcome(self, effect: Effect) -> Event:
        self.pass_time(self.world.step_ns)
        match effect:
            case LoadRecord():
                return self._loaded(effect)
            case Measure():
                return self._timed(effect)
            case Validate():
                return self._checked(effect)
            case _:
                message = f"nothing to answer: {effect}"
                raise AssertionError(message)

    def _loaded(self, effect: LoadRecord) -> Event:
        if self.unreadable:
            return RecordUnreadable(effect.request, self.now, "damaged")
        record = self.store.get(effect.key)
        if record is None:
            return RecordAbsent(effect.request, self.now)
        return RecordLoaded(effect.request, self.now, record)

    def _timed(self, effect: Measure) -> Event:
        name = self._candidates[effect.request][effect.candidate].name
        timing = self.world.times[name]
        if not isinstance(timing, (int, Failure)):
            count = self._measurements.get(name, 0)
            self._measurements[name] = count + 1
            timing = timing[count % len(timing)]
        if isinstance(timing, Failure):
            return TrialFailed(effect.request, self.now, timing)
        self.pass_time(timing)
        return Measured(effect.request, self.now, timing)

    def _checked(self, effect: Validate) -> Event:
        name = self._candidates[effect.request][effect.candidate].name
        check = self.world.checks.get(name, PASSED)
        if isinstance(check, Failure):
            return TrialFailed(effect.request, self.now, check)
        if isinstance(check, str):
            return Unverifiable(effect.request, self.now, check)
        feeds, provisional = check
        return Validated(effect.request, self.now, feeds, provisional)


def summary(result: Decision | Failure) -> str:
    """Return an answer in two words."""
    if isinstance(result, Decision):
        return f"{result.source.value} {result.name}"
    return f"{result.kind.value} {result.code}"
