"""Decisions on a PostgreSQL server, shared by machines.

The rules are those of the store in a file: the same records, the same limits, the same preference
between two records of one key, decided here and applied under the row's lock. Looking up keeps one
connection; saving opens one and closes it, so that a fleet does not hold the server's connections.
Nothing is prepared and nothing is set beyond a transaction, so poolers may stand between.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from attrs import evolve, frozen

from ortsel.store import postgres_schema
from ortsel.store.codec import MAX_RECORD_BYTES, decode_under, encode
from ortsel.store.errors import BusyStoreError, CorruptRecordError, NewerRecordError, shown_key
from ortsel.store.explanation import model_digest, nearest_of, parse_key_text, plain_parts
from ortsel.store.fork_safety import take_part_in_forks
from ortsel.store.preference import supersedes
from ortsel.store.server_url import check_server_url
from ortsel.store.store import AGED_PER_SAVE, NEAREST_AMONG, Nearest, StoredRecord, StoreLimits
from spec.canonical_json import Json
from spec.keys import MAX_KEY_BYTES
from spec.record import Record

if TYPE_CHECKING:
    from ortsel.store.postgres_connection import TimedConnection

MAX_NAME_BYTES: Final = 1024
"""Longest key; real ones have 64. An index of the server takes no more than 2704."""
_PAGE_ROWS: Final = 32
"""Rows that a listing holds at a time; a hostile one is at most 1.5 MB."""
_TRIES: Final = 5
_S_PER_ROW: Final = 0.02
"""Time that each row adds to what one operation may take: a few questions to a server far away."""
_Result = TypeVar("_Result")


@frozen
class _Row:
    """A record as it is written."""

    key: bytes
    record: Record
    values: tuple[bytes, int, bytes, bytes]
    """Model, time, body, text of the key."""


class PostgresStore:
    """A store on a server. Nothing is opened before the first use; methods raise `StoreError`.

    `limits.max_bytes` is about a file and plays no part here: capacity and age bound the table, and
    each record is limited in size. No message and no representation holds the URL's secrets.
    """

    def __init__(
        self,
        url: str,
        limits: StoreLimits | None = None,
        *,
        wall_clock_s: Callable[[], float] = time.time,
        connect_timeout_s: float | None = None,
        answer_timeout_s: float | None = None,
    ) -> None:
        check_server_url(url)
        from ortsel.store import postgres_connection as driver

        times = {
            "connect_timeout_s": connect_timeout_s or driver.CONNECT_TIMEOUT_S,
            "answer_timeout_s": answer_timeout_s or driver.ANSWER_TIMEOUT_S,
        }
        self._limits = limits or StoreLimits()
        self._wall_clock_s = wall_clock_s
        self._reading = driver.ServerConnection(url, writes=False, **times)
        self._writing = driver.ServerConnection(url, writes=True, **times)
        self.address = self._reading.address
        take_part_in_forks(self)

    def __repr__(self) -> str:
        return f"PostgresStore({self.address!r})"

    def load(self, key: str) -> Record | None:
        """Return the record of a key, or None where there is none."""

        def look(connection: "TimedConnection") -> tuple[Any, ...] | None:
            if not self._has_table(connection):
                return None
            return connection.execute(_LOAD, (MAX_RECORD_BYTES, _bytes(key))).fetchone()

        row = self._reading.ask(look)
        return None if row is None else decode_under(_sized(*row), key)

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record, unless the one that is there is better (`supersedes`).

        A record that cannot be decoded is replaced, one of a later schema is not. Of processes that
        save one key at once, each sees the record of the one before: the row stays locked from
        reading it to writing it.
        """
        self.save_all((StoredRecord(record, key_text),))

    def save_all(self, stored: Iterable[StoredRecord]) -> int:
        """Keep records as `save` does, all of them in one transaction or none.

        Returns how many were kept; of the others the store holds a better one. Rows are locked in
        the order of their keys, so that two that save the same ones never wait for each other.
        """
        rows = sorted(map(_row, stored), key=lambda row: row.key)
        now_s = int(self._wall_clock_s())

        def put(connection: "TimedConnection") -> int:
            if not self._has_table(connection):
                postgres_schema.create(connection, self.address)
            made = [self._put(connection, row, now_s) for row in rows]
            kept = [sequence for sequence in made if sequence is not None]
            if kept:
                self._evict(connection, now_s, max(kept))
            return len(kept)

        return self._write(put, len(rows))

    def remove(self, key: str) -> None:
        """Forget a key. Nothing happens where there is none."""
        self.remove_all((key,))

    def remove_all(self, keys: Iterable[str]) -> None:
        """Forget keys, all of them in one transaction or none."""
        named = sorted(map(_bytes, keys))

        def delete(connection: "TimedConnection") -> None:
            if self._has_table(connection):
                connection.execute(_REMOVE, (named,))

        self._write(delete, len(named))

    def remove_corrupt(self, rows: Iterable[int]) -> int:
        """Remove those of these rows that no reader understands, in one transaction or none.

        Each is locked and looked at again first: another process may have replaced it meanwhile.
        Returns how many there were. Records of a later schema stay.
        """
        named = sorted(rows)

        def delete(connection: "TimedConnection") -> int:
            if not self._has_table(connection):
                return 0
            removed = 0
            for begin in range(0, len(named), _PAGE_ROWS):
                page = named[begin : begin + _PAGE_ROWS]
                found = connection.execute(_LIST_LOCKED, (*_LIMITS, page)).fetchall()
                corrupt = [
                    row[0] for row in found if isinstance(_examined(row), CorruptRecordError)
                ]
                connection.execute(_REMOVE_ROWS, (corrupt,))
                removed += len(corrupt)
            return removed

        return self._write(delete, len(named))

    def records(self) -> Iterator[StoredRecord]:
        """Give every record that can be understood, first stored first."""
        for found in self.examine():
            if isinstance(found, StoredRecord):
                yield found

    def examine(self) -> Iterator[StoredRecord | CorruptRecordError | NewerRecordError]:
        """Give every record, or what is wrong with it, first stored first."""
        after = -(2**63)
        while True:
            page = self._reading.ask(partial(self._page, after))
            yield from map(_examined, page)
            if len(page) < _PAGE_ROWS:
                return
            after = page[-1][0]

    def has_records(self) -> bool:
        """Say whether there is any record, understood or not. None is decoded for it."""

        def look(connection: "TimedConnection") -> bool:
            return self._has_table(connection) and connection.execute(_ANY).fetchone() is not None

        return self._reading.ask(look)

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least from `parts`."""
        model = model_digest(plain_parts(parts))

        def look(connection: "TimedConnection") -> Nearest | None:
            if not self._has_table(connection):
                return None
            found = []
            if model:
                found = connection.execute(_LIST_MODEL, (_bytes(model), NEAREST_AMONG)).fetchall()
            found = found or connection.execute(_LIST_LAST, (NEAREST_AMONG,)).fetchall()
            return nearest_of(parts, _chosen(connection, [sequence for (sequence,) in found]))

        return self._reading.ask(look)

    def close(self) -> None:
        """Close the connections. What was saved stays."""
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

    def _has_table(self, connection: "TimedConnection") -> bool:
        """Say whether there is a table yet, which is looked at once for each connection."""
        if not connection.is_checked:
            connection.is_checked = postgres_schema.exists(connection, self.address)
        return connection.is_checked

    def _write(self, work: "Callable[[TimedConnection], _Result]", rows: int) -> _Result:
        try:
            return self._writing.ask(work, rows * _S_PER_ROW)
        finally:
            self._writing.release()

    def _page(self, after: int, connection: "TimedConnection") -> list[tuple[Any, ...]]:
        if not self._has_table(connection):
            return []
        return connection.execute(_LIST_PAGE, (*_LIMITS, after, _PAGE_ROWS)).fetchall()

    def _put(self, connection: "TimedConnection", row: _Row, now_s: int) -> int | None:
        """Insert or replace; return the number of the row, or None where the old record is better.

        Between looking and inserting another process may insert, and the look is repeated; it
        finds a row, unless that one was removed again.
        """
        for _ in range(_TRIES):
            found = connection.execute(_LOCK, (MAX_RECORD_BYTES, row.key)).fetchone()
            if found is None:
                made = connection.execute(_INSERT, (row.key, *row.values)).fetchone()
            elif _takes_place(row.record, found, now_s):
                made = connection.execute(_UPDATE, (*row.values, row.key)).fetchone()
            else:
                return None
            if made is not None:
                return int(made[0])
        raise BusyStoreError(self.address, 0)

    def _evict(self, connection: "TimedConnection", now_s: int, sequence: int) -> None:
        """Remove what is too old or too much, counted back from the row that was saved.

        Not from the last one: somebody may have numbered a row so that all others look ancient.
        Rows that another process holds are left to the next save: waiting for one here, while
        holding another, would be half of a deadlock.
        """
        connection.execute(_EVICT_AGED, (now_s - self._limits.max_age_s, AGED_PER_SAVE))
        first = sequence - self._limits.capacity
        connection.execute(_EVICT_FIRST, (first, _EVICTED_PER_SAVE))


_EVICTED_PER_SAVE: Final = 1024
"""More would outlast the timeout where somebody lowers the capacity of a full table."""
_LIMITS: Final = (MAX_NAME_BYTES, MAX_RECORD_BYTES, MAX_KEY_BYTES)
_LOAD: Final = (
    "SELECT octet_length(body), CASE WHEN octet_length(body) <= %s THEN body END "
    "FROM ortsel_record WHERE key = %s"
)
_LOCK: Final = _LOAD + " FOR UPDATE"
_INSERT: Final = (
    "INSERT INTO ortsel_record (key, model, created_s, body, key_text) "
    "VALUES (%s, %s, %s, %s, %s) ON CONFLICT (key) DO NOTHING RETURNING sequence"
)
_UPDATE: Final = (
    "UPDATE ortsel_record SET model = %s, created_s = %s, body = %s, key_text = %s WHERE key = %s "
    "RETURNING sequence"
)
_REMOVE: Final = "DELETE FROM ortsel_record WHERE key = ANY(%s)"
_REMOVE_ROWS: Final = "DELETE FROM ortsel_record WHERE sequence = ANY(%s)"
_ANY: Final = "SELECT 1 FROM ortsel_record LIMIT 1"
_SIZED: Final = (
    "SELECT sequence, CASE WHEN octet_length(key) <= %s THEN key END, octet_length(body), "
    "CASE WHEN octet_length(body) <= %s THEN body END, "
    "CASE WHEN octet_length(key_text) <= %s THEN key_text END FROM ortsel_record "
)
_LIST_PAGE: Final = _SIZED + "WHERE sequence > %s ORDER BY sequence LIMIT %s"
_LIST_CHOSEN: Final = _SIZED + "WHERE sequence = ANY(%s) ORDER BY sequence DESC"
_LIST_LOCKED: Final = _SIZED + "WHERE sequence = ANY(%s) ORDER BY key FOR UPDATE"
_LIST_MODEL: Final = (
    "SELECT sequence FROM ortsel_record WHERE model = %s ORDER BY sequence DESC LIMIT %s"
)
_LIST_LAST: Final = "SELECT sequence FROM ortsel_record ORDER BY sequence DESC LIMIT %s"
_EVICT_AGED: Final = (
    "DELETE FROM ortsel_record WHERE sequence IN (SELECT sequence FROM ortsel_record "
    "WHERE created_s < %s ORDER BY created_s, sequence LIMIT %s FOR UPDATE SKIP LOCKED)"
)
_EVICT_FIRST: Final = (
    "DELETE FROM ortsel_record WHERE sequence IN (SELECT sequence FROM ortsel_record "
    "WHERE sequence <= %s ORDER BY sequence LIMIT %s FOR UPDATE SKIP LOCKED)"
)


def _row(stored: StoredRecord) -> _Row:
    record, key, key_text = stored.record, _bytes(stored.record.key), _bytes(stored.key_text)
    for what, value, most in (
        ("key text", key_text, MAX_KEY_BYTES),
        ("key", key, MAX_NAME_BYTES),
    ):
        if len(value) > most:
            raise CorruptRecordError(what, f"{len(value)} bytes", f"at most {most}")
    model = _bytes(model_digest(parse_key_text(stored.key_text)))
    return _Row(key, record, (model, record.created_s, _bytes(encode(record)), key_text))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _sized(length: int, body: bytes | None) -> bytes:
    if body is None:
        raise CorruptRecordError("record", f"{length} bytes", f"at most {MAX_RECORD_BYTES}")
    return bytes(body)


def _takes_place(record: Record, found: tuple[Any, ...], now_s: int) -> bool:
    try:
        old = decode_under(_sized(*found), record.key)
    except CorruptRecordError:
        return True
    return supersedes(record, old, now_s)


def _chosen(connection: "TimedConnection", sequences: Sequence[int]) -> Iterator[StoredRecord]:
    for begin in range(0, len(sequences), _PAGE_ROWS):
        page = list(sequences[begin : begin + _PAGE_ROWS])
        for row in connection.execute(_LIST_CHOSEN, (*_LIMITS, page)).fetchall():
            found = _examined(row)
            if isinstance(found, StoredRecord):
                yield found


def _examined(row: tuple[Any, ...]) -> StoredRecord | CorruptRecordError | NewerRecordError:
    """Return one row, or what is wrong with it."""
    found = _decoded(row)
    if isinstance(found, (CorruptRecordError, NewerRecordError)):
        sequence, key, *_ = row
        return evolve(found, key="" if key is None else shown_key(bytes(key)), row=sequence)
    return found


def _decoded(row: tuple[Any, ...]) -> StoredRecord | CorruptRecordError | NewerRecordError:
    _, key, length, body, key_text = row
    if key is None or key_text is None:
        return CorruptRecordError("key", "a longer one", f"at most {MAX_NAME_BYTES} bytes")
    try:
        name, text = bytes(key).decode("utf-8"), bytes(key_text).decode("utf-8")
        return StoredRecord(decode_under(_sized(length, body), name), text)
    except UnicodeDecodeError as error:
        return CorruptRecordError("key", str(error), "UTF-8")
    except (CorruptRecordError, NewerRecordError) as error:
        return error
