"""What became of each kernel on each workload (rules R7, R8, R14)."""

from enum import Enum
from fractions import Fraction

from attrs import evolve, field, frozen
from immutables import Map

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least
from spec.ranking.moments import Moments
from spec.ranking.power_of_two import halved

DAY_NS = 24 * 3600 * 10**9

UsageKey = tuple[str, str]
"""Workload and kernel id: a latency at one workload says nothing about another."""


@frozen
class Succeeded:
    """The kernel ran and its latency was measured."""

    latency_ns: int = field(validator=at_least(1, "R14"))


class Failed(Enum):
    """The kernel was tried and gave no latency."""

    FAILED = "failed"


Outcome = Succeeded | Failed


@frozen
class HistoryPolicy:
    """How long and how much is remembered."""

    half_life_ns: int = field(default=7 * DAY_NS, validator=at_least(1, "R8"))
    retention_ns: int = field(default=56 * DAY_NS, validator=at_least(1, "R14"))
    """Eight half-lives: what is left then weighs 1/256."""
    max_entries: int = field(default=65_536, validator=at_least(1, "R14"))


@frozen
class Usage:
    """One kernel on one workload: tries, successes, latencies of the successes, last try."""

    trials: int = field(validator=at_least(1, "R14"))
    latency: Moments
    last_used_ns: int

    def __attrs_post_init__(self) -> None:
        if self.latency.count > self.trials:
            raise InvalidValue("latency.count", str(self.latency.count), "at most trials", "R14")

    @property
    def success_rate(self) -> Fraction:
        """Successes among tries, from 0 to 1."""
        return Fraction(self.latency.count, self.trials)


@frozen
class History:
    """Usage by workload and kernel, bounded: first in, first out. A change returns a new history.

    A record or a look-up costs the same however many entries there are (up to the logarithm).
    """

    policy: HistoryPolicy = HistoryPolicy()
    usages: Map[UsageKey, Usage] = field(factory=Map)
    arrivals: Map[int, UsageKey] = field(factory=Map)
    """Keys by number of arrival, without gaps from `oldest` on."""
    oldest: int = 0

    def record(self, workload: str, kernel_id: str, outcome: Outcome, now_ns: int) -> "History":
        """Return the history with one more try.

        An expired usage of the key starts afresh. At capacity the key that came in first goes.
        """
        key = (workload, kernel_id)
        known = self.usages.get(key)
        live = known is not None and not self._expired(known, now_ns)
        before = known.latency if known is not None and live else Moments()
        trials = known.trials if known is not None and live else 0
        latency = before if isinstance(outcome, Failed) else before.add(outcome.latency_ns)
        usages = self.usages.set(key, Usage(trials + 1, latency, now_ns))
        if known is not None:
            return evolve(self, usages=usages)
        arrivals = self.arrivals.set(self.oldest + len(self.arrivals), key)
        if len(arrivals) <= self.policy.max_entries:
            return evolve(self, usages=usages, arrivals=arrivals)
        return evolve(
            self,
            usages=usages.delete(arrivals[self.oldest]),
            arrivals=arrivals.delete(self.oldest),
            oldest=self.oldest + 1,
        )

    def usage(self, workload: str, kernel_id: str, now_ns: int) -> Usage | None:
        """Return the usage of the key; `None` if never tried, or not within the retention."""
        known = self.usages.get((workload, kernel_id))
        return None if known is None or self._expired(known, now_ns) else known

    def recency(self, usage: Usage, now_ns: int) -> Fraction:
        """Return the weight that is left of a usage: 1 just used, halved every half-life (R8)."""
        return halved(now_ns - usage.last_used_ns, self.policy.half_life_ns)

    def pruned(self, now_ns: int) -> "History":
        """Return the history without expired usages, order of arrival kept. Cost: all entries."""
        kept = [
            self.arrivals[number]
            for number in range(self.oldest, self.oldest + len(self.arrivals))
            if not self._expired(self.usages[self.arrivals[number]], now_ns)
        ]
        return History(
            policy=self.policy,
            usages=Map((key, self.usages[key]) for key in kept),
            arrivals=Map(enumerate(kept)),
        )

    def _expired(self, usage: Usage, now_ns: int) -> bool:
        # A last use after now (the clock went back) is not expired: it counts as just used.
        return now_ns - usage.last_used_ns > self.policy.retention_ns
