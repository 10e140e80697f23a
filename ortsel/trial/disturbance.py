"""Which measurements something else disturbed, told by what they needed and never by their time.

Judged by its time, a slow measurement of an honest plan would be taken again until it is fast. The
signs here are the same for either side of a block: processor time of the side that waits, turns
taken away from the side's threads, and processor time that it did not get.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from attrs import frozen

from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS
from spec.evidence.order_statistics import median

FEWEST: Final = 5
"""Measurements of a side before its own median says what is usual."""
REMEMBERED: Final = 15
"""Last measurements that the median is over; a change that lasts is usual after half of them."""
TURNS_FACTOR: Final = 2
TURNS_SPARED: Final = 100
"""Involuntary switches a second beyond that factor of the median: a kernel thread takes one or two
in twenty milliseconds, a process that computes beside the side takes many more."""
LEAST_SHARE: Final = Fraction(4, 5)
"""Processor time over wall-clock time below this part of the median: a neighbour had the rest.
Threads that spin keep a side's share steady."""
IDLE_SHARE: Final = Fraction(1, 4)
IDLE_LEAST_NS: Final = 20 * MILLISECOND_NS
"""The side that waits computed: more than this part of the time, and more than two ticks of the
clock in which the system counts processor time."""


@frozen
class Effort:
    """What one measurement needed, besides its time."""

    span_ns: int
    """From its begin to its end, gaps between calls included."""
    cpu_ns: int
    """Processor time of the side's threads within."""
    switches_involuntary: int
    idle_cpu_ns: int = 0
    """Processor time of the side that waited."""
    alone: bool = True
    """Whether the threads of the side that waits slept when it began."""

    @property
    def share(self) -> Fraction:
        """Processors in use, on average."""
        return Fraction(self.cpu_ns, max(1, self.span_ns))

    @property
    def turns_lost(self) -> Fraction:
        """Involuntary switches a second."""
        return Fraction(self.switches_involuntary * SECOND_NS, max(1, self.span_ns))


def disturbance(effort: Effort, earlier: Sequence[Effort]) -> str:
    """Return what disturbed a measurement, in words; empty where nothing did.

    `earlier` are measurements of the same side and length, oldest first, the disturbed among them.
    """
    if not effort.alone:
        return "the threads of the side that waits did not come to rest"
    if effort.idle_cpu_ns > max(Fraction(IDLE_LEAST_NS), effort.span_ns * IDLE_SHARE):
        return f"the side that waits computed for {effort.idle_cpu_ns / MILLISECOND_NS:.0f} ms"
    known = earlier[-REMEMBERED:]
    if len(known) < FEWEST:
        return ""
    usual = median([one.turns_lost for one in known])
    if effort.turns_lost > TURNS_FACTOR * usual + TURNS_SPARED:
        return (
            f"{float(effort.turns_lost):.0f} involuntary switches a second, usually "
            f"{float(usual):.0f}"
        )
    share = median([one.share for one in known])
    if effort.share < LEAST_SHARE * share:
        return f"{float(effort.share):.2f} processors in use, usually {float(share):.2f}"
    return ""
