"""Spreading a decision's blocks over time, where the machine is seen to change its state (E9).

States last seconds to tens of seconds: blocks taken in a row may all fall into one, and the verdict
would be about that one. Where a search's times show two states, it waits before further blocks, as
far as the turn's time allows, so that they meet the mixture that a user lives through.
"""

from collections.abc import Sequence
from typing import Final

from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS
from spec.evidence.machine_states import FEWEST, JUMP

PAUSE_NS: Final = SECOND_NS
"""Longest wait before one block: long against a block, short against a state."""
SHARE: Final = 16
"""A wait takes at most this part of what is left of the turn, so that waiting can't cut it: after
ten of them half of it is left."""
SHORTEST_NS: Final = 20 * MILLISECOND_NS
"""A shorter wait is not worth its wake-up."""


def two_states(times_ns: Sequence[int]) -> bool:
    """Say whether times of one side fall into two groups that are far apart (E9).

    Here over single measurements, before they are blocks: each group needs twice as many.
    """
    ordered, least = sorted(times_ns), 2 * FEWEST
    return any(
        ordered[place] * JUMP.denominator >= ordered[place - 1] * JUMP.numerator
        for place in range(least, len(ordered) - least + 1)
    )


def pause_before_block_ns(reference_ns: Sequence[int], left_ns: int) -> int:
    """Return how long to wait before the next block; 0 where one state was seen.

    `reference_ns` are the reference's paired times so far, of every candidate of the search;
    `left_ns` is what is left of the candidate's turn.
    """
    if not two_states(reference_ns):
        return 0
    pause_ns = min(PAUSE_NS, left_ns // SHARE)
    return pause_ns if pause_ns >= SHORTEST_NS else 0
