"""Work for when this process's sessions are idle: one thread, one task at a time.

The thread exists only while there is work. It sleeps while requests come, ends with the
interpreter, and starts over in a forked child.
"""

import atexit
import logging
import queue
import threading
import time
import weakref
from collections.abc import Callable
from typing import Final, TypeAlias

from attrs import define

from ortsel import telemetry
from ortsel.background.errors import DisturbedError, WorkStoppedError
from ortsel.background.requests import REQUESTS, Requests
from ortsel.background.turn import Turn
from ortsel.fork import starts_over

log = logging.getLogger("ortsel")

SECOND_NS: Final = 1_000_000_000
DEFAULT_IDLE_NS: Final = SECOND_NS // 2
LONGEST_SLEEP_NS: Final = 60 * SECOND_NS
"""Of the thread while nothing is due."""
STOP_S: Final = 10.0
"""How long the interpreter's end waits for a task. Children are killed within a tenth of a second;
only a session that is being built in this process takes longer."""
RETRY_FIRST_NS: Final = 5 * SECOND_NS
RETRY_LAST_NS: Final = 600 * SECOND_NS
"""A task that requests keep disturbing is tried again after the first time, doubled each time up to
the last one."""
LEAST_PRUNED: Final = 64
"""Work of owners that died is looked for from so many on, and then whenever it has doubled."""

Task: TypeAlias = Callable[[Turn], object]


@define(eq=False)
class _Work:
    owner: "weakref.ref[object]"
    task: Task
    not_before_ns: int
    idle_ns: int
    weight: Callable[[], int]
    serial: int
    is_search: bool
    tries: int = 0


class IdleWork:
    """Runs tasks, one at a time, when no session of this process is asked anything.

    How to use it::

        def task(turn: Turn) -> None:
            turn.pause()                           # sleeps while requests come
            value = turn.undisturbed(measure)      # done over when a request overlapped it
            session = reference()                  # a weak reference to the owner
            if session is not None: ...

        IDLE_WORK.schedule(owner, task, not_before_ns=time.monotonic_ns() + 60 * SECOND_NS)

    * A task runs on the background thread, after a pause of `idle_ns`. It must call `turn.pause()`
      or `turn.undisturbed()` before each step that takes longer than some milliseconds.
    * It runs once. Work that recurs schedules itself again, at its end.
    * `owner` is held by a weak reference; the task must not hold it otherwise, or it never dies.
      When it dies, the work is dropped, and `turn` raises `WorkStoppedError` in a running task.
    * A task that lets `DisturbedError` out is tried again later, less and less often; one that lets
      `WorkStoppedError` out is over. Whatever else it raises is logged, and it is over.
    * Children are given `turn.is_stopped`, so that they are ended when the interpreter ends.
    """

    def __init__(self, requests: Requests = REQUESTS) -> None:
        self._requests = requests
        # An object's finalizer, so that those of trials run after `stop`: last in, first out.
        weakref.finalize(self, lambda: None)
        atexit.register(self.stop)
        self.after_fork_in_child()
        starts_over(self)

    def after_fork_in_child(self) -> None:
        """Start over: the thread and its work are the parent's."""
        # Taken again by a signal handler, or by a finalizer, that makes a call in the middle.
        self._lock = threading.RLock()
        self._wake: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._work: list[_Work] = []
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._serial = 0
        self._most_work = LEAST_PRUNED
        self.active_ns = 0
        """Processing time of all searches so far, waiting left out."""

    def schedule(
        self,
        owner: object,
        task: Task,
        *,
        not_before_ns: int = 0,
        idle_ns: int = DEFAULT_IDLE_NS,
        weight: Callable[[], int] = lambda: 0,
        is_search: bool = True,
    ) -> None:
        """Run a task once, after `not_before_ns` (monotonic), when nothing was asked for `idle_ns`.

        Of several tasks that are due the one of the greatest `weight` runs, of equals the first
        that came. What is no search is left out of `active_ns`. Raises `RuntimeError` where no
        thread can be started; does nothing once the interpreter ends.
        """
        with self._lock:
            self._serial += 1
            if len(self._work) >= self._most_work:  # while requests come, nobody else forgets them
                self._forget_the_dead()
            reference = weakref.ref(owner, self._owner_died)
            serial = self._serial
            self._work.append(
                _Work(reference, task, not_before_ns, idle_ns, weight, serial, is_search)
            )
            self._start()
        self._rouse()

    def stop(self) -> None:
        """End the thread for good; returns when it has cleaned up, or after `STOP_S`."""
        with self._lock:
            self._stopping = True
            thread = self._thread
        self._rouse()
        if thread is not None and thread is not threading.current_thread():
            thread.join(STOP_S)

    def is_busy(self) -> bool:
        """Whether a task is waiting or running."""
        return self._thread is not None

    def _owner_died(self, _: object) -> None:
        # From whichever thread collects garbage, with whatever it holds: no lock here.
        self._rouse()

    def _rouse(self) -> None:
        # One is enough, and a burst of shapes must not keep the thread awake once for each.
        if self._wake.empty():
            self._wake.put(None)

    def _forget_the_dead(self) -> None:
        self._work = [work for work in self._work if work.owner() is not None]
        self._most_work = max(LEAST_PRUNED, 2 * len(self._work))

    def _start(self) -> None:
        if self._thread is None and not self._stopping:
            self._thread = threading.Thread(target=self._run, name="ortsel-background", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:
                self._thread = None
                self._work.clear()
                raise

    def _run(self) -> None:
        while True:
            with self._lock:
                self._forget_the_dead()
                if self._stopping or not self._work:
                    self._thread = None
                    return
                due_ns = min(work.not_before_ns for work in self._work)
                work = self._heaviest()
            if work is None:
                self._sleep(min(LONGEST_SLEEP_NS, due_ns - time.monotonic_ns()))
                continue
            self._take_turn(work)

    def _heaviest(self) -> _Work | None:
        now_ns = time.monotonic_ns()
        due = [work for work in self._work if work.not_before_ns <= now_ns]
        return max(due, key=lambda work: (work.weight(), -work.serial), default=None)

    def _take_turn(self, work: _Work) -> None:
        waiting = Turn(self._requests, work.idle_ns, self._sleep, lambda: self._obstacle(work))
        try:
            waiting.pause()
        except WorkStoppedError:
            return
        with self._lock:  # others may have come meanwhile
            best = self._heaviest()
            if best is None or (best is not work and best.idle_ns > work.idle_ns):
                return
            self._work.remove(best)
        self._perform(best, waiting.seen)

    def _perform(self, work: _Work, seen: tuple[int, int] | None) -> None:
        turn = Turn(self._requests, work.idle_ns, self._sleep, lambda: self._obstacle(work), seen)
        try:
            work.task(turn)
        except WorkStoppedError as error:
            log.debug("ortsel: %s", error)
        except DisturbedError as error:
            log.debug("ortsel: %s", error)
            later_ns = min(RETRY_LAST_NS, RETRY_FIRST_NS << min(work.tries, 16))
            work.tries += 1
            work.not_before_ns = time.monotonic_ns() + later_ns
            with self._lock:
                self._work.append(work)
        except Exception as error:  # noqa: BLE001
            telemetry.unexpected("background work failed", error)
        finally:
            if work.is_search:
                self.active_ns += turn.active_ns

    def _obstacle(self, work: _Work) -> str:
        if self._stopping:
            return "the interpreter ends"
        return "" if work.owner() is not None else "what it was for is gone"

    def _sleep(self, duration_ns: int) -> None:
        """Sleep so long, or until something changes."""
        try:
            self._wake.get(timeout=max(0.0, duration_ns / SECOND_NS))
        except queue.Empty:
            return


IDLE_WORK: Final = IdleWork()
"""The work of this process."""
