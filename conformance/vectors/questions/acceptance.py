"""Questions whether a value may exist at all: its own type's rules."""

from typing import Final

from attrs import frozen

from conformance.codec import POLICY, RECORD, Codec, codec_of
from conformance.codec.error import CodecError
from conformance.vectors.questions.kind import Kind, kind
from spec.canonical_json import Json
from spec.capability import AttentionInput, Configuration, Hardware, OrtBuild
from spec.errors import InvalidValue
from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.block import Block
from spec.evidence.median_mad import MedianMad
from spec.ranking import Kernel, KernelInputs, RankingPolicy, Weights
from spec.regression import AnytimeValidRegression, IncidentPolicy, WindowMedian


@frozen
class Proposed:
    """A value that somebody claims to be of a type."""

    type: str
    value: Json


@frozen
class Accepted:
    """It is one."""

    accepted: bool


def _codecs() -> dict[str, Codec[object]]:
    kinds: tuple[type[object], ...] = (
        MedianMad,
        AnytimeValid,
        WindowMedian,
        AnytimeValidRegression,
        IncidentPolicy,
        Block,
        AttentionInput,
        Hardware,
        OrtBuild,
        Configuration,
        Kernel,
        KernelInputs,
        RankingPolicy,
        Weights,
    )
    found: dict[str, Codec[object]] = {
        "policy": Codec(POLICY.shape),
        "record": Codec(RECORD.shape),
    }
    for one in kinds:
        codec = codec_of(one)
        found[_word(one.__name__)] = codec
    return found


def _word(name: str) -> str:
    return "".join(f"-{one.lower()}" if one.isupper() else one for one in name).lstrip("-")


TYPES: Final = _codecs()


def _accepts(asked: Proposed) -> Accepted:
    codec = TYPES.get(asked.type)
    if codec is None:
        raise InvalidValue("type", repr(asked.type), "a known type", "")
    try:
        codec.decode(asked.value)
    except CodecError:
        return Accepted(accepted=False)
    return Accepted(accepted=True)


KINDS: Final[tuple[Kind[Proposed, Accepted], ...]] = (
    kind("accepts", Proposed, Accepted, _accepts),
)
