"""A simulated shell that does anything a real one might, with the model watching every step."""

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from attrs import evolve
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
)

from spec import (
    Abandoned,
    Answer,
    Compared,
    Decision,
    Effect,
    Event,
    Failure,
    FailureKind,
    Invalidated,
    LoadRecord,
    Measure,
    Measured,
    Moment,
    Policy,
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
    State,
    StoreFailed,
    Transition,
    TrialFailed,
    Unverifiable,
    Validate,
    Validated,
    initial_state,
    replay,
)
from spec.engine import step
from tests.spec.engine.invariants import Invariant, require
from tests.spec.engine.model import Model
from tests.spec.engine.strategies import (
    MILLISECOND_NS,
    SECOND_NS,
    Asked,
    base_latencies_ns,
    broken_questions,
    policies,
    questions,
    trial_failures,
)

HALF = Fraction(1, 2)
START_WALL_S = 1_700_000_000
Engine = Callable[[State, Event], Transition]


class EngineMachine(RuleBasedStateMachine):
    """Feeds an engine and shows every step to the model."""

    engine: ClassVar[tuple[Engine]] = (step,)
    """In a tuple, since a function in a class would become a method."""

    @initialize(policy=policies(), latencies_ns=base_latencies_ns())
    def begin(self, policy: Policy, latencies_ns: dict[str, int]) -> None:
        self.policy = policy
        self.latencies_ns = latencies_ns
        self.state = initial_state(policy)
        self.model = Model(policy)
        self.log: list[Event] = []
        self.store: dict[str, Record] = {}
        self.outstanding: dict[int, Effect] = {}
        self.decisions: list[tuple[Decision, str]] = []
        self.monotonic_ns = SECOND_NS
        self.wall_offset_s = 0
        self.number = 0
        self.questions: list[Asked] = []

    def now(self) -> Moment:
        wall_s = START_WALL_S + self.monotonic_ns // SECOND_NS + self.wall_offset_s
        return Moment(self.monotonic_ns, wall_s)

    def apply(self, event: Event) -> None:
        transition = self.engine[0](self.state, event)
        self.model.observe(event, transition)
        self.log.append(event)
        self.state = transition.state
        for effect in transition.effects:
            match effect:
                case SaveRecord():
                    self.store[effect.record.key] = effect.record
                case RemoveRecord():
                    self.store.pop(effect.key, None)
                case Answer():
                    self.outstanding.pop(effect.request, None)
                    self.note(event, effect)
                case _:
                    self.outstanding[effect.request] = effect

    def note(self, event: Event, answer: Answer) -> None:
        if isinstance(answer.result, Decision):
            reference = self.model.references.get(answer.result.key)
            if reference is not None:
                self.decisions = [*self.decisions[-7:], (answer.result, reference)]

    # Requests

    def request(self, asked: Asked, *, nested: bool = False) -> None:
        self.number += 1
        self.apply(
            Requested(
                self.number, self.now(), asked.problem, asked.candidates, asked.reference, nested
            )
        )

    @rule(asked=questions(), nested=st.sampled_from((False,) * 7 + (True,)))
    def ask(self, asked: Asked, nested: bool) -> None:
        self.questions = [*self.questions[-5:], asked]
        self.request(asked, nested=nested)

    @precondition(lambda self: self.questions)
    @rule(data=st.data(), nested=st.sampled_from((False,) * 7 + (True,)))
    def ask_again(self, data: st.DataObject, nested: bool) -> None:
        asked = data.draw(st.sampled_from(self.questions))
        if data.draw(st.booleans()):
            order = data.draw(st.permutations(range(len(asked.candidates))))
            candidates = tuple(asked.candidates[index] for index in order)
            asked = Asked(asked.problem, candidates, order.index(asked.reference))
        self.request(asked, nested=nested)

    @rule(asked=questions())
    def ask_and_be_served(self, asked: Asked) -> None:
        """The common case: nothing goes wrong."""
        self.questions = [*self.questions[-5:], asked]
        self.request(asked)
        self.serve(self.number, 200)

    @precondition(lambda self: self.questions)
    @rule(data=st.data())
    def ask_again_and_be_served(self, data: st.DataObject) -> None:
        asked = data.draw(st.sampled_from(self.questions))
        if data.draw(st.integers(0, 2)) == 0:
            index = data.draw(st.integers(0, len(asked.candidates) - 1))
            changed = evolve(asked.candidates[index], ineligible="the driver changed")
            candidates = (*asked.candidates[:index], changed, *asked.candidates[index + 1 :])
            asked = Asked(asked.problem, candidates, asked.reference)
        self.request(asked)
        self.serve(self.number, 200)

    # Outcomes

    @precondition(lambda self: self.outstanding)
    @rule(data=st.data(), steps=st.sampled_from((1, 2, 5, 20, 80)))
    def go_on_well(self, data: st.DataObject, steps: int) -> None:
        self.serve(data.draw(st.sampled_from(sorted(self.outstanding))), steps)

    def serve(self, request: int, steps: int) -> None:
        for _ in range(steps):
            if request not in self.outstanding:
                return
            self.monotonic_ns += 100_000
            self.apply(self.good_outcome(self.outstanding[request]))

    def good_outcome(self, effect: Effect) -> Event:
        match effect:
            case LoadRecord():
                if effect.key in self.store:
                    return RecordLoaded(effect.request, self.now(), self.store[effect.key])
                return RecordAbsent(effect.request, self.now())
            case Validate():
                return Validated(effect.request, self.now(), feeds=2)
            case Measure():
                search = self.model.open[effect.request]
                latency_ns = self.latencies_ns[search.name(effect.candidate)]
                return Measured(effect.request, self.now(), latency_ns)
            case _:
                raise AssertionError(effect)

    @precondition(lambda self: self.outstanding)
    @rule(data=st.data(), after=st.sampled_from((0, 0, 1, 3, 10, 30)))
    def go_on_badly(self, data: st.DataObject, after: int) -> None:
        request = data.draw(st.sampled_from(sorted(self.outstanding)))
        self.serve(request, after)
        if request in self.outstanding:
            self.be_bad(data, request)

    @rule(
        data=st.data(),
        asked=questions(),
        at=st.sampled_from(("once", "check", "check", "block", "end")),
    )
    def ask_and_be_disappointed(self, data: st.DataObject, asked: Asked, at: str) -> None:
        self.request(asked)
        for _ in range(200):
            if self.number not in self.outstanding:
                return
            if self.has_come(self.number, at):
                if data.draw(st.integers(0, 4)) == 0:
                    self.apply(Abandoned(self.number, self.now(), "closing"))
                else:
                    self.be_bad(data, self.number)
                break
            self.serve(self.number, 1)
        self.serve(self.number, 200)
        self.request(asked)

    def has_come(self, request: int, at: str) -> bool:
        """Whether a request is where it shall be disappointed."""
        effect = self.outstanding[request]
        match at:
            case "once":
                return True
            case "check":
                return isinstance(effect, Validate) and effect.candidate != effect.reference
            case "block":
                return isinstance(effect, Measure) and effect.purpose is Purpose.PAIRED
            case _:
                return isinstance(effect, Measure) and len(self.model.open[request].turns) > 2

    def be_bad(self, data: st.DataObject, request: int) -> None:
        self.monotonic_ns += data.draw(st.sampled_from((1, MILLISECOND_NS, 30 * MILLISECOND_NS)))
        effect, now = self.outstanding[request], self.now()
        match effect:
            case LoadRecord():
                if data.draw(st.booleans()):
                    self.apply(RecordUnreadable(request, now, "truncated"))
                else:
                    self.apply(
                        RecordLoaded(request, now, data.draw(self.records(request, effect.key)))
                    )
            case Validate():
                odd = st.one_of(
                    st.just(Unverifiable(request, now, "a map")),
                    st.just(Validated(request, now, provisional=True)),
                    trial_failures().map(lambda failure: TrialFailed(request, now, failure)),
                )
                self.apply(data.draw(odd))
            case Measure():
                if data.draw(st.booleans()):
                    latency_ns = data.draw(st.sampled_from((0, 1, 250_000, 90 * SECOND_NS)))
                    self.apply(Measured(request, now, latency_ns))
                else:
                    self.apply(TrialFailed(request, now, data.draw(trial_failures())))
            case _:
                raise AssertionError(effect)

    def records(self, request: int, key: str) -> st.SearchStrategy[Record]:
        """Records that a store might hold under a key: sound ones, and one fault at a time."""
        asked = self.model.open[request].event
        names = [*sorted(candidate.name for candidate in asked.candidates) * 3, "z"]
        scope = asked.problem.scope
        other = Scope.OPERATOR if scope is Scope.PIPELINE else Scope.PIPELINE
        wall_s = self.now().wall_s
        reference = asked.candidates[asked.reference].name
        sound = st.builds(
            lambda winner, age_s: Record(
                key,
                scope,
                winner,
                reference,
                max(0, wall_s - age_s),
                100,
                50,
                HALF if winner != reference else Fraction(1),
                Fraction(0),
                5,
                verified=True,
                feeds=2,
            ),
            st.sampled_from(names),
            st.sampled_from((0, 0, 1, 1, 4, 5, 70, -299, -301)),
        )
        return st.one_of(
            *(sound,) * 5,
            sound.map(lambda record: evolve(record, scope=other)),
            sound.map(lambda record: evolve(record, verified=False)),
            sound.map(lambda record: evolve(record, provisional=True)),
            sound.map(lambda record: evolve(record, complete=False)),
            sound.map(lambda record: evolve(record, key="0" * 64)),
            sound.map(lambda record: evolve(record, reference="z")),
            sound.map(lambda record: evolve(record, ratio=Fraction(3, 2))),
        )

    def give_up(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(sorted(self.outstanding)))
        self.apply(Abandoned(request, self.now(), "closing"))

    # Decisions taken back

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), ban=st.booleans())
    def invalidate(self, data: st.DataObject, ban: bool) -> None:
        decision, reference = data.draw(st.sampled_from(self.decisions))
        self.apply(Invalidated(self.now(), decision.key, decision.name, reference, ban, "drifted"))

    @precondition(lambda self: self.decisions)
    @rule(data=st.data(), slower=st.sampled_from((True, True, False)))
    def compare(self, data: st.DataObject, slower: bool) -> None:
        decision, reference = data.draw(st.sampled_from(self.decisions))
        selected_ns = 200 if slower else 50
        self.apply(
            Compared(self.now(), decision.key, decision.name, reference, 100, selected_ns, True)
        )

    @rule(data=st.data(), asked=questions(), after=st.sampled_from((4, 18, 32, 46)))
    def ask_and_ban_during_the_search(self, data: st.DataObject, asked: Asked, after: int) -> None:
        """A decision of an earlier search for the same key turns out to be wrong only now."""
        self.request(asked)
        self.serve(self.number, after)
        if self.number not in self.outstanding:
            return
        search = self.model.open[self.number]
        reference = search.name(search.reference)
        banned = data.draw(st.sampled_from(search.event.candidates)).name
        self.apply(Invalidated(self.now(), search.key, banned, reference, True, "drifted"))
        self.serve(self.number, 200)

    # The world

    @rule(data=st.data(), what=st.sampled_from(range(8)))
    def do_something_rare(self, data: st.DataObject, what: int) -> None:
        match what:
            case 0:
                self.request(data.draw(broken_questions()))
            case 1:
                self.fail_to_store()
            case 2:
                self.lose_the_store()
            case 3 | 4:
                self.start_a_new_process(data)
            case 5 if self.outstanding:
                self.give_up(data)
            case _:
                self.break_the_protocol(data)

    def fail_to_store(self) -> None:
        self.apply(StoreFailed(self.now(), "0" * 64, "disk full"))

    def lose_the_store(self) -> None:
        self.store.clear()

    def start_a_new_process(self, data: st.DataObject) -> None:
        """Keep the store, lose the memory."""
        self.check_replay()
        self.state = initial_state(self.policy)
        self.model = Model(self.policy)
        self.log, self.outstanding, self.decisions = [], {}, []
        for asked in self.questions:
            self.request(asked)
            self.serve(self.number, data.draw(st.sampled_from((0, 1, 2, 200))))

    @rule(
        nanoseconds=st.sampled_from((1, MILLISECOND_NS, SECOND_NS, 3 * SECOND_NS, 70 * SECOND_NS))
    )
    def wait(self, nanoseconds: int) -> None:
        self.monotonic_ns += nanoseconds

    @rule(seconds=st.sampled_from((-(10**6), -100, -10, 10, 100, 10**6)))
    def jump_the_wall_clock(self, seconds: int) -> None:
        self.wall_offset_s += seconds

    def break_the_protocol(self, data: st.DataObject) -> None:
        """Report what nobody asked for: the engine must refuse it."""
        request = data.draw(st.sampled_from([*sorted(self.outstanding), self.number + 1]))
        effect, now = self.outstanding.get(request), self.now()
        events: list[Event] = [TrialFailed(request, now, Failure(FailureKind.INVALID, "no"))]
        if not isinstance(effect, Measure):
            events.append(Measured(request, now, 5))
        if not isinstance(effect, Validate):
            events.append(Validated(request, now))
            events.append(Unverifiable(request, now, "a map"))
        if not isinstance(effect, LoadRecord):
            events.append(RecordAbsent(request, now))
        event = data.draw(st.sampled_from(events))
        try:
            self.engine[0](self.state, event)
        except ProtocolError:
            return
        require(False, Invariant.ANSWERED_ONCE, f"{event} was taken for an outcome of {effect}")

    def check_replay(self) -> None:
        again = replay(self.policy, self.log)
        require(again == self.state, Invariant.REPLAY, "another state")

    def teardown(self) -> None:
        if hasattr(self, "state"):
            self.check_replay()
