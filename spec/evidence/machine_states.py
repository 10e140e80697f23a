"""States of a machine, told apart by the blocks that were measured in them (E9).

On shared machines all plans of two threads have been seen to take twice as long together, for
seconds to tens of seconds, while a plan of one thread stayed as it was. A median over blocks from
both states describes neither. What a user lives through is the mixture: all the time that one plan
took, over all the time of the other.
"""

from collections.abc import Sequence
from fractions import Fraction

from attrs import frozen

from spec.evidence.block import Block

JUMP = Fraction(3, 2)
"""Times of one side that differ at least so much between neighbours belong to different states.
Noise within a state stays well below; what was seen is a factor of 2."""
FEWEST = 2
"""Blocks on either side of the jump. A single slow block is an accident, not a state."""


@frozen
class InState:
    """What the blocks of one state say."""

    blocks: int
    ratio: Fraction
    """The candidate's time over the reference's, over these blocks together."""
    reference_ns: int
    """Mean of the reference's times, rounded down."""


def states_seen(blocks: Sequence[Block]) -> int:
    """Return in how many states of the machine the blocks were measured: 0 without any, 1 or 2.

    The times of the reference tell, and where they don't, those of the candidate: which of the two
    a state slows depends on the plan.
    """
    if not blocks:
        return 0
    reference_ns, candidate_ns = (
        sorted(map(_reference_ns, blocks)),
        sorted(map(_candidate_ns, blocks)),
    )
    return 2 if _places_of_jumps(reference_ns) or _places_of_jumps(candidate_ns) else 1


def mixture(blocks: Sequence[Block]) -> Fraction:
    """Return the candidate's time over the reference's, over all blocks together; at least one."""
    return Fraction(
        sum(sum(block.candidate_ns) for block in blocks),
        sum(sum(block.reference_ns) for block in blocks),
    )


def by_state(blocks: Sequence[Block]) -> tuple[InState, ...]:
    """Return what each state's blocks say, the faster state's first; one of all where none differ.

    They are told apart at the widest jump in the times of the side that shows one, the reference's
    first.
    """
    for side in (_reference_ns, _candidate_ns):
        ordered = sorted(blocks, key=side)
        places = _places_of_jumps([side(block) for block in ordered])
        if places:
            times = [side(block) for block in ordered]
            widest = max(places, key=lambda place: Fraction(times[place], times[place - 1]))
            return _in_state(ordered[:widest]), _in_state(ordered[widest:])
    return (_in_state(blocks),) if blocks else ()


def _in_state(blocks: Sequence[Block]) -> InState:
    reference_ns = sum(map(_reference_ns, blocks))
    measurements = sum(len(block.reference_ns) for block in blocks)
    return InState(len(blocks), mixture(blocks), reference_ns // measurements)


def _reference_ns(block: Block) -> int:
    return sum(block.reference_ns)


def _candidate_ns(block: Block) -> int:
    return sum(block.candidate_ns)


def window_ns(blocks: Sequence[Block]) -> int:
    """Return the time from the start of the first block to that of the last; 0 without any."""
    return blocks[-1].started_ns - blocks[0].started_ns if blocks else 0


def _places_of_jumps(ordered_ns: Sequence[int]) -> list[int]:
    """Return where ordered times fall into two groups of at least `FEWEST` with a jump between."""
    return [
        place
        for place in range(FEWEST, len(ordered_ns) - FEWEST + 1)
        if ordered_ns[place] * JUMP.denominator >= ordered_ns[place - 1] * JUMP.numerator
    ]
