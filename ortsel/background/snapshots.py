"""Copies of a caller's inputs, for work that comes later.

The caller's arrays are the caller's: by the time background work reads them, they may hold the next
request. All copies of a process together are bounded.
"""

import threading
import weakref
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from ortsel.fork import starts_over

Arrays = Mapping[str, "np.ndarray[Any, np.dtype[Any]]"]


class Snapshot:
    """One call's inputs. Contiguous, except that the order of dimensions in memory is kept."""

    def __init__(self, size_bytes: int) -> None:
        self.feed: dict[str, np.ndarray[Any, np.dtype[Any]]] = {}
        self.size_bytes = size_bytes

    def fill(self, feed: Arrays, *, owned: bool) -> None:
        """Copy what it was made for."""
        for name, value in feed.items():
            self.feed[name] = value if owned else np.array(value, copy=True, order="K")

    def release(self) -> None:
        """Give the memory back now: an error's traceback may keep what used it for a while."""
        self.feed.clear()
        self.size_bytes = 0


class Snapshots:
    """The snapshots that are alive. Safe for many threads."""

    def __init__(self) -> None:
        # No WeakSet: one that is asked for its members must not get others meanwhile, be it from
        # another thread or from a signal handler that makes a call.
        self._alive: dict[int, weakref.ref[Snapshot]] = {}
        self._lock = threading.RLock()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """The lock may be held by a thread that the child does not have."""
        self._lock = threading.RLock()

    def take(self, feed: Arrays, most_bytes: int, *, owned: bool = False) -> Snapshot | None:
        """Return a copy, or None where all copies together would be more than `most_bytes`.

        What is `owned`, a copy that nobody else has, is taken as it is.
        """
        size_bytes = feed_bytes(feed)
        with self._lock:
            if size_bytes + self.held_bytes() > most_bytes:
                return None
            snapshot = Snapshot(size_bytes)
            identity = id(snapshot)
            forget = partial(_forget, self._alive, identity)
            self._alive[identity] = weakref.ref(snapshot, forget)
        # Its room is taken; copying takes a while, and no other request waits for that.
        snapshot.fill(feed, owned=owned)
        return snapshot

    def held_bytes(self) -> int:
        """Return how much memory the living snapshots take."""
        found = [reference() for reference in list(self._alive.values())]
        return sum(snapshot.size_bytes for snapshot in found if snapshot is not None)


def _forget(alive: dict[int, "weakref.ref[Snapshot]"], identity: int, _: object) -> None:
    alive.pop(identity, None)


def feed_bytes(feed: Arrays) -> int:
    """Return how much memory a copy takes."""
    # A broadcast array has the size of what it shows. Texts are shared: they never change.
    return sum(int(value.size) * value.itemsize for value in feed.values())


SNAPSHOTS: Final = Snapshots()
"""The snapshots of this process."""
