"""Evidence: from paired timings, is a candidate faster, not faster, or can't it be said (E3 to E5).

A block of timings gives one exact ratio; a rule turns the ratios into a verdict. Nothing here
measures: times, seeds and rules come in as values.
"""

from spec.evidence.anytime_valid import AnytimeValid
from spec.evidence.block import Block, BlockOrder, Side, block_order
from spec.evidence.median_mad import MedianMad
from spec.evidence.rule import EvidenceRule, assess, shared_by
from spec.evidence.verdict import Faster, NotFaster, TooNoisy, Undecided, Verdict

__all__ = [
    "AnytimeValid",
    "Block",
    "BlockOrder",
    "EvidenceRule",
    "Faster",
    "MedianMad",
    "NotFaster",
    "Side",
    "TooNoisy",
    "Undecided",
    "Verdict",
    "assess",
    "block_order",
    "shared_by",
]
