"""A round of paired timings of a served plan with the reference, on a call that was served (S10).

Runs in child processes, one live session each, at low priority, and gives way to requests. The plan
is compared before it is timed: a pair whose outputs nobody checked is no observation.
"""

import random
from typing import Final, Protocol

from attrs import frozen

from ortsel import telemetry
from ortsel.selector import Selector, Standing, TrialRunner
from ortsel.trial.rig import CannotVerify
from spec.engine.effect import Purpose
from spec.moment import Moment

PAIRS: Final = 4
"""Of a round in which nothing looks wrong."""
MOST_PAIRS: Final = 48
"""Of a round in which most say that the plan is slower. The rule's default needs about 15 in a row
to be sure, and more where some disagree."""
WARMUPS: Final = 1
REFERENCE: Final = 0


class PatientRunner(TrialRunner, Protocol):
    """Trials with a clock that stands still while requests are served."""

    def now(self) -> Moment:
        """Return the time."""
        ...


@frozen
class Served:
    """A decision under watch."""

    key: str
    plan: str
    index: int
    """Position among the plans of the trials; the reference is the first."""
    reference: str


@frozen
class Round:
    """What a round showed."""

    standing: Standing
    pairs: int
    slower: int
    """Pairs in which the plan took longer."""
    reason: str = ""
    """Why there are no pairs, where there are none."""

    @property
    def looks_well(self) -> bool:
        """Whether the plan was the faster one at least half of the time."""
        return 2 * self.slower <= self.pairs


def replay(
    selector: Selector, served: Served, trials: PatientRunner, budget_ns: int, seed: int
) -> Round:
    """Time pairs until the rule has spoken or the plan looks well.

    The rule's memory is the selector's, over all rounds.
    Raises `TrialFailedError` where the plan fails or its outputs differ, and what a turn raises.
    """
    deadline_ns = trials.now().monotonic_ns + budget_ns
    for side in (REFERENCE, served.index):
        for _ in range(WARMUPS):
            trials.measure(side, Purpose.WARMUP, deadline_ns)
    verdict = trials.validate(REFERENCE, served.index, deadline_ns)
    if isinstance(verdict, CannotVerify):
        return Round(Standing.HOLDS, 0, 0, verdict.reason)
    order = random.Random(seed)  # noqa: S311
    pairs = slower = 0
    standing = Standing.HOLDS
    while pairs < PAIRS or (2 * slower > pairs and pairs < MOST_PAIRS):
        if trials.now().monotonic_ns >= deadline_ns:
            break
        reference_ns, selected_ns = _pair(trials, served.index, deadline_ns, order)
        pairs += 1
        slower += selected_ns > reference_ns
        telemetry.paired()
        standing = selector.compare(
            served.key, served.plan, served.reference, reference_ns, selected_ns
        )
        if standing is not Standing.HOLDS:
            break
    return Round(standing, pairs, slower)


def _pair(
    trials: PatientRunner, index: int, deadline_ns: int, order: random.Random
) -> tuple[int, int]:
    """Return the times of both sides over one balanced block, reference first (E3)."""
    sides = [REFERENCE, index, index, REFERENCE]
    if order.random() < 1 / 2:
        sides = [index, REFERENCE, REFERENCE, index]
    times = [(side, trials.measure(side, Purpose.PAIRED, deadline_ns)) for side in sides]
    return (
        max(1, sum(time for side, time in times if side == REFERENCE) // 2),
        max(1, sum(time for side, time in times if side == index) // 2),
    )
