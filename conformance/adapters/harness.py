"""The program side of the conversation for implementations in Python."""

import sys
from collections.abc import Callable, Iterator
from typing import Protocol, TypeAlias

from attrs import evolve

from conformance.protocol.message import (
    PROTOCOL,
    Asked,
    Begin,
    Bye,
    Call,
    Decided,
    Effects,
    FromImplementation,
    FromSuite,
    Goodbye,
    Happened,
    Hello,
    Look,
    Noted,
    Outcome,
    Question,
    Ready,
    Refusal,
    Refused,
    Reported,
    Returned,
    Select,
    Sight,
    Style,
    Tell,
    Told,
    Welcome,
)
from conformance.protocol.wire import FROM_IMPLEMENTATION, FROM_SUITE, from_line, to_line
from spec.canonical_json import Json
from spec.decision import Decision
from spec.engine.effect import Effect
from spec.engine.event import Event, Requested
from spec.engine.protocol import ProtocolError
from spec.errors import InvalidValue
from spec.failure import Failure
from spec.moment import Moment
from spec.policy import Policy

Ask: TypeAlias = Callable[[Question], Reported]
"""Blocks until the answer to a question is there."""


class Harness(Protocol):
    """One implementation, as Python sees it.

    A method may raise what the rules say: `InvalidValue` or `ProtocolError` become refusals.
    """

    def welcome(self) -> Welcome:
        """Say who speaks; number and protocol are filled in."""

    def begin(self, style: Style, policy: Policy) -> None:
        """Forget everything and start with this policy."""

    def step(self, event: Event) -> tuple[Effect, ...]:
        """Stepping: take an event, return effects."""

    def select(self, request: Requested, ask: Ask) -> Decision | Failure:
        """Calling: decide, asking for whatever is needed."""

    def tell(self, event: Told, ask: Ask) -> None:
        """Calling: take note of what became known about a decision."""

    def look(self, sight: Sight, now: Moment | None) -> Json:
        """Tell what the selector holds."""

    def call(self, function: str, given: Json) -> Json:
        """Apply one function of the reference model."""


def serve(
    harness: Harness,
    lines: Iterator[str] | None = None,
    write: Callable[[str], object] | None = None,
) -> None:
    """Talk until told goodbye, or until the lines end. By default on standard input and output."""
    _Server(
        harness,
        iter(sys.stdin) if lines is None else lines,
        _write_to_stdout if write is None else write,
    ).run()


def _write_to_stdout(line: str) -> None:
    sys.stdout.write(line)
    sys.stdout.flush()


class _Server:
    def __init__(
        self, harness: Harness, lines: Iterator[str], write: Callable[[str], object]
    ) -> None:
        self._harness = harness
        self._lines = lines
        self._write = write
        self._seq = 0

    def run(self) -> None:
        for line in self._lines:
            message = self._understood(line)
            self._answer(self._reply(message))
            if isinstance(message, Bye):
                return

    def _understood(self, line: str) -> FromSuite:
        message = FROM_SUITE.decode(from_line(line))
        self._seq = message.seq
        return message

    def _answer(self, answer: FromImplementation) -> None:
        self._write(to_line(FROM_IMPLEMENTATION.encode(answer)))

    def _reply(self, message: FromSuite) -> FromImplementation:
        try:
            return self._obeyed(message)
        except InvalidValue as error:
            return Refused(self._seq, Refusal.INVALID_VALUE, str(error))
        except ProtocolError as error:
            return Refused(self._seq, Refusal.OUT_OF_TURN, str(error))

    def _obeyed(self, message: FromSuite) -> FromImplementation:
        match message:
            case Hello():
                return evolve(self._harness.welcome(), seq=self._seq, protocol=PROTOCOL)
            case Begin():
                self._harness.begin(message.style, message.policy)
                return Ready(self._seq)
            case Happened():
                return Effects(self._seq, self._harness.step(message.event))
            case Select():
                result = self._harness.select(message.request, self._ask)
                return Decided(self._seq, result)
            case Tell():
                self._harness.tell(message.event, self._ask)
                return Noted(self._seq)
            case Outcome():
                got = f"an outcome, number {message.seq}"
                raise ProtocolError(got, "a question that waits for one")
            case Look():
                return Returned(self._seq, self._harness.look(message.sight, message.now))
            case Call():
                return Returned(self._seq, self._harness.call(message.function, message.input))
            case Bye():
                return Goodbye(self._seq)

    def _ask(self, question: Question) -> Reported:
        self._answer(Asked(self._seq, question))
        message = self._understood(next(self._lines))
        if not isinstance(message, Outcome):
            raise ProtocolError(type(message).__name__, "the outcome of what was asked")
        return message.outcome
