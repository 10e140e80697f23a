"""One vector against one implementation."""

import json

from attrs import frozen

from conformance.codec import plain, without_words
from conformance.protocol.conversation import Conversation
from conformance.protocol.message import FromImplementation, Style, Welcome
from conformance.protocol.wire import FROM_IMPLEMENTATION
from conformance.runner.exchange import (
    Exchange,
    calling_exchanges,
    needs,
    question_exchanges,
    stepping_exchanges,
)
from conformance.vectors.vector import Question, Script, Vector
from spec.canonical_json import Json


@frozen
class Disagreement:
    """Where an implementation says something else, and what."""

    style: Style | None
    """None for a question."""
    step: int
    """Place in the script, from 0."""
    sent: Json
    expected: Json
    got: Json


@frozen
class Inapplicable:
    """Why a vector may not be asked: something that was not declared."""

    reason: str


def styles_for(
    welcome: Welcome, vector: Vector, wanted: Style | None
) -> tuple[Style | None, ...] | Inapplicable:
    """Return the styles in which a vector is to be asked: all that fit, unless one is wanted.

    A question has none, which counts as one.
    """
    if vector.area not in {level.value for level in welcome.levels}:
        return Inapplicable(f"level {vector.area} is not declared")
    body = vector.body
    if isinstance(body, Question):
        return (None,)
    declared = frozenset(welcome.capabilities)
    fitting, missing = [], []
    for style in Style if wanted is None else (wanted,):
        if style is Style.CALLING and calling_exchanges(body) is None:
            missing.append("it can't be told in the calling style")
            continue
        lacking = sorted(one.value for one in needs(body, style) - declared)
        if lacking:
            missing.append(f"not declared: {', '.join(lacking)}")
        else:
            fitting.append(style)
    return tuple(fitting) or Inapplicable("; ".join(dict.fromkeys(missing)))


def check(conversation: Conversation, vector: Vector, style: Style | None) -> Disagreement | None:
    """Ask a vector in a style and return the first disagreement.

    Raises `ConversationError` where the conversation breaks.
    """
    body = vector.body
    if isinstance(body, Script):
        assert style is not None, "a script has a style"
        conversation.begin(style, body.policy)
    for exchange in exchanges_of(body, style):
        answer = conversation.say(exchange.kind, exchange.members)
        got, expected = _comparable(answer), without_words(plain(dict(exchange.expected)))
        if not same(got, expected):
            name = exchange.kind.__name__.lower()
            sent: Json = {"type": name, **exchange.members}
            return Disagreement(style, exchange.step, sent, expected, got)
    return None


def exchanges_of(body: Question | Script, style: Style | None) -> tuple[Exchange, ...]:
    """Return what is said to an implementation, in order."""
    if isinstance(body, Question):
        return question_exchanges(body)
    if style is not Style.CALLING:
        return stepping_exchanges(body)
    exchanges = calling_exchanges(body)
    assert exchanges is not None, "asked only in styles that fit"
    return exchanges


def same(one: Json, other: Json) -> bool:
    """Compare as JSON: true is not 1, and the order of members says nothing."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _comparable(answer: FromImplementation) -> Json:
    encoded = FROM_IMPLEMENTATION.encode(answer)
    assert isinstance(encoded, dict), "a message is an object"
    return without_words({name: one for name, one in encoded.items() if name != "seq"})
