"""A plan after its promotion: whether its results are still right, and whether it is faster."""

from ortsel.watch.counts import ServedChecks
from ortsel.watch.sampling import Sampling, WatchSchedule

__all__ = ["Sampling", "ServedChecks", "WatchSchedule"]
