"""A short look at many candidates, before any of them has its turn.

Most are nowhere near the best, and a turn costs each a process, a verification and many blocks. So
they first follow each other in one child, each for a block or two beside the reference. What this
finds only orders turns and saves hopeless ones: nothing that is measured here promotes a plan.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from attrs import Factory, define

from ortsel.plan import Plan
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import Rig
from spec.failure import Failure

Undisturbed: TypeAlias = Callable[[Callable[[], Fraction]], Fraction]

LEAST_LOOKED_AT: Final = 4
"""Candidates from which on looks at them save more than they cost."""

CHILDREN: Final = 2
"""Times of starting a child that looks must have left, lest the first ends with its time."""


@define
class Screened:
    """What a screening found."""

    ratios: dict[str, Fraction] = Factory(dict)
    """Time over the reference's, by plan name; without those that failed or were not reached."""
    failures: dict[str, Failure] = Factory(dict)
    """Why plans could not be built or run, by name."""


def screen(
    plans: Sequence[Plan],
    rig: Rig,
    left_ns: Callable[[], int],
    deadline_ns: Callable[[], int],
    undisturbed: Undisturbed,
    turn: Callable[[Plan], None],
) -> Screened:
    """Look at candidates in order, as far as the time goes.

    `left_ns` is the time that is left for all of it, pauses for others not counted; `deadline_ns`
    gives the monotonic time until then. `undisturbed` repeats a look that something disturbed;
    `turn` hears whose turn it is.

    Raises `TrialsUnavailableError` where no child can be started, and what `undisturbed` raises.
    """
    screened = Screened()
    if not plans or not _pay(rig, left_ns, deadline_ns):
        return screened
    with rig.looking():
        for plan in plans:
            if left_ns() <= 0:
                break
            turn(plan)

            def look(plan: Plan = plan) -> Fraction:
                return rig.look(plan, deadline_ns())

            try:
                screened.ratios[plan.name] = undisturbed(look)
            except TrialFailedError as error:
                if error.plan != plan.name or left_ns() <= 0:
                    break  # the reference failed, or the time was over
                screened.failures[plan.name] = error.failure
    return screened


def _pay(rig: Rig, left_ns: Callable[[], int], deadline_ns: Callable[[], int]) -> bool:
    """Return whether there is time for looks: they need a child that no turn goes on with."""
    if left_ns() <= 0:
        return False
    try:
        rig.open_reference(deadline_ns())
    except TrialFailedError:
        return False  # the search finds it as well, and says so
    return left_ns() > CHILDREN * rig.opening_ns
