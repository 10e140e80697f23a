"""Whether anybody asks this process's sessions anything, at no cost to those who ask.

A served call bumps a plain integer of the shape it belongs to, which takes the place of a look at
the clock and costs less. That tells of calls that began. Of calls that are still under way the
stacks of the threads tell: each has a frame of the session's own method in it.
"""

import itertools
import sys
import threading
import weakref
from types import CodeType, FrameType
from typing import Any, Final, Protocol

from ortsel.fork import starts_over


class Uses(Protocol):
    """Something that counts calls."""

    def total_uses(self) -> int:
        """Return how many calls it served so far."""
        ...


class Requests:
    """The calls of all sessions in this process. Safe for many threads."""

    def __init__(self) -> None:
        self._counted: dict[int, weakref.ref[Any]] = {}
        self._entries: set[CodeType] = set()
        self._asynchronous: dict[int, None] = {}
        self._serial = itertools.count()
        self._others = itertools.count()
        self._noted = 0
        self._died = 0
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Forget calls that threads of the parent were in."""
        self._asynchronous = {}

    def count_in(self, uses: Uses) -> None:
        """Count the calls of `uses` as long as it lives."""
        identity = id(uses)

        def died(_: object) -> None:
            self._counted.pop(identity, None)
            self._died += 1

        self._counted[identity] = weakref.ref(uses, died)

    def enter_through(self, code: CodeType) -> None:
        """Take every thread with a frame of this code for one that makes a call."""
        self._entries.add(code)

    def note(self) -> None:
        """Count one call that no shape counts."""
        self._noted = next(self._others) + 1

    def begin(self) -> int:
        """Count a call that outlives its frame; return what `end` wants."""
        self.note()
        token = next(self._serial)
        self._asynchronous[token] = None
        return token

    def end(self, token: int) -> None:
        """Hear that such a call is over."""
        self._asynchronous.pop(token, None)

    def seen(self) -> tuple[int, int]:
        """Return a value that changes whenever a call begins.

        Not a count of calls: it also changes when a session is destroyed, which takes its count
        with it. That is told apart, so that as many calls elsewhere do not make up for it.
        """
        died = self._died
        total = self._noted
        for reference in list(self._counted.values()):
            uses: Uses | None = reference()
            total += 0 if uses is None else uses.total_uses()
        return died, total

    def under_way(self) -> bool:
        """Whether a thread other than the one that asks is in a call now."""
        if self._asynchronous:
            return True
        own = threading.get_ident()
        frames = sys._current_frames()
        return any(self._is_call(frame) for thread, frame in frames.items() if thread != own)

    def _is_call(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._entries:
                return True
            frame = frame.f_back
        return False


REQUESTS: Final = Requests()
"""The calls of this process."""
