"""One codec per type that crosses the border between two implementations."""

from typing import Final, Generic, TypeAlias, TypeVar, cast

from attrs import frozen

from conformance.codec.decoding import decoded
from conformance.codec.encoding import encoded
from conformance.codec.shape import Shape, shape_of
from spec.candidate import Candidate
from spec.canonical_json import Json
from spec.decision import Decision
from spec.engine.effect import Effect
from spec.engine.event import Event
from spec.engine.statistics import Statistics
from spec.evidence.block import Block, Side
from spec.evidence.rule import EvidenceRule
from spec.evidence.verdict import Verdict
from spec.failure import Failure
from spec.moment import Moment
from spec.policy import Policy
from spec.problem import Problem
from spec.record import Record
from spec.regression.history import RegressionVerdict
from spec.regression.incidents import Consequence, IncidentPolicy
from spec.regression.rule import RegressionRule
from spec.report import TrialReport

V = TypeVar("V")
Result: TypeAlias = Decision | Failure
WORDS: Final = frozenset({"reason", "detail"})
"""Members that speak to people. Two implementations may word them differently."""


@frozen
class Codec(Generic[V]):
    """The two directions of one type."""

    shape: Shape

    def encode(self, value: V) -> Json:
        """Return the JSON of a value, every member written out. Raises `CodecError`."""
        return encoded(self.shape, value, "$")

    def decode(self, json: Json, path: str = "$") -> V:
        """Return the value of JSON. Raises `CodecError` with the path from the root."""
        return cast("V", decoded(self.shape, json, path))


def codec_of(kind: type[V]) -> Codec[V]:
    """Return the codec of a class. Unions have theirs below."""
    return Codec(shape_of(kind))


PROBLEM: Final = codec_of(Problem)
CANDIDATE: Final = codec_of(Candidate)
CANDIDATES: Final[Codec[tuple[Candidate, ...]]] = Codec(shape_of(tuple[Candidate, ...]))
POLICY: Final = codec_of(Policy)
MOMENT: Final = codec_of(Moment)
RECORD: Final = codec_of(Record)
DECISION: Final = codec_of(Decision)
FAILURE: Final = codec_of(Failure)
RESULT: Final[Codec[Result]] = Codec(shape_of(Result))
EVENT: Final[Codec[Event]] = Codec(shape_of(Event))
EFFECT: Final[Codec[Effect]] = Codec(shape_of(Effect))
EFFECTS: Final[Codec[tuple[Effect, ...]]] = Codec(shape_of(tuple[Effect, ...]))
REPORT: Final = codec_of(TrialReport)
STATISTICS: Final = codec_of(Statistics)
EVIDENCE_RULE: Final[Codec[EvidenceRule]] = Codec(shape_of(EvidenceRule))
VERDICT: Final[Codec[Verdict]] = Codec(shape_of(Verdict))
BLOCK: Final = codec_of(Block)
SIDES: Final[Codec[tuple[Side, ...]]] = Codec(shape_of(tuple[Side, ...]))
REGRESSION_RULE: Final[Codec[RegressionRule]] = Codec(shape_of(RegressionRule))
REGRESSION_VERDICT: Final[Codec[RegressionVerdict]] = Codec(shape_of(RegressionVerdict))
INCIDENT_POLICY: Final = codec_of(IncidentPolicy)
CONSEQUENCE: Final[Codec[Consequence]] = Codec(shape_of(Consequence))


def without_words(json: Json) -> Json:
    """Return the JSON of effects or results without the members that only speak to people."""
    if isinstance(json, dict):
        return {name: without_words(one) for name, one in json.items() if name not in WORDS}
    if isinstance(json, list):
        return [without_words(one) for one in json]
    return json
