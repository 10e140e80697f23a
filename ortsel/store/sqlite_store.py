"""Decisions in one SQLite file, shared by many processes and threads.

One connection reads and one writes, each behind its own lock: a thread that looks something up
never waits for one that waits for another process's write. Writers take turns through SQLite's
locks and the busy timeout, readers see the last commit without waiting (write-ahead log).
"""

import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from attrs import evolve

from ortsel.store.codec import decode_under, encode
from ortsel.store.connection import MAX_VALUE_BYTES, Connection
from ortsel.store.errors import (
    MAX_SHOWN_KEY,
    CorruptRecordError,
    NewerRecordError,
    UnwritableStoreError,
    shown_key,
)
from ortsel.store.explanation import model_digest, nearest_of, parse_key_text, plain_parts
from ortsel.store.fork_safety import take_part_in_forks
from ortsel.store.preference import supersedes
from ortsel.store.store import AGED_PER_SAVE, NEAREST_AMONG, Nearest, StoredRecord, StoreLimits
from spec.canonical_json import Json
from spec.keys import MAX_KEY_BYTES
from spec.record import Record

BUSY_TIMEOUT_MS: Final = 5000
_PAGE_ROWS: Final = 256
"""Rows that a listing holds at a time."""


class SqliteStore:
    """A store in a file. Nothing is opened before the first use; every method raises `StoreError`.

    A directory and a file that it creates belong to their owner alone (0700 and 0600). A file that
    is not understood is never changed.
    """

    def __init__(
        self,
        path: Path,
        limits: StoreLimits | None = None,
        *,
        busy_timeout_ms: int = BUSY_TIMEOUT_MS,
        wall_clock_s: Callable[[], float] = time.time,
    ) -> None:
        self.path = path.absolute()
        self._limits = limits or StoreLimits()
        self._wall_clock_s = wall_clock_s
        self._reading = Connection(self.path, busy_timeout_ms, writes=False)
        self._writing = Connection(self.path, busy_timeout_ms, writes=True)
        take_part_in_forks(self)

    @property
    def address(self) -> str:
        """Where it is, as it may be shown."""
        return str(self.path)

    def load(self, key: str) -> Record | None:
        """Return the record of a key, or None where there is none."""
        with self._reading.use() as database:
            if database is None:
                return None
            row = database.execute(_LOAD, (key,)).fetchone()
            return None if row is None else decode_under(row[0], key)

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record, unless the one that is there is better (`supersedes`).

        A record that cannot be decoded is replaced, one of a later schema is not.
        """
        self.save_all((StoredRecord(record, key_text),))

    def save_all(self, stored: Iterable[StoredRecord]) -> int:
        """Keep records as `save` does, all of them in one transaction or none.

        Returns how many were kept; of the others the store holds a better one.
        """
        rows = [_row(one) for one in stored]
        now_s = int(self._wall_clock_s())
        kept = 0
        with self._writing.use() as database:
            if database is None:
                raise UnwritableStoreError(self.path, "no file")
            database.execute("BEGIN IMMEDIATE")
            for record, model, body, key_text in rows:
                if self._takes_place(database, record, now_s):
                    database.execute(_SAVE, (record.key, model, record.created_s, body, key_text))
                    kept += 1
            if kept:
                self._evict(database, now_s)
            database.execute("COMMIT")
        return kept

    def remove(self, key: str) -> None:
        """Forget a key. Nothing happens where there is none."""
        with self._reading.use() as database:
            if database is None:
                return
        with self._writing.use() as database:
            if database is not None:
                database.execute(_REMOVE, (key,))

    def remove_all(self, keys: Iterable[str]) -> None:
        """Forget keys, all of them in one transaction or none."""
        with self._reading.use() as database:
            if database is None:
                return
        with self._writing.use() as database:
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                database.executemany(_REMOVE, [(key,) for key in keys])
                database.execute("COMMIT")

    def remove_corrupt(self, rows: Iterable[int]) -> int:
        """Remove those of these rows that no reader understands, in one transaction or none.

        Each is looked at again first: another process may have replaced it meanwhile. Returns how
        many there were. Records of a later schema stay.
        """
        removed = 0
        with self._reading.use() as database:
            if database is None:
                return 0
        with self._writing.use() as database:
            if database is not None:
                database.execute("BEGIN IMMEDIATE")
                for sequence in rows:
                    if isinstance(_examined(database, sequence), CorruptRecordError):
                        database.execute(_REMOVE_ROW, (sequence,))
                        removed += 1
                database.execute("COMMIT")
        return removed

    def records(self) -> Iterator[StoredRecord]:
        """Give every record that can be understood, first stored first."""
        for found in self.examine():
            if isinstance(found, StoredRecord):
                yield found

    def examine(self) -> Iterator[StoredRecord | CorruptRecordError | NewerRecordError]:
        """Give every record, or what is wrong with it, first stored first."""
        after = -(2**63)
        while True:
            with self._reading.use() as database:
                if database is None:
                    return
                page = database.execute(_LIST_PAGE, (after, _PAGE_ROWS)).fetchall()
                found = [_examined(database, sequence) for (sequence,) in page]
            yield from (one for one in found if one is not None)
            if len(page) < _PAGE_ROWS:
                return
            after = page[-1][0]

    def has_records(self) -> bool:
        """Say whether there is any record, understood or not. None is decoded for it."""
        with self._reading.use() as database:
            return database is not None and database.execute(_ANY).fetchone() is not None

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least from `parts`."""
        model = model_digest(plain_parts(parts))
        with self._reading.use() as database:
            if database is None:
                return None
            rows = database.execute(_LIST_MODEL, (model, NEAREST_AMONG)).fetchall() if model else []
            rows = rows or database.execute(_LIST_LAST, (NEAREST_AMONG,)).fetchall()
            examined = [_examined(database, sequence) for (sequence,) in rows]
        return nearest_of(parts, (one for one in examined if isinstance(one, StoredRecord)))

    def close(self) -> None:
        """Close the file. What was saved stays."""
        self._reading.close()
        self._writing.close()

    def before_fork(self) -> None:
        """Close, and let nobody open until the fork is over."""
        self._reading.before_fork()
        self._writing.before_fork()

    def after_fork_in_parent(self) -> None:
        """Let others go on."""
        self._writing.after_fork_in_parent()
        self._reading.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Start with new locks; connections are opened when they are needed."""
        self._writing.after_fork_in_child()
        self._reading.after_fork_in_child()

    def _takes_place(self, database: sqlite3.Connection, record: Record, now_s: int) -> bool:
        try:
            row = database.execute(_LOAD, (record.key,)).fetchone()
            if row is None:
                return True
            old = decode_under(row[0], record.key)
        except (CorruptRecordError, sqlite3.DataError):  # a value that is too long is the latter
            return True
        return supersedes(record, old, now_s)

    def _evict(self, database: sqlite3.Connection, now_s: int) -> None:
        oldest_s = now_s - self._limits.max_age_s
        database.execute(_EVICT_AGED, (oldest_s, AGED_PER_SAVE))
        database.execute(_EVICT_BEYOND)
        database.execute(_EVICT_FIRST, (self._limits.capacity,))
        pages, free, page_bytes = (
            int(database.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
        if (pages - free) * page_bytes > self._limits.max_bytes:
            database.execute(_EVICT_FOR_SPACE, (AGED_PER_SAVE,))


_REMOVE_ROW: Final = "DELETE FROM record WHERE sequence = ?"
_REMOVE: Final = "DELETE FROM record WHERE key = ?"
_LOAD: Final = "SELECT body FROM record WHERE key = ?"
_ANY: Final = "SELECT 1 FROM record LIMIT 1"
_LIST_PAGE: Final = "SELECT sequence FROM record WHERE sequence > ? ORDER BY sequence LIMIT ?"
_LIST_MODEL: Final = "SELECT sequence FROM record WHERE model = ? ORDER BY sequence DESC LIMIT ?"
_LIST_LAST: Final = "SELECT sequence FROM record ORDER BY sequence DESC LIMIT ?"
_SAVE: Final = (
    "INSERT INTO record (sequence, key, model, created_s, body, key_text) VALUES (1 + coalesce("
    "(SELECT sequence FROM record WHERE sequence < 1152921504606846976 "
    "ORDER BY sequence DESC LIMIT 1), 0), ?, ?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET model = excluded.model, created_s = excluded.created_s, "
    "body = excluded.body, key_text = excluded.key_text"
)
_EVICT_AGED: Final = (
    "DELETE FROM record WHERE sequence IN "
    "(SELECT sequence FROM record WHERE created_s < ? ORDER BY created_s, sequence LIMIT ?)"
)
_EVICT_FIRST: Final = (
    "DELETE FROM record WHERE sequence <= (SELECT sequence FROM record "
    "WHERE sequence < 1152921504606846976 ORDER BY sequence DESC LIMIT 1) - ?"
)
_EVICT_BEYOND: Final = "DELETE FROM record WHERE sequence > 1152921504606846976"
"""No store gets to 2**60 by counting. A row beyond was numbered by somebody else, and would make
every other row look as if it had come long before."""
_EVICT_FOR_SPACE: Final = (
    "DELETE FROM record WHERE sequence IN (SELECT sequence FROM record ORDER BY sequence LIMIT ?)"
)


def _row(stored: StoredRecord) -> tuple[Record, str, str, str]:
    """Return the record, the digest of its model, its text and its key's. Raises if too long."""
    size = len(stored.key_text.encode("utf-8", "surrogatepass"))
    if size > MAX_KEY_BYTES:
        raise CorruptRecordError("key text", f"{size} bytes", f"at most {MAX_KEY_BYTES}")
    model = model_digest(parse_key_text(stored.key_text))
    return stored.record, model, encode(stored.record), stored.key_text


def _examined(
    database: sqlite3.Connection, sequence: int
) -> StoredRecord | CorruptRecordError | NewerRecordError | None:
    """Return one row, or what is wrong with it, or None where it has just been removed."""
    found = _decoded(database, sequence)
    if isinstance(found, (CorruptRecordError, NewerRecordError)):
        return evolve(found, key=_shown_key(database, sequence), row=sequence)
    return found


def _shown_key(database: sqlite3.Connection, sequence: int) -> str:
    """Return the key column of a row as it may be shown."""
    query = "SELECT substr(key, 1, ?) FROM record WHERE sequence = ?"
    try:
        row = database.execute(query, (MAX_SHOWN_KEY, sequence)).fetchone()
    except sqlite3.DataError:
        return ""
    return "" if row is None else shown_key(row[0])


def _decoded(
    database: sqlite3.Connection, sequence: int
) -> StoredRecord | CorruptRecordError | NewerRecordError | None:
    query = "SELECT key, body, key_text FROM record WHERE sequence = ?"
    try:
        row = database.execute(query, (sequence,)).fetchone()
    except sqlite3.DataError as error:
        return CorruptRecordError("record", str(error), f"at most {MAX_VALUE_BYTES} bytes")
    if row is None:
        return None
    key, body, key_text = row
    if not isinstance(key, bytes) or not isinstance(key_text, bytes):
        return CorruptRecordError("key", type(key).__name__, "text")
    try:
        name, text = key.decode("utf-8"), key_text.decode("utf-8")
        return StoredRecord(decode_under(body, name), text)
    except UnicodeDecodeError as error:
        return CorruptRecordError("key", str(error), "UTF-8")
    except (CorruptRecordError, NewerRecordError) as error:
        return error
