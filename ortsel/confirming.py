"""A winner measured once more, in new processes.

How a process happens to lie in memory is worth some percent, and stays for as long as it runs: of
two equal plans one can be faster in every block. No rule on blocks of the same two processes can
tell that from a faster plan. So a winner must win again, each time between two new ones.
"""

from fractions import Fraction
from typing import Final, Protocol, runtime_checkable

from spec.engine.effect import Purpose
from spec.evidence.order_statistics import median

ROUNDS: Final = 2
"""Pairs of new processes. What was lucky in the search must be so in each of these as well."""
BLOCKS: Final = 5
"""Of each pair."""
WARMUPS: Final = 2
"""Of each process, its first call among them."""


@runtime_checkable
class Restarting(Protocol):
    """Trials in processes of their own, which new ones can take the place of."""

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Return the mean time of one call, in nanoseconds. Raises `TrialFailedError`."""
        ...

    def restart(self) -> None:
        """End the processes; whoever is measured next runs in a new one."""
        ...


def denial(
    trials: Restarting, reference: int, candidate: int, min_speedup: Fraction, deadline_ns: int
) -> str:
    """Return why a candidate that won has not won in new processes; empty where it has.

    Raises what measuring raises.
    """
    for _ in range(ROUNDS):
        trials.restart()
        for side in (reference, candidate) * WARMUPS:
            trials.measure(side, Purpose.WARMUP, deadline_ns)
        ratios = []
        for block in range(BLOCKS):
            order = (reference, candidate, candidate, reference)
            spent_ns = {reference: 0, candidate: 0}
            for side in order if block % 2 else (candidate, reference, reference, candidate):
                spent_ns[side] += trials.measure(side, Purpose.PAIRED, deadline_ns)
            ratios.append(Fraction(max(1, spent_ns[candidate]), max(1, spent_ns[reference])))
        found = median(ratios)
        if found * min_speedup > 1:
            return f"in new processes it took {float(found):.3f} of the reference's time"
    return ""
