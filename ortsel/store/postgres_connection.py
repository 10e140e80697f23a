"""Connections to a server, none of which ever waits longer than it may.

A server can stop answering at any point: while its name is looked up, while it accepts, in the
middle of an answer. Its own timeouts do not hold then, so every wait here has an end of its own.
"""

import os
import selectors
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.conninfo import conninfo_to_dict

from ortsel.store.errors import (
    BusyStoreError,
    ClosedStoreError,
    CorruptRecordError,
    StoreError,
    UnreachableStoreError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from ortsel.store.server_url import shown, without_secrets

CONNECT_TIMEOUT_S: Final = 1.5
ANSWER_TIMEOUT_S: Final = 1.0
"""For everything that one operation asks. Together they bound what a call can cost, once in
`RETRY_AFTER_S`."""
_PER_HOST_S: Final = 2
_ABANDONED: Final[list[psycopg.Connection[Any]]] = []
"""Connections of the parent process. Closing one here would end the parent's session."""
_Result = TypeVar("_Result")


class TimedConnection(psycopg.Connection[tuple[Any, ...]]):
    """A connection whose waits end at `deadline_s` of the monotonic clock."""

    deadline_s: float = float("inf")
    is_checked: bool = False
    """Whether the table was looked at through this connection."""

    def wait(
        self, gen: PQGen[_Result], interval: float = 0.1, timeout: float | None = None
    ) -> _Result:
        """Drive one operation of the driver until it is done or the time is over."""
        del interval  # nothing needs waking up: an interrupt ends the wait by itself
        end_s = self.deadline_s if timeout is None else time.monotonic() + timeout
        try:
            wanted = next(gen)
            while True:
                ready = _ready(self.pgconn.socket, int(wanted), min(end_s - time.monotonic(), 60.0))
                if not ready and time.monotonic() >= end_s:
                    raise _NoAnswerError
                wanted = gen.send(psycopg.waiting.Ready(ready))
        except StopIteration as stop:
            result: _Result = stop.value
            return result


class _NoAnswerError(psycopg.OperationalError):
    """The time for an operation is over."""


def _ready(descriptor: int, wanted: int, seconds: float) -> int:
    """Return what of reading (1) and writing (2) is possible within a time; 0 for neither."""
    with selectors.DefaultSelector() as selector:
        selector.register(descriptor, wanted)
        return next((events for _, events in selector.select(max(0.0, seconds))), 0)


class ServerConnection:
    """One connection, opened when first needed and again after trouble; one thread at a time."""

    def __init__(
        self,
        url: str,
        *,
        writes: bool,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
    ) -> None:
        self.address = shown(url)
        self._url = url
        self._writes = writes
        self._connect_timeout_s = connect_timeout_s
        self._answer_timeout_s = answer_timeout_s
        self._lock = threading.Lock()
        self._connection: TimedConnection | None = None
        self._pid = os.getpid()
        self._closed = False

    def __repr__(self) -> str:
        return f"ServerConnection({self.address!r}, writes={self._writes})"

    def ask(self, work: Callable[[TimedConnection], _Result], more_s: float = 0.0) -> _Result:
        """Return what `work` makes of a connection, within the usual time and `more_s`.

        Raises `StoreError`.

        What reads asks each question by itself, and is asked again where a connection that was left
        open turns out to have died: the server was restarted, or a proxy was tired of it. What
        writes is one transaction on a new connection.
        """
        with self._alone(), self._translation():
            is_old = self._connection is not None and self._pid == os.getpid()
            try:
                return self._asked(work, more_s)
            except psycopg.OperationalError as error:
                if not is_old or isinstance(error, _NoAnswerError) or not _is_lost(error):
                    raise
            return self._asked(work, more_s)

    def close(self) -> None:
        """Close for good."""
        with self._alone():
            self._closed = True
            self._drop()

    def release(self) -> None:
        """Close until the next use."""
        with self._alone():
            self._drop()

    def before_fork(self) -> None:
        """Close, and let nobody open until the fork is over."""
        self._lock.acquire()
        self._drop()

    def after_fork_in_parent(self) -> None:
        """Let others go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Start with a new lock."""
        self._lock = threading.Lock()
        self._pid = os.getpid()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._lock.acquire(timeout=self._connect_timeout_s + self._answer_timeout_s):
            raise BusyStoreError(self.address, self._milliseconds())
        try:
            yield
        finally:
            self._lock.release()

    def _asked(self, work: Callable[[TimedConnection], _Result], more_s: float) -> _Result:
        connection = self._opened()
        connection.deadline_s = time.monotonic() + self._answer_timeout_s + more_s
        try:
            if not self._writes:
                return work(connection)
            connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            connection.execute(_LIMITS, dict.fromkeys(("a", "b"), str(self._milliseconds())))
            result = work(connection)
            connection.execute("COMMIT")
        except BaseException:
            self._drop()  # whatever it was doing ends there as well
            raise
        return result

    def _opened(self) -> TimedConnection:
        if self._closed:
            raise ClosedStoreError(self.address)
        if self._pid != os.getpid():  # forked where Python did not see it
            self._drop()
            self._pid = os.getpid()
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> TimedConnection:
        """Connect in a thread of its own: looking a host's name up cannot be given a limit."""
        given = conninfo_to_dict(self._url)
        defaults: dict[str, Any] = {
            "connect_timeout": _PER_HOST_S,
            "fallback_application_name": "ortsel",
        }
        options = {name: value for name, value in defaults.items() if name not in given}
        results: SimpleQueue[TimedConnection | Exception] = SimpleQueue()
        late = threading.Event()

        def connect() -> None:
            try:
                made = TimedConnection.connect(
                    self._url, autocommit=True, prepare_threshold=None, **options
                )
            except (psycopg.Error, OSError, ValueError) as error:
                results.put(error)
                return
            results.put(made)
            if late.is_set():
                made.close()

        threading.Thread(target=connect, name="ortsel-connect", daemon=True).start()
        try:
            found = results.get(timeout=self._connect_timeout_s)
        except Empty:
            late.set()
            raise _NoAnswerError from None
        if isinstance(found, Exception):
            raise found
        return found

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._pid != os.getpid():
            _ABANDONED.append(connection)
            return
        with suppress(psycopg.Error, OSError):
            connection.close()

    def _milliseconds(self) -> int:
        return max(1, round(self._answer_timeout_s * 1000))

    @contextmanager
    def _translation(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, OSError, ValueError) as error:
            # The cause is left out: its text and its frames may hold the URL.
            raise self._translated(error) from None

    def _translated(self, error: Exception) -> StoreError:
        words = without_secrets(str(error), self._url) or type(error).__name__
        if isinstance(error, _NoAnswerError):
            return UnreachableStoreError(self.address, "no answer in time")
        if isinstance(error, psycopg.DataError):
            return CorruptRecordError("record", words, "a value that the server can keep")
        code = error.sqlstate or "" if isinstance(error, psycopg.Error) else ""
        if code in _HELD:
            return BusyStoreError(self.address, self._milliseconds())
        if isinstance(error, psycopg.OperationalError) and not code.startswith(_OF_A_STATEMENT):
            return UnreachableStoreError(self.address, words)
        kind = UnwritableStoreError if self._writes else UnreadableStoreError
        return kind(self.address, words)


_LIMITS: Final = (
    "SELECT set_config('statement_timeout', %(a)s, true), set_config('lock_timeout', %(a)s, true), "
    "set_config('idle_in_transaction_session_timeout', %(b)s, true)"
)
"""For the transaction alone, so that a session that is pooled carries nothing away."""


def _is_lost(error: psycopg.OperationalError) -> bool:
    """Whether a connection is gone: without a code, or with one that says so."""
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


_HELD: Final = frozenset({"55P03", "57014", "40001", "40P01"})
"""Lock not available, canceled by a timeout, serialization failure, deadlock."""
_OF_A_STATEMENT: Final = ("53100", "53200", "53400", "54", "55", "58")
"""Operational errors that concern what was asked: disk full, out of memory, limits."""
