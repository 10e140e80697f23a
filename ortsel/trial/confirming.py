"""A winner measured once more, in new processes.

How a process happens to lie in memory is worth some percent, and stays for as long as it runs: of
two equal plans one can be faster in every block. No rule on blocks of the same two processes can
tell that from a faster plan. So a winner must win again, each time between two new ones.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from ortsel.plan import Plan
from ortsel.trial.rig import Rig
from spec.engine.effect import Purpose
from spec.evidence.order_statistics import median

ROUNDS: Final = 2
"""Pairs of new processes. Luck of one pair in four reaches the least speed-up on the machines that
this was tried on; what was lucky in the search must be so in each of these as well."""
BLOCKS: Final = 5
"""Of each pair."""


def denial(
    rig: Rig,
    reference: Plan,
    plan: Plan,
    min_speedup: Fraction,
    deadline_ns: Callable[[], int],
    undisturbed: Callable[[Callable[[], int]], int],
) -> str:
    """Return why a plan that won has not won in new processes; empty where it has.

    `undisturbed` repeats a measurement that something disturbed. Raises what it does, and as
    `Rig.measure` does.
    """
    for _ in range(ROUNDS):
        rig.restart()
        for side in (reference, plan):
            rig.measure(side, Purpose.WARMUP, deadline_ns())
            rig.measure(side, Purpose.WARMUP, deadline_ns())
        ratios = []
        for block in range(BLOCKS):
            spent_ns = {reference.name: 0, plan.name: 0}
            order = (reference, plan, plan, reference)
            for side in order if block % 2 else (plan, reference, reference, plan):

                def measured(side: Plan = side) -> int:
                    return rig.measure(side, Purpose.PAIRED, deadline_ns())

                spent_ns[side.name] += undisturbed(measured)
            ratios.append(Fraction(max(1, spent_ns[plan.name]), max(1, spent_ns[reference.name])))
        found = median(ratios)
        if found * min_speedup > 1:
            return f"in new processes it took {float(found):.3f} of the reference's time"
    return ""
