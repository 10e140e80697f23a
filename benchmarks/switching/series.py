"""What a series of times of two plans says: states, the better fixed plan, and what a switch gains.

A series is one slot after the other; in each both plans were timed, and the probe was taken.
"""

import math
import statistics
from collections.abc import Sequence
from itertools import groupby

from attrs import frozen

from spec.evidence.machine_states import JUMP
from spec.evidence.plan_switch import PlanSwitch, RecordedPlan, Serving, SwitchRule, trade_places

LEAST_SHARE = 0.01
"""Of all slots that a state must have; fewer are accidents."""
LEAST_SLOTS = 3
"""In a row, at least once; a state lasts."""


@frozen
class Slot:
    """One moment of the series."""

    started_ns: int
    times_ns: tuple[int, int]
    """A call of the first plan, and of the second."""
    probe_alone_ns: int
    probe_together_ns: int

    @property
    def probe(self) -> float:
        """Time of the probe's two processes together over that of one alone."""
        return self.probe_together_ns / self.probe_alone_ns


def boundary(values: Sequence[float]) -> float | None:
    """Return the value that parts two states best; None where there is one state.

    The cut whose two groups differ most in their mean logarithms, weighed by size (Otsu's). Two
    states have medians at least `JUMP` apart, and neither is rare.
    """
    ordered = sorted(values)
    logs = [math.log(value) for value in ordered]
    least = max(LEAST_SLOTS, math.ceil(LEAST_SHARE * len(ordered)))
    total, below, best, place = math.fsum(logs), 0.0, 0.0, 0
    for size, one in enumerate(logs[:-1], start=1):
        below += one
        rest = len(logs) - size
        if size < least or rest < least:
            continue
        spread = size * rest * (below / size - (total - below) / rest) ** 2
        if spread > best:
            best, place = spread, size
    if not place:
        return None
    low, high = statistics.median(ordered[:place]), statistics.median(ordered[place:])
    return math.sqrt(ordered[place - 1] * ordered[place]) if high >= JUMP * low else None


def labels(values: Sequence[float]) -> list[int] | None:
    """Return the state of each slot, 0 the faster one; None where one state was seen."""
    limit = boundary(values)
    if limit is None:
        return None
    found = [int(value > limit) for value in values]
    longest = max((len(list(run)) for state, run in groupby(found) if state), default=0)
    return found if longest >= LEAST_SLOTS else None


def states_of(slots: Sequence[Slot]) -> tuple[list[int] | None, int]:
    """Return each slot's state, and which plan tells it: the first, or else the second."""
    for plan in (0, 1):
        found = labels([slot.times_ns[plan] for slot in slots])
        if found is not None:
            return found, plan
    return None, 0


def durations_s(slots: Sequence[Slot], states: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return how long each stay in the faster and in the slower state lasted.

    A stay ends where the next begins; the last at the start of the last slot.
    """
    found: tuple[list[float], list[float]] = ([], [])
    began = 0
    for place in range(1, len(slots) + 1):
        if place == len(slots) or states[place] != states[began]:
            until = slots[min(place, len(slots) - 1)].started_ns
            found[states[began]].append((until - slots[began].started_ns) / 1e9)
            began = place
    return found


def recorded(
    slots: Sequence[Slot], states: Sequence[int], names: tuple[str, str]
) -> tuple[RecordedPlan, RecordedPlan]:
    """Return each plan's median in each state. Both states must be there."""

    def of(plan: int) -> RecordedPlan:
        medians = [
            max(1, int(statistics.median(s.times_ns[plan] for s, q in pairs if q == state)))
            for state in (0, 1)
        ]
        return RecordedPlan(names[plan], medians[0], medians[1])

    pairs = list(zip(slots, states, strict=True))
    return of(0), of(1)


def means_ns(slots: Sequence[Slot]) -> tuple[float, float]:
    """Return what each plan took in the mean."""
    return (
        statistics.fmean(slot.times_ns[0] for slot in slots),
        statistics.fmean(slot.times_ns[1] for slot in slots),
    )


@frozen
class Switched:
    """What a switch made of some slots: the mean time, how often it switched."""

    mean_ns: float
    switches: int


def switched(
    before: Sequence[Slot],
    slots: Sequence[Slot],
    names: tuple[str, str],
    rule: SwitchRule,
    *,
    by_probe: bool = False,
) -> Switched:
    """Return what serving by latencies recorded in `before` would have taken in `slots`.

    Each slot is one observation of the plan that serves in it, and decides about the next. Where
    `before` shows no two plans that trade places, its better plan serves throughout. With
    `by_probe` the state is told by the probe, with the limit of `before`, and not by latencies.
    """
    mean_ns = means_ns(before)
    plan = int(mean_ns[1] < mean_ns[0])
    states, _ = states_of(before)
    limit = boundary([slot.probe for slot in before]) if by_probe else None
    if states is None or (by_probe and limit is None):
        return Switched(means_ns(slots)[plan], 0)
    plans = recorded(before, states, names)
    if not trade_places(*plans) or not any(one.tells for one in plans):
        return Switched(means_ns(slots)[plan], 0)
    switch = PlanSwitch(plans, rule)
    serving = Serving(plan, slots[0].started_ns)
    total, switches = 0, 0
    for slot in slots:
        took = slot.times_ns[serving.plan]
        total += took
        if limit is None:
            after = switch.observed(serving, slot.started_ns, took)
        else:
            after = switch.told(serving, slot.started_ns, int(slot.probe > limit))
        switches += after.plan != serving.plan
        serving = after
    return Switched(total / len(slots), switches)


def across(
    slots: Sequence[Slot], names: tuple[str, str], rule: SwitchRule, *, by_probe: bool = False
) -> Switched:
    """Return what a switch takes: recorded in one half of the window, served in the other.

    Both ways; the mean over all slots.
    """
    middle = len(slots) // 2
    halves = (slots[:middle], slots[middle:])
    found = [
        (len(after), switched(before, after, names, rule, by_probe=by_probe))
        for before, after in (halves, halves[::-1])
    ]
    mean_ns = sum(count * one.mean_ns for count, one in found) / len(slots)
    return Switched(mean_ns, sum(one.switches for _, one in found))


@frozen
class Agreement:
    """How far two ways to tell the states agree."""

    share: float
    """Of slots in which both say the same."""
    kappa: float
    """Cohen's: 1 is always, 0 is as often as by chance."""


def agreement(one: Sequence[int], other: Sequence[int]) -> Agreement:
    """Return how far two tellings of the same slots agree."""
    share = statistics.fmean(a == b for a, b in zip(one, other, strict=True))
    p, q = statistics.fmean(one), statistics.fmean(other)
    chance = p * q + (1 - p) * (1 - q)
    return Agreement(share, 0.0 if chance == 1 else (share - chance) / (1 - chance))


def correlation(values: Sequence[float], states: Sequence[int]) -> float:
    """Return the point-biserial correlation; 0 where one of the two never changes."""
    if len(set(values)) < 2 or len(set(states)) < 2:
        return 0.0
    return statistics.correlation(values, [float(state) for state in states])
