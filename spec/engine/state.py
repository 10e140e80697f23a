"""The engine's memory: one immutable value, every part bounded (S11)."""

from enum import Enum
from typing import Final

from attrs import field, frozen
from immutables import Map

from spec.engine.effect import Effect
from spec.engine.fifo import Fifo
from spec.engine.search import Search
from spec.engine.statistics import Statistics
from spec.failure import Failure
from spec.policy import SECOND_NS, Policy
from spec.problem import Scope
from spec.record import Record
from spec.regression import Incidents, RegressionHistory
from spec.report import TrialReport

MAX_EXCLUSIONS: Final = 4096
"""Excluded candidates per key: as many as one request may have (S1). The oldest leaves first."""
MAX_QUARANTINED: Final = 1024
"""Quarantined environments. With as many devices in doubt, every environment is treated as
quarantined: forgetting one would let a doubtful device serve again."""


@frozen
class Held:
    """A decision in memory."""

    record: Record
    fresh_until_ns: int
    """Monotonic, so that a jump of the wall clock neither keeps it for ever nor drops it."""

    def is_fresh(self, monotonic_ns: int) -> bool:
        """Whether it may still be used."""
        return monotonic_ns < self.fresh_until_ns


@frozen
class Bypass:
    """A key that is answered with the reference, because the search found no ground to stand on."""

    failure: Failure
    scope: Scope
    reference: str
    until_ns: int | None
    """Monotonic time at which a search may try again; None as long as the key is held."""

    def holds(self, monotonic_ns: int) -> bool:
        """Whether it still answers."""
        return self.until_ns is None or monotonic_ns < self.until_ns


class Cause(Enum):
    """Why a candidate is out for a key."""

    UNSUPPORTED = "unsupported"
    TRANSIENT = "transient"
    REJECTED = "rejected"
    CRASHED = "crashed"
    REGRESSED = "regressed"
    """Comparisons found it slower than recorded (S10)."""
    BANNED = "banned"
    """The shell took the decision back and asked for a ban (S9)."""


@frozen
class Exclusion:
    """A candidate that is not tried and not served for one key."""

    cause: Cause
    code: str
    detail: str
    until_ns: int | None
    """Monotonic time at which it may come back; None as long as the key is held."""
    number: int
    """Order of arrival among the exclusions of the key."""

    def holds(self, monotonic_ns: int) -> bool:
        """Whether it still excludes."""
        return self.until_ns is None or monotonic_ns < self.until_ns

    @property
    def reason(self) -> str:
        """Words for people: cause, code and detail."""
        return f"{self.cause.value}: {describe(self.code, self.detail)}"


@frozen
class Entry:
    """Everything that belongs to one key, so that it can leave together."""

    settled: Held | Bypass | None = None
    exclusions: "Map[str, Exclusion]" = field(factory=Map)
    """By candidate name."""
    incidents: "Map[str, Incidents]" = field(factory=Map)
    """Degradations so far, by candidate name; they outlive the record (S10)."""
    history: RegressionHistory | None = None
    """Comparisons of the held winner; None without any."""

    def exclusion(self, candidate: str, monotonic_ns: int) -> Exclusion | None:
        """Return what keeps a candidate out now, if anything does."""
        found = self.exclusions.get(candidate)
        return found if found is not None and found.holds(monotonic_ns) else None


NOTHING: Final = Entry()


@frozen
class State:
    """What the engine knows. Equal states behave the same."""

    policy: Policy
    entries: "Map[str, Entry]" = field(factory=Map)
    """By the digest of the key."""
    keys: "Fifo[str]" = field(factory=Fifo)
    """The keys of `entries`, in order of arrival."""
    searches: "Map[int, Search]" = field(factory=Map)
    """Requests under way, by their number."""
    busy_keys: "Map[str, int]" = field(factory=Map)
    """Keys under way and the request that occupies each."""
    busy_lanes: "Map[str, int]" = field(factory=Map)
    """Environments under way and the request that occupies each."""
    quarantine: "Map[str, Failure]" = field(factory=Map)
    """Environments whose device is in doubt, with what happened first."""
    reports: "Fifo[TrialReport]" = field(factory=Fifo)
    statistics: Statistics = field(factory=Statistics)

    def entry(self, key: str) -> Entry:
        """Return what is held for a key; `NOTHING` if it isn't."""
        return self.entries.get(key, NOTHING)

    def counted(self, *names: str) -> "State":
        """Return the state with each named statistic one higher."""
        return self._with(self.searches, self.statistics.plus(*names))

    def with_search(self, search: Search) -> "State":
        """Return the state with a request under way that is new or has moved on."""
        return self._with(self.searches.set(search.request, search), self.statistics)

    def _with(self, searches: "Map[int, Search]", statistics: Statistics) -> "State":
        # Every step comes by here, and `evolve` takes five times as long.
        return State(
            self.policy,
            self.entries,
            self.keys,
            searches,
            self.busy_keys,
            self.busy_lanes,
            self.quarantine,
            self.reports,
            statistics,
        )

    def is_quarantined(self, lane: str) -> bool:
        """Whether no plan may run in an environment any more."""
        return lane in self.quarantine or len(self.quarantine) >= MAX_QUARANTINED


@frozen
class Transition:
    """The outcome of one step: the next state, and what the shell shall do, in this order."""

    state: State
    effects: tuple[Effect, ...] = ()


def initial_state(policy: Policy) -> State:
    """Return the state of a selector that knows nothing."""
    return State(policy)


def retry_at_ns(policy: Policy, monotonic_ns: int) -> int:
    """Return when something that may pass is looked at again."""
    return monotonic_ns + policy.retry_after_s * SECOND_NS


def describe(code: str, detail: str) -> str:
    """Return a code with its detail, where there is one."""
    return f"{code}: {detail}" if detail else code
