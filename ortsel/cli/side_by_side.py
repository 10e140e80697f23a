"""Two sessions of one model timed against each other in this process, and their outputs compared.

A block is reference, served, served, reference, or its mirror. Before each leg the process sleeps,
so that the threads of the other session, which spin for a while after a call, are parked.
"""

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import frozen

from ortsel.cli.feeds import Array

Run: TypeAlias = Callable[[], object]

BLOCKS: Final = 8
PAUSE_S: Final = 0.25
"""Sleep before a leg. Threads that still spin would slow the other session's."""
LEG_NS: Final = 100_000_000
"""About how long one leg computes; at least one call."""
WAKING_CALLS: Final = 2
"""Calls at the start of a leg that are not counted: they wake the session's own threads."""


@frozen
class SideBySide:
    """What was measured. Latencies are per call, medians over the legs."""

    reference_ns: int
    served_ns: int
    ratios: tuple[Fraction, ...]
    """Served over reference, one per block in the order of measurement."""

    @property
    def ratio(self) -> float:
        """Median of the blocks."""
        return float(statistics.median(self.ratios))

    def how(self) -> tuple[str, str]:
        """Return how it was measured, in two short lines."""
        return (
            f"{len(self.ratios)} blocks of reference, served, served, reference (or the mirror)",
            f"in one process; {PAUSE_S:g} s of sleep before each leg parks the other's threads",
        )


def compare_latency(reference: Run, served: Run, seed: int, blocks: int = BLOCKS) -> SideBySide:
    """Time two ways of computing the same, in balanced blocks whose order the seed draws."""
    calls = _calls(reference)
    served()
    order = random.Random(seed)  # noqa: S311
    ratios: list[Fraction] = []
    legs: dict[bool, list[int]] = {True: [], False: []}
    for _ in range(blocks):
        outer_is_reference = order.random() < 0.5  # noqa: PLR2004
        totals = {True: 0, False: 0}
        for is_outer in (True, False, False, True):
            is_reference = is_outer == outer_is_reference
            spent_ns = _leg(reference if is_reference else served, calls)
            totals[is_reference] += spent_ns
            legs[is_reference].append(spent_ns // calls)
        ratios.append(Fraction(totals[False], totals[True]))
    return SideBySide(
        int(statistics.median(legs[True])), int(statistics.median(legs[False])), tuple(ratios)
    )


def largest_difference(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Return the largest absolute difference over all numeric outputs; NaN against NaN is none.

    Infinite where shapes or types differ, or where only one side has a NaN.
    """
    if len(left) != len(right):
        return float("inf")
    return max((_difference(one, two) for one, two in zip(left, right, strict=True)), default=0.0)


def runner(session: Any, feeds: Mapping[str, Array]) -> Run:
    """Return the call that is timed."""
    feed = dict(feeds)

    def run() -> object:
        return session.run(None, feed)

    return run


def _calls(run: Run) -> int:
    for _ in range(WAKING_CALLS):
        run()
    started_ns = time.perf_counter_ns()
    run()
    return max(1, min(1000, LEG_NS // max(1, time.perf_counter_ns() - started_ns)))


def _leg(run: Run, calls: int) -> int:
    time.sleep(PAUSE_S)
    for _ in range(WAKING_CALLS):
        run()
    started_ns = time.perf_counter_ns()
    for _ in range(calls):
        run()
    return max(1, time.perf_counter_ns() - started_ns)


def _difference(left: object, right: object) -> float:
    one, two = np.asarray(left), np.asarray(right)
    if one.shape != two.shape or one.dtype != two.dtype:
        return float("inf")
    if one.dtype.kind not in "fiub":
        return 0.0 if bool(np.all(one == two)) else float("inf")
    first, second = one.astype(np.float64), two.astype(np.float64)
    equal = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        gaps = np.where(equal, 0.0, np.abs(first - second))
    if not gaps.size:
        return 0.0
    return float("inf") if bool(np.isnan(gaps).any()) else float(gaps.max())
