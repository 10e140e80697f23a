"""The suite's side of a conversation: number every line, accept exactly the answer to it."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from conformance.codec import CodecError
from conformance.protocol.fault import ConversationError, Fault, Stage
from conformance.protocol.message import (
    PROTOCOL,
    Answerable,
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
    Ready,
    Refused,
    Returned,
    Select,
    Style,
    Tell,
    Welcome,
)
from conformance.protocol.transport import Transport
from conformance.protocol.wire import FROM_IMPLEMENTATION, from_line, to_line
from spec.canonical_json import Json

SHOWN = 200
_ALLOWED: dict[type[FromSuite], tuple[type[FromImplementation], ...]] = {
    Hello: (Welcome,),
    Begin: (Ready,),
    Happened: (Effects, Refused),
    Select: (Asked, Decided, Refused),
    Tell: (Asked, Noted, Refused),
    Outcome: (Asked, Decided, Noted, Refused),
    Look: (Returned,),
    Call: (Returned, Refused),
    Bye: (Goodbye,),
}


class Conversation:
    """One implementation, from its welcome to its goodbye."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._seq = 0
        self.is_waiting = False
        """The last answer was a question: it waits for an outcome and can't begin anew."""
        try:
            self.welcome = self._shake_hands()
        except BaseException:
            transport.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def begin(self, style: Style, policy: Json) -> None:
        """Start a new selector."""
        self._exchange(Begin, {"style": style.value, "policy": policy}, Stage.PROTOCOL)

    def say(self, kind: type[Answerable], members: Mapping[str, Json]) -> FromImplementation:
        """Send one message, given as JSON without its type and number; return its answer.

        It is JSON since a vector may ask what no value of the reference model can hold.
        """
        return self._exchange(kind, members, Stage.PROTOCOL)

    def close(self) -> None:
        """Say goodbye. Raises `ConversationError` where anything but a clean end follows."""
        self._exchange(Bye, {}, Stage.PROTOCOL)
        self._transport.close_input()
        extra = self._transport.receive()
        if extra is not None:
            got = f"another line after the goodbye: {extra[:SHOWN]!r}"
            raise self._error(Stage.ANSWER, Fault.COUNT, got, "the end of the output")
        status = self._transport.finish()
        if status not in {None, 0}:
            raise self._error(Stage.CRASH, Fault.STARTS, f"exit status {status}", "0")

    def stop(self) -> None:
        """End the implementation without a word."""
        self._transport.stop()

    def _shake_hands(self) -> Welcome:
        answer = self._exchange(Hello, {"protocol": PROTOCOL}, Stage.HANDSHAKE)
        assert isinstance(answer, Welcome), "what a hello may be answered with"
        if answer.protocol != PROTOCOL:
            got, need = f"protocol {answer.protocol}", f"protocol {PROTOCOL}"
            raise self._error(Stage.HANDSHAKE, Fault.HANDSHAKE, got, need)
        return answer

    def _exchange(
        self, kind: type[FromSuite], members: Mapping[str, Json], stage: Stage
    ) -> FromImplementation:
        if self._seq > 0 and self._transport.pending():
            extra = self._transport.receive()
            if extra is not None:
                self._refuse_extra(extra)
        self._seq += 1
        name = kind.__name__.lower()
        self._transport.send(to_line({"type": name, "seq": self._seq, **members}))
        line = self._transport.receive()
        if line is None:
            status = self._transport.finish()
            end = "" if status is None else f" with exit status {status}"
            got, need = f"the end of the output{end}", f"an answer to {name}"
            raise self._error(Stage.CRASH, Fault.STARTS, got, need)
        answer = self._understood(line, stage)
        if answer.seq != self._seq:
            if answer.seq == self._seq - 1 > 0:
                self._refuse_extra(line)
            got, need = f"an answer to number {answer.seq}", f"number {self._seq}"
            raise self._error(Stage.ANSWER, Fault.NUMBER, got, need)
        allowed = _ALLOWED[kind]
        if not isinstance(answer, allowed):
            names = " or ".join(one.__name__.lower() for one in allowed)
            fault = Fault.HANDSHAKE if stage is Stage.HANDSHAKE else Fault.KIND
            raise self._error(stage, fault, f"{line[:SHOWN]!r}", names)
        self.is_waiting = isinstance(answer, Asked)
        return answer

    def _understood(self, line: str, stage: Stage) -> FromImplementation:
        try:
            return FROM_IMPLEMENTATION.decode(from_line(line))
        except CodecError as error:
            fault = Fault.HANDSHAKE if stage is Stage.HANDSHAKE else Fault.MESSAGE
            got = f"{line[:SHOWN]!r}"
            raise self._error(stage, fault, got, f"a message: {error}") from error

    def _refuse_extra(self, line: str) -> None:
        got = f"more than one line to a question: {line[:SHOWN]!r}"
        raise self._error(Stage.ANSWER, Fault.COUNT, got, "one")

    def _error(self, stage: Stage, fault: Fault, got: str, need: str) -> ConversationError:
        return ConversationError(stage, fault, got, need, self._transport.stderr_tail())
