"""Questions about blocks, medians and verdicts (E3 to E5, S13)."""

from enum import Enum
from fractions import Fraction
from typing import Final

from attrs import frozen

from conformance.vectors.questions.kind import kind
from spec.evidence.block import Block, Side, block_order
from spec.evidence.order_statistics import median, relative_mad
from spec.evidence.rule import EvidenceRule, assess
from spec.evidence.verdict import Faster, NotFaster, TooNoisy, Undecided


@frozen
class BlockNumber:
    """Which block of which candidate."""

    seed: int
    key: str
    candidate: str
    block: int


@frozen
class Order:
    """Who runs when."""

    order: tuple[Side, ...]


@frozen
class Ratio:
    """Candidate over reference."""

    ratio: Fraction


@frozen
class Ratios:
    """Block ratios, in the order of measurement."""

    ratios: tuple[Fraction, ...]


@frozen
class Spread:
    """Median, and relative median absolute deviation."""

    median: Fraction
    relative_mad: Fraction


@frozen
class Case:
    """Everything that a verdict depends on."""

    rule: EvidenceRule
    ratios: tuple[Fraction, ...]
    min_speedup: Fraction
    to_beat: Fraction | None = None


class Word(Enum):
    """The four verdicts."""

    FASTER = "faster"
    NOT_FASTER = "not-faster"
    TOO_NOISY = "too-noisy"
    UNDECIDED = "undecided"


@frozen
class Judged:
    """What the ratios show, and how many blocks it rests on."""

    verdict: Word
    ratio: Fraction | None
    dispersion: Fraction | None
    blocks: int


_WORDS: Final = {
    Faster: Word.FASTER,
    NotFaster: Word.NOT_FASTER,
    TooNoisy: Word.TOO_NOISY,
    Undecided: Word.UNDECIDED,
}


def _order(asked: BlockNumber) -> Order:
    return Order(block_order(asked.seed, asked.key, asked.candidate, asked.block))


def _ratio(asked: Block) -> Ratio:
    return Ratio(asked.ratio)


def _spread(asked: Ratios) -> Spread:
    return Spread(median(asked.ratios), relative_mad(asked.ratios))


def _assess(asked: Case) -> Judged:
    found = assess(asked.rule, asked.ratios, asked.min_speedup, asked.to_beat)
    return Judged(_WORDS[type(found)], found.ratio, found.dispersion, found.blocks)


ORDER: Final = kind("block-order", BlockNumber, Order, _order)
RATIO: Final = kind("block-ratio", Block, Ratio, _ratio)
SPREAD: Final = kind("spread", Ratios, Spread, _spread)
ASSESS: Final = kind("assess", Case, Judged, _assess)
KINDS: Final = (ORDER, RATIO, SPREAD, ASSESS)
