"""A search's trials beside live traffic: each waits until nobody asks anything."""

import time
from collections.abc import Callable
from typing import TypeVar

from ortsel.background.turn import Turn
from ortsel.confirming import Restarting
from ortsel.selector import TrialRunner
from ortsel.trial.errors import TrialFailedError
from ortsel.trial.rig import CannotVerify, Verified
from spec.engine.effect import Purpose
from spec.moment import Moment
from spec.record import Record

T = TypeVar("T")


class PatientTrials:
    """Trials whose scored measurements no request overlapped.

    The search's time stands still while it waits, so that traffic does not use up its budget.
    """

    def __init__(self, trials: TrialRunner, turn: Turn) -> None:
        self._trials = trials
        self._turn = turn
        self._paused_before_ns = turn.paused_ns

    def now(self) -> Moment:
        """Return the time now, by the search's clock and by the wall's."""
        return Moment(time.monotonic_ns() - self._paused_ns, int(time.time()))

    def measure(self, candidate: int, purpose: Purpose, deadline_ns: int) -> int:
        """Time one candidate. A scored time that a request overlapped is measured anew."""
        return self._done(
            lambda: self._trials.measure(candidate, purpose, deadline_ns + self._paused_ns),
            scored=purpose is not Purpose.WARMUP,
        )

    def validate(self, reference: int, candidate: int, deadline_ns: int) -> Verified | CannotVerify:
        """Compare outputs; requests make that slower and not wrong."""
        return self._done(
            lambda: self._trials.validate(reference, candidate, deadline_ns + self._paused_ns),
            scored=False,
        )

    def restart(self) -> None:
        """Pass it on, where there is anything to restart."""
        if isinstance(self._trials, Restarting):
            self._trials.restart()

    def record_loaded(self, record: Record) -> None:
        """Pass it on."""
        self._trials.record_loaded(record)

    @property
    def _paused_ns(self) -> int:
        return self._turn.paused_ns - self._paused_before_ns

    def _done(self, action: Callable[[], T], *, scored: bool) -> T:
        try:
            if scored:
                return self._turn.undisturbed(action)
            self._turn.pause()
            return action()
        except TrialFailedError:
            self._turn.check()  # a child that was stopped has not failed
            raise
