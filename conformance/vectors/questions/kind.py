"""A kind of question: a pure function with a JSON form on both sides."""

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from attrs import frozen

from conformance.codec import Codec, CodecError, codec_of, json_schema
from spec.canonical_json import Json
from spec.errors import SpecError

Q = TypeVar("Q")
A = TypeVar("A")

REFUSED: Final[Json] = {"refused": True}
"""The answer to an input that must be refused, whatever the words."""


class Answering(Protocol):
    """A kind, whatever its types."""

    @property
    def name(self) -> str:
        """Name, unique among the kinds."""

    def answered(self, asked: Json) -> Json:
        """Return the reference model's answer."""

    def schema(self) -> Json:
        """Return the JSON Schemas of question and answer."""


@frozen
class Kind(Generic[Q, A]):
    """One function of the reference model, as others may be asked for it."""

    name: str
    question: Codec[Q]
    answer: Codec[A]
    function: Callable[[Q], A]

    def answered(self, asked: Json) -> Json:
        """Return the reference model's answer; never raises for what JSON can hold."""
        try:
            return self.answer.encode(self.function(self.question.decode(asked)))
        except (CodecError, SpecError):
            return REFUSED

    def schema(self) -> Json:
        """Return the JSON Schemas of question and answer."""
        return {
            "input": json_schema(self.question.shape),
            "expected": {"oneOf": [json_schema(self.answer.shape), {"const": REFUSED}]},
        }


def kind(name: str, question: type[Q], answer: type[A], function: Callable[[Q], A]) -> Kind[Q, A]:
    """Return the kind of a function between two classes."""
    return Kind(name, codec_of(question), codec_of(answer), function)
