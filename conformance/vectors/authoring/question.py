"""How a question becomes a vector: the reference model answers it."""

from typing import TypeVar

from conformance.codec import plain
from conformance.vectors.questions import KINDS, Kind
from conformance.vectors.vector import Question, Vector
from spec.canonical_json import Json

Q = TypeVar("Q")
A = TypeVar("A")


def question(
    name: str,
    kind: Kind[Q, A],
    asked: Q,
    comment: str,
    *,
    holds: str = "",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    """Return the vector of a question whose input is a value."""
    return raw_question(
        name,
        kind.name,
        kind.question.encode(asked),
        comment,
        holds=holds,
        breaks=breaks,
        flags=flags,
    )


def raw_question(
    name: str,
    kind: str,
    asked: Json,
    comment: str,
    *,
    holds: str = "",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    """Return the vector of a question whose input may be no value at all."""
    asked = plain(asked)
    return Vector(
        name,
        comment,
        tuple(holds.split()),
        tuple(breaks.split()),
        tuple(flags.split()),
        Question(kind, asked, plain(KINDS[kind].answered(asked))),
    )
