"""A vector as what it is in a conversation: messages, each with the only right answer.

One script serves both styles. In the calling style an effect is a question that the implementation
asks, and the event behind it in the script is the answer that it gets.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from attrs import frozen

from conformance.protocol.message import (
    Answerable,
    Call,
    Capability,
    Happened,
    Look,
    Outcome,
    Select,
    Style,
    Tell,
)
from conformance.vectors.questions import REFUSED
from conformance.vectors.vector import Happens, Looked, Question, Refused, Script
from spec.canonical_json import Json

OUTCOMES: Final = frozenset(
    {
        "record-loaded",
        "record-absent",
        "record-unreadable",
        "measured",
        "validated",
        "unverifiable",
        "trial-failed",
        "abandoned",
    }
)
"""Events that answer an effect."""
STORING: Final = frozenset({"save-record", "remove-record"})
Members = Mapping[str, Json]


@frozen
class Exchange:
    """One message and its answer, both without their numbers."""

    kind: type[Answerable]
    members: Members
    expected: Members
    step: int
    """Place in the script, from 0; 0 for a question."""


def question_exchanges(question: Question) -> tuple[Exchange, ...]:
    """Return the one exchange of a question."""
    expected: Members = {"type": "returned", "value": question.expected}
    if question.expected == REFUSED:
        expected = {"type": "refused", "refusal": "invalid-value"}
    members: Members = {"function": question.kind, "input": question.input}
    return (Exchange(Call, members, expected, 0),)


def stepping_exchanges(script: Script) -> tuple[Exchange, ...]:
    """Return one exchange per step."""
    exchanges = []
    for place, step in enumerate(script.steps):
        if isinstance(step, Looked):
            exchanges.append(_look(step, place))
            continue
        expected: Members
        if isinstance(step, Refused):
            expected = {"type": "refused", "refusal": step.refused}
        else:
            expected = {"type": "effects", "effects": step.effects}
        exchanges.append(Exchange(Happened, {"event": step.event}, expected, place))
    return tuple(exchanges)


def calling_exchanges(script: Script) -> tuple[Exchange, ...] | None:
    """Return the exchanges in the calling style; None where a blocking engine can't have them.

    It can't take an event while it waits for another one, and there is no message with which to
    tell it what it did not ask.
    """
    if any(isinstance(step, Refused) for step in script.steps):
        return None
    try:
        return tuple(_Calling(script).exchanges())
    except _NotCallableError:
        return None


def needs(script: Script, style: Style) -> frozenset[Capability]:
    """Return what an implementation must have declared to be asked a script in a style."""
    found = {Capability(style.value)}
    under_way: set[Json] = set()
    for step in script.steps:
        if isinstance(step, Looked):
            found.add(Capability.LOOKING)
            continue
        kind, request = _kind(step.event), _object(step.event).get("request")
        if kind == "abandoned":
            found.add(Capability.ABANDONING)
        if under_way and kind != "store-failed" and (kind not in OUTCOMES):
            found.add(Capability.CONCURRENCY)
        if isinstance(step, Happens):
            if kind == "requested":
                under_way.add(request)
            for effect in _items(step.effects):
                if _kind(effect) == "answer":
                    under_way.discard(_object(effect)["request"])
    return frozenset(found)


class _NotCallableError(Exception):
    """A script that needs an event at a moment at which a blocking engine takes none."""


class _Calling:
    """Walks through a script as a blocking engine's caller meets it."""

    def __init__(self, script: Script) -> None:
        self._steps = script.steps
        self._place = 0

    def exchanges(self) -> Iterator[Exchange]:
        while self._place < len(self._steps):
            step = self._steps[self._place]
            if isinstance(step, Looked):
                yield _look(step, self._place)
            elif isinstance(step, Happens):
                yield from self._call(step)
            self._place += 1

    def _call(self, step: Happens) -> Iterator[Exchange]:
        event = dict(_object(step.event))
        kind: type[Answerable] = Tell
        members: Members = {"event": event}
        if event["type"] == "requested":
            del event["type"]
            kind, members = Select, {"request": event}
        elif event["type"] not in {"invalidated", "compared"}:
            raise _NotCallableError
        waiting: list[Json] = list(_items(step.effects))
        place = self._place
        while True:
            if not waiting:
                if kind is Select or (kind is Outcome and not self._is_told(event)):
                    raise _NotCallableError
                yield Exchange(kind, members, {"type": "noted"}, place)
                return
            effect, *waiting = waiting
            if _kind(effect) == "answer":
                decided: Members = {"type": "decided", "result": _object(effect)["result"]}
                yield Exchange(kind, members, decided, place)
                if waiting:
                    raise _NotCallableError
                return
            yield Exchange(kind, members, {"type": "asked", "question": effect}, place)
            kind = Outcome
            if _kind(effect) in STORING:
                members = {"outcome": self._stored(effect, waiting)}
                continue
            if waiting:
                raise _NotCallableError
            outcome = self._next_happens(_object(effect)["request"])
            members, waiting, place = (
                {"outcome": outcome.event},
                list(_items(outcome.effects)),
                self._place,
            )

    def _is_told(self, event: Members) -> bool:
        return event.get("type") in {"invalidated", "compared"}

    def _stored(self, effect: Json, waiting: list[Json]) -> Json:
        """Return what the store says: the failure that follows in the script, if one does."""
        key = _stored_key(effect)
        later = [one for one in waiting if _kind(one) in STORING and _stored_key(one) == key]
        following = self._steps[self._place + 1 : self._place + 2]
        if not later and following and isinstance(following[0], Happens):
            event = _object(following[0].event)
            if event["type"] == "store-failed" and event["key"] == key:
                self._place += 1
                return event
        return {"type": "done"}

    def _next_happens(self, request: Json) -> Happens:
        self._place += 1
        step = self._steps[self._place] if self._place < len(self._steps) else None
        if not isinstance(step, Happens) or _kind(step.event) not in OUTCOMES:
            raise _NotCallableError
        if _object(step.event)["request"] != request:
            raise _NotCallableError
        return step


def _look(step: Looked, place: int) -> Exchange:
    members: Members = {"sight": step.look, "now": step.now}
    return Exchange(Look, members, {"type": "returned", "value": step.expected}, place)


def _stored_key(effect: Json) -> Json:
    members = _object(effect)
    return _object(members["record"])["key"] if "record" in members else members["key"]


def _kind(json: Json) -> str:
    return str(_object(json)["type"])


def _object(json: Json) -> Members:
    if not isinstance(json, Mapping):
        message = f"got {json!r}, need an object: the vector is not of its schema"
        raise TypeError(message)
    return json


def _items(json: Json) -> list[Json]:
    if not isinstance(json, (list, tuple)):
        message = f"got {json!r}, need an array: the vector is not of its schema"
        raise TypeError(message)
    return list(json)
