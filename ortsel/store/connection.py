"""One connection to the file of a store, opened when first needed and again after trouble."""

import errno
import os
import sqlite3
import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import RLock
from typing import Final

from ortsel.store import sqlite_schema
from ortsel.store.errors import (
    BusyStoreError,
    ClosedStoreError,
    CorruptRecordError,
    InheritedStoreError,
    StoreError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from ortsel.store.sqlite_schema import Condition

MAX_VALUE_BYTES: Final = 4 << 20
"""Longest value or row that SQLite may hand over, whatever the file claims."""

_ABANDONED: Final[list[sqlite3.Connection]] = []
"""Connections of the parent process. Closing one here would drop files under the parent."""


class Connection:
    """A connection that reads, or one that also writes. Used by one thread at a time.

    It is opened lazily, reopened where another file has taken the place of the one it had, closed
    before a fork, and dropped after trouble, so that the next use starts afresh.
    """

    def __init__(self, path: Path, timeout_ms: int, *, writes: bool) -> None:
        self._path = path
        self._timeout_ms = timeout_ms
        self._writes = writes
        self._lock = RLock()
        self._database: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._pid = os.getpid()
        self._closed = False

    @contextmanager
    def use(self) -> Iterator[sqlite3.Connection | None]:
        """Give the open database, or None where a reader finds nothing yet. Raises `StoreError`."""
        with self._lock:
            try:
                yield self._opened()
            except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
                # The last comes from a message of SQLite that quotes damaged bytes.
                self._drop()
                raise self._translated(error) from error
            except BaseException:  # an interrupt too must not leave others locked out
                self._rollback()
                raise

    def close(self) -> None:
        """Close for good."""
        with self._lock:
            self._closed = True
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
        self._lock = RLock()
        self._pid = os.getpid()

    def _opened(self) -> sqlite3.Connection | None:
        if self._closed:
            raise ClosedStoreError(self._path)
        if self._pid != os.getpid():
            self._abandon()
        if self._database is not None and self._identity != _identity(self._path):
            self._drop()
        if self._database is None:
            self._database = self._patiently_opened()
        return self._database

    def _patiently_opened(self) -> sqlite3.Connection | None:
        """Open within the busy timeout.

        SQLite waits by itself for a lock inside a transaction, but not for the one that makes a new
        file a write-ahead one.
        """
        deadline_s = time.monotonic() + self._timeout_ms / 1000
        while True:
            try:
                return self._writer() if self._writes else self._reader()
            except sqlite3.OperationalError as error:
                if _primary(error) not in _HELD or time.monotonic() >= deadline_s:
                    raise
            time.sleep(_PAUSE_S)

    def _abandon(self) -> None:
        if self._database is not None:
            _ABANDONED.append(self._database)
            self._database = None
        if _ABANDONED:
            raise InheritedStoreError(self._path)
        self._pid = os.getpid()

    def _drop(self) -> None:
        database, self._database = self._database, None
        if database is None:
            return
        if self._pid != os.getpid():
            _ABANDONED.append(database)
            return
        try:
            database.close()
        except sqlite3.Error:  # it was in trouble already; the files stay as they are
            _ABANDONED.append(database)

    def _rollback(self) -> None:
        if self._database is not None and self._database.in_transaction:
            self._drop()

    def _writer(self) -> sqlite3.Connection:
        identity = _identity(self._path)
        if identity is None:
            create_file(self._path)
        database = self._connect("rw")
        with _closed_on_failure(database):
            match sqlite_schema.condition(database, self._path):
                case Condition.EMPTY:
                    self._refuse_fragment()
                    sqlite_schema.create(database, self._path)
                case Condition.EARLIER:
                    sqlite_schema.upgrade(database, self._path)
                case Condition.CURRENT:
                    pass
        return database

    def _refuse_fragment(self) -> None:
        """SQLite takes less than a page for an empty database, and would overwrite it."""
        size = self._path.stat().st_size
        if 0 < size < _SMALLEST_PAGE:
            raise UnreadableStoreError(self._path, f"file is not a database but {size} bytes")

    def _reader(self) -> sqlite3.Connection | None:
        identity = _identity(self._path)
        if identity is None:
            return None
        database = self._open_for_reading()
        with _closed_on_failure(database):
            match sqlite_schema.condition(database, self._path):
                case Condition.CURRENT:
                    return database
                case Condition.EMPTY:
                    self._refuse_fragment()
                case Condition.EARLIER:  # only a process that writes can change that
                    pass
        database.close()
        return None

    def _open_for_reading(self) -> sqlite3.Connection:
        """Open as any process does; on a file system that is read-only, as nobody can write.

        Without write access SQLite cannot keep its shared index of the write-ahead log, and opens
        the file only where it may assume that nothing changes.
        """
        for mode in ("rw", "ro"):
            try:
                database = self._connect(mode)
                with _closed_on_failure(database):
                    sqlite_schema.condition(database, self._path)
            except sqlite3.OperationalError as error:
                if _primary(error) not in _NO_ACCESS:
                    raise
            else:
                return database
        log = self._path.with_name(self._path.name + "-wal")
        if log.exists() and log.stat().st_size > 0:
            reason = (
                f"the directory is read-only and {log.name} holds records: close the store there"
            )
            raise UnreadableStoreError(self._path, reason)
        return self._connect("ro&immutable=1")

    def _connect(self, mode: str) -> sqlite3.Connection:
        status = self._path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableStoreError(self._path, "not a regular file")
        database = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode={mode}",
            timeout=self._timeout_ms / 1000,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
            cached_statements=16,
        )
        with _closed_on_failure(database):
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
            database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
            database.text_factory = bytes
            for pragma in _PRAGMAS:
                database.execute(pragma).fetchall()
            if not self._writes:
                database.execute("PRAGMA query_only = ON")
        self._identity = status.st_dev, status.st_ino
        return database

    def _translated(self, error: sqlite3.Error | OSError | UnicodeDecodeError) -> StoreError:
        if isinstance(error, UnicodeDecodeError):
            return UnreadableStoreError(self._path, "a name in it is not UTF-8")
        if isinstance(error, OSError):
            reason = error.strerror or str(error)
            kind = UnwritableStoreError if self._writes else UnreadableStoreError
            return kind(self._path, reason)
        code = _primary(error)
        if code in _HELD:
            return BusyStoreError(self._path, self._timeout_ms)
        if code == sqlite3.SQLITE_TOOBIG:
            need = f"at most {MAX_VALUE_BYTES} bytes"
            return CorruptRecordError("record", "a longer value", need)
        if self._writes and code in _CANNOT_WRITE:
            return UnwritableStoreError(self._path, str(error))
        return UnreadableStoreError(self._path, str(error))


_PRAGMAS: Final = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
    "PRAGMA synchronous = NORMAL",
    "PRAGMA temp_store = MEMORY",
)
"""Nothing of the file runs, damaged pages are found before they are used, and a file that shrinks
is an error instead of a signal. A committed record survives the death of every process at any
moment; a power cut may cost the last ones, never the file."""

_SMALLEST_PAGE: Final = 512
_PAUSE_S: Final = 0.005
_HELD: Final = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_NO_ACCESS: Final = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN})
_CANNOT_WRITE: Final = frozenset(
    {
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_AUTH,
    }
)


@contextmanager
def _closed_on_failure(database: sqlite3.Connection) -> Iterator[None]:
    """Close a connection that cannot be used.

    One that lingers would share its locks, and what it believes about the file, with every later
    connection of this process.
    """
    try:
        yield
    except BaseException:
        database.close()
        raise


def create_file(path: Path) -> None:
    """Create an empty file that only its owner can read, and the directories that lead to it."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileExistsError:
        return  # another process was faster; opening an open database here would drop its locks
    with closing(os.fdopen(descriptor, "wb")):
        pass


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            return None
        raise
    return status.st_dev, status.st_ino


def _primary(error: sqlite3.Error) -> int:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else sqlite3.SQLITE_ERROR
