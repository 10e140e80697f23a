"""One task's turn on the background thread: when it may go on, and what it must do over."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.background.requests import Requests

T = TypeVar("T")

ATTEMPTS: Final = 8
"""How often something that requests disturb is done over before the task gives up for now."""


class Turn:
    """What a task is given. Used from the background thread only, except `is_stopped`."""

    def __init__(
        self,
        requests: Requests,
        idle_ns: int,
        sleep: Callable[[int], None],
        obstacle: Callable[[], str],
        seen: tuple[int, int] | None = None,
    ) -> None:
        self._requests = requests
        self._idle_ns = idle_ns
        self._sleep = sleep
        self._obstacle = obstacle
        self.seen = seen
        """What `Requests.seen` was at the end of the last pause."""
        self._started_ns = time.monotonic_ns()
        self.paused_ns = 0
        """How long the task has waited for requests to end."""

    @property
    def active_ns(self) -> int:
        """How long the task has worked, waiting left out."""
        return time.monotonic_ns() - self._started_ns - self.paused_ns

    def is_stopped(self) -> bool:
        """Whether the work is wanted no more. May be asked from any thread."""
        return bool(self._obstacle())

    def check(self) -> None:
        """Raise `WorkStoppedError` when the work is wanted no more."""
        if obstacle := self._obstacle():
            raise WorkStoppedError(obstacle)

    def pause(self) -> None:
        """Return once no session of this process is in a call and none was begun lately.

        At once when nothing was asked since the last pause. Otherwise asleep until nothing was
        asked for the idle time. Raises `WorkStoppedError`.
        """
        self.check()
        if self._is_quiet_since(self.seen):
            return
        began_ns = time.monotonic_ns()
        try:
            while True:
                before = self._requests.seen()
                until_ns = time.monotonic_ns() + self._idle_ns
                while (left_ns := until_ns - time.monotonic_ns()) > 0:
                    self._sleep(left_ns)
                    self.check()
                if self._is_quiet_since(before):
                    self.seen = before
                    return
        finally:
            self.paused_ns += time.monotonic_ns() - began_ns

    def undisturbed(self, action: Callable[[], T], attempts: int = ATTEMPTS) -> T:
        """Return the result of an `action` during which nobody asked anything.

        A result that a request overlapped is thrown away and the action done over, after a pause.
        Raises `DisturbedError` after so many attempts, `WorkStoppedError`, and what `action` does.
        """
        for _ in range(attempts):
            self.pause()
            result = action()
            self.check()
            if self._is_quiet_since(self.seen):
                return result
        reason = f"requests came during each of {attempts} attempts"
        raise DisturbedError(reason)

    def _is_quiet_since(self, seen: tuple[int, int] | None) -> bool:
        return self._requests.seen() == seen and not self._requests.under_way()
