"""Which served calls are looked at again: often after a promotion, then ever more rarely.

Asked from a call's long way only, which a call takes once in some tens: a hit pays nothing.
"""

import threading
import time
from typing import Final

from attrs import frozen

from spec.policy import SECOND_NS

NEVER: Final = 2**62
"""As a count of calls, or a time in nanoseconds."""
MOST_GAP: Final = 2**16
"""Calls between two looks, at most, where the time does not come first."""
SKIPPED_NS: Final = 60 * SECOND_NS
"""How long a look that found no room, or no quiet moment, stays away."""
BACK_OFF: Final = 16
"""Rounds of timing are at most so many times further apart than at first."""


@frozen
class WatchSchedule:
    """How often served calls are looked at. Zero switches a kind of look off."""

    shadow_share: float
    """Part of the time that checks may take."""
    shadow_every_ns: int
    """Longest time between two checks of a shape that is called."""
    replay_every_ns: int
    """From a promotion to the first round of timing."""

    def sampling(self) -> "Sampling":
        """Return the sampling of a plan that was promoted just now."""
        return Sampling(self, time.monotonic_ns())


class Sampling:
    """When a call of one shape is copied next. Safe for many threads.

    Between `claim` and `again` nothing is due: one copy at a time.
    """

    def __init__(self, schedule: WatchSchedule, now_ns: int) -> None:
        self._schedule = schedule
        self._lock = threading.RLock()
        self._claimed = False
        self._gap = 1
        self._last_use: int | None = None
        self._not_before_ns = now_ns
        self._check_at_ns = now_ns + schedule.shadow_every_ns if self.checks else NEVER
        self._replay_gap_ns = schedule.replay_every_ns
        self._replay_at_ns = now_ns + self._replay_gap_ns if self._replay_gap_ns else NEVER

    @property
    def checks(self) -> bool:
        """Whether results are compared at all."""
        return self._schedule.shadow_share > 0

    @property
    def at_use(self) -> int:
        """The use from which a check is due, if its time has come too."""
        if not self.checks or self._claimed:
            return NEVER
        return 0 if self._last_use is None else self._last_use + self._gap

    def is_due(self, uses: int, now_ns: int) -> bool:
        """Whether the call that is the `uses`-th of its shape shall be copied."""
        if self._claimed or now_ns < self._not_before_ns:
            return False
        return uses >= self.at_use or now_ns >= min(self._check_at_ns, self._replay_at_ns)

    def replay_is_due(self, now_ns: int) -> bool:
        """Whether the plan shall be timed again."""
        return now_ns >= self._replay_at_ns

    def claim(self, uses: int, now_ns: int) -> bool:
        """Say whether the caller is the one who copies this call. Then `again` must follow."""
        with self._lock:
            if not self.is_due(uses, now_ns):
                return False
            self._claimed = True
            self._last_use = uses
            return True

    def again(self, cost_ns: int) -> None:
        """Hear what a look cost, in nanoseconds, and that the plan passed: look less often."""
        now_ns = time.monotonic_ns()
        self._gap = min(2 * self._gap, MOST_GAP)
        pause_ns = round(cost_ns / self._schedule.shadow_share) if self.checks else 0
        self._rearm(now_ns, pause_ns)

    def later(self) -> None:
        """Hear that a look came to nothing: stay away for a while."""
        self._rearm(time.monotonic_ns(), SKIPPED_NS)

    def replayed(self, *, holds: bool) -> None:
        """Hear that the plan was timed; one that holds is timed half as often next."""
        every_ns = self._schedule.replay_every_ns
        most_ns = BACK_OFF * every_ns
        self._replay_gap_ns = min(2 * self._replay_gap_ns, most_ns) if holds else every_ns
        self._replay_at_ns = time.monotonic_ns() + self._replay_gap_ns

    def _rearm(self, now_ns: int, pause_ns: int) -> None:
        with self._lock:
            self._not_before_ns = now_ns + pause_ns
            self._check_at_ns = now_ns + self._schedule.shadow_every_ns if self.checks else NEVER
            self._claimed = False
