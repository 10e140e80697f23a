"""Every kind of question, and the reference model's answer to each."""

from types import MappingProxyType
from typing import Final

from conformance.vectors.questions import (
    acceptance,
    capability,
    evidence,
    keys,
    ranking,
    records,
    regression,
)
from conformance.vectors.questions.kind import REFUSED, Answering, Kind

_ALL: Final[tuple[Answering, ...]] = (
    *acceptance.KINDS,
    *capability.KINDS,
    *evidence.KINDS,
    *keys.KINDS,
    *ranking.KINDS,
    *records.KINDS,
    *regression.KINDS,
)

KINDS: Final = MappingProxyType({kind.name: kind for kind in _ALL})
"""By name."""

__all__ = ["KINDS", "REFUSED", "Answering", "Kind"]
