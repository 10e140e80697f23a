"""States of a machine, told apart by the blocks that were measured in them (E9).

On shared machines all plans of two threads have been seen to take twice as long together, for
seconds to tens of seconds, while a plan of one thread stayed as it was. A median over blocks from
both states describes neither. What a user lives through is the mixture: all the time that one plan
took, over all the time of the other.
"""

from collections.abc import Sequence
from fractions import Fraction

from spec.evidence.block import Block

JUMP = Fraction(3, 2)
"""Times of one side that differ at least so much between neighbours belong to different states.
Noise within a state stays well below; what was seen is a factor of 2."""
FEWEST = 2
"""Blocks on either side of the jump. A single slow block is an accident, not a state."""


def states_seen(blocks: Sequence[Block]) -> int:
    """Return in how many states of the machine the blocks were measured: 0 without any, 1 or 2.

    The times of the reference tell, and where they don't, those of the candidate: which of the two
    a state slows depends on the plan.
    """
    if not blocks:
        return 0
    reference_ns = sorted(sum(block.reference_ns) for block in blocks)
    candidate_ns = sorted(sum(block.candidate_ns) for block in blocks)
    return 2 if _jumps(reference_ns) or _jumps(candidate_ns) else 1


def mixture(blocks: Sequence[Block]) -> Fraction:
    """Return the candidate's time over the reference's, over all blocks together; at least one."""
    return Fraction(
        sum(sum(block.candidate_ns) for block in blocks),
        sum(sum(block.reference_ns) for block in blocks),
    )


def window_ns(blocks: Sequence[Block]) -> int:
    """Return the time from the start of the first block to that of the last; 0 without any."""
    return blocks[-1].started_ns - blocks[0].started_ns if blocks else 0


def _jumps(ordered_ns: Sequence[int]) -> bool:
    """Say whether ordered times fall into two groups of at least `FEWEST` with a jump between."""
    return any(
        ordered_ns[place] * JUMP.denominator >= ordered_ns[place - 1] * JUMP.numerator
        for place in range(FEWEST, len(ordered_ns) - FEWEST + 1)
    )
