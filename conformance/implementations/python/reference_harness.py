"""The reference model behind the protocol."""

from collections.abc import Callable
from typing import Final, TypeAlias

from conformance.adapters.harness import Ask
from conformance.codec import REPORT, encode_statistics
from conformance.implementations.python import blocking_selector
from conformance.protocol.message import (
    PROTOCOL,
    Capability,
    Level,
    Sight,
    Style,
    Told,
    Welcome,
)
from conformance.vectors.questions import KINDS, REFUSED
from conformance.vectors.version import SPEC_VERSION
from spec.canonical_json import Json
from spec.decision import Decision
from spec.engine.effect import Effect
from spec.engine.event import Event, Requested
from spec.engine.fingerprint import lower_level_fingerprint
from spec.engine.state import State, Transition, initial_state
from spec.engine.step import step
from spec.errors import InvalidValue
from spec.failure import Failure
from spec.moment import Moment
from spec.policy import Policy

Step: TypeAlias = Callable[[State, Event], Transition]
Answered: TypeAlias = Callable[[str, Json], Json]
LEVELS: Final = tuple(Level)
CAPABILITIES: Final = tuple(Capability)


def reference_answer(function: str, given: Json) -> Json:
    """Return the reference model's answer to a question; `REFUSED` for what must be refused."""
    kind = KINDS.get(function)
    if kind is None:
        raise InvalidValue("function", repr(function), f"one of {', '.join(KINDS)}", "protocol")
    return kind.answered(given)


class ReferenceHarness:
    """Speaks both styles at every level. Parts can be replaced, which is how the zoo is made."""

    def __init__(
        self, new_step: Callable[[], Step] = lambda: step, answer: Answered = reference_answer
    ) -> None:
        self._new_step = new_step
        self._step = new_step()
        self._answer = answer
        self._state = initial_state(Policy())

    def welcome(self) -> Welcome:
        """Say who speaks."""
        return Welcome(1, PROTOCOL, "ortsel-spec", SPEC_VERSION, "Python", LEVELS, CAPABILITIES)

    def begin(self, style: Style, policy: Policy) -> None:
        """Start with a state that knows nothing; both styles are the same machine."""
        del style
        self._step = self._new_step()
        self._state = initial_state(policy)

    def step(self, event: Event) -> tuple[Effect, ...]:
        """Take one step."""
        transition = self._step(self._state, event)
        self._state = transition.state
        return transition.effects

    def select(self, request: Requested, ask: Ask) -> Decision | Failure:
        """Decide, asking back."""
        return blocking_selector.select(self.step, request, ask)

    def tell(self, event: Told, ask: Ask) -> None:
        """Take note, asking back."""
        blocking_selector.tell(self.step, event, ask)

    def look(self, sight: Sight, now: Moment | None) -> Json:
        """Tell what the state holds."""
        match sight:
            case Sight.STATISTICS:
                return encode_statistics(self._state.statistics)
            case Sight.REPORTS:
                return [REPORT.encode(report) for report in self._state.reports]
            case Sight.FINGERPRINT:
                if now is None:
                    raise InvalidValue("now", "null", "a moment", "S12")
                return lower_level_fingerprint(self._state, now)

    def call(self, function: str, given: Json) -> Json:
        """Answer a question. Raises `InvalidValue` for what must be refused."""
        value = self._answer(function, given)
        if value == REFUSED:
            raise InvalidValue("input", function, "an input that it takes", "as its rule says")
        return value
