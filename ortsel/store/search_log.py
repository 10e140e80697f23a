"""What every search found, beside the store: the evidence behind decisions, the rejected included.

A record keeps the decision alone; a report about decisions needs what was tried besides, and when.
The log is a small SQLite file of its own, so that a store never grows by it and losing it loses no
decision. It is written once after a search, read by reports and to order what the next search
tries, and never used to decide.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Final, NoReturn, TypeAlias

import cattrs
from attrs import frozen

from ortsel.store.codec import MAX_INTEGER, MAX_TERM_BITS
from ortsel.store.connection import MAX_VALUE_BYTES, create_file
from ortsel.store.errors import (
    CorruptRecordError,
    ForeignStoreError,
    NewerRecordError,
    NewerStoreError,
    NoPlaceError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from spec.keys import MAX_KEY_BYTES
from spec.report import TrialReport

SUFFIX: Final = ".searches"
"""Follows the name of the store's file."""
APPLICATION_ID: Final = 0x6F72746C
"""Marks the file as ours: "ortl" in ASCII."""
SCHEMA_VERSION: Final = 1
MAX_BODY_BYTES: Final = 1 << 20
MAX_TEXT: Final = 4096
"""Longest text of one entry that is kept, in characters; a reason is cut there."""
CAPACITY: Final = 4096
"""Entries kept; the oldest leave. Daily searches of ten shapes fill a year."""
MAX_BYTES: Final = 64 << 20
BUSY_TIMEOUT_MS: Final = 2000

_TABLE: Final = (
    "CREATE TABLE entry (sequence INTEGER PRIMARY KEY, created_s INTEGER NOT NULL, "
    "body TEXT NOT NULL, key_text TEXT NOT NULL)"
)


@frozen
class Considered:
    """What a search had to choose from, and why in that order."""

    generated: int
    """Candidates that were thought of, those left out included."""
    left_out: tuple[tuple[str, int], ...] = ()
    """How many each rule left out before the search, by the rule's name."""
    placed: tuple[tuple[str, str], ...] = ()
    """Why each candidate had its place in the order, by its name."""


@frozen
class Searched:
    """One search that was carried out."""

    created_s: int
    """Wall-clock seconds since 1970 at its end."""
    report: TrialReport
    considered: Considered | None = None
    """None where nobody said."""


@frozen
class Withdrawn:
    """A plan that was taken back while it served."""

    created_s: int
    key: str
    plan: str
    reason: str


Entry: TypeAlias = Searched | Withdrawn


@frozen
class LoggedEntry:
    """An entry with the text of the key that it belongs to; empty where nobody said."""

    entry: Entry
    key_text: str


class SearchLog:
    """The log in one file. Opened anew for each use, so that it needs no care over forks.

    Every method raises `StoreError`. A file that is not understood is never changed.
    """

    def __init__(
        self, path: Path, *, capacity: int = CAPACITY, busy_timeout_ms: int = BUSY_TIMEOUT_MS
    ) -> None:
        self.path = path.absolute()
        self._capacity = capacity
        self._busy_timeout_ms = busy_timeout_ms

    def save(self, entry: Entry, key_text: str) -> None:
        """Append an entry; of more than the capacity the oldest leave."""
        body = encode(entry)
        size = len(key_text.encode("utf-8", "surrogatepass"))
        if size > MAX_KEY_BYTES:
            raise CorruptRecordError("key text", f"{size} bytes", f"at most {MAX_KEY_BYTES}")
        with self._translated(UnwritableStoreError):
            create_file(self.path)
            with closing(self._connect("rw")) as database:
                database.execute("BEGIN IMMEDIATE")
                if not self._is_ready(database):
                    database.execute(_TABLE)
                    database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                database.execute(_SAVE, (entry.created_s, body, key_text))
                database.execute(_EVICT, (self._capacity,))
                if _pragma(database, "page_count") * _pragma(database, "page_size") > MAX_BYTES:
                    database.execute(_EVICT_HALF)
                database.execute("COMMIT")

    def entries(self) -> Iterator[LoggedEntry | CorruptRecordError | NewerRecordError]:
        """Give every entry, or what is wrong with it, oldest first; nothing where no file is."""
        return self.newest(_ALL)

    def newest(self, limit: int) -> Iterator[LoggedEntry | CorruptRecordError | NewerRecordError]:
        """Give no more than the `limit` newest entries, in the same way."""
        if not self.path.exists():
            return
        with self._translated(UnreadableStoreError), closing(self._connect("ro")) as database:
            if not self._is_ready(database):
                return
            newest = database.execute(_LIST_NEWEST, (limit,)).fetchall()
            for (sequence,) in reversed(newest):
                yield _examined(database, sequence)

    def _connect(self, mode: str) -> sqlite3.Connection:
        database = sqlite3.connect(
            f"{self.path.as_uri()}?mode={mode}",
            timeout=self._busy_timeout_ms / 1000,
            isolation_level=None,
            uri=True,
        )
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES)
        database.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        database.text_factory = bytes
        for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"):
            database.execute(f"PRAGMA {pragma}").fetchall()
        return database

    def _is_ready(self, database: sqlite3.Connection) -> bool:
        """Say whether the file holds exactly our table; False where it is new."""
        application = _pragma(database, "application_id")
        version = _pragma(database, "user_version")
        found = database.execute("SELECT sql FROM sqlite_master LIMIT 4").fetchall()
        if application == version == 0 and not found:
            return False
        if application == APPLICATION_ID and version > SCHEMA_VERSION:
            raise NewerStoreError(self.path, version, SCHEMA_VERSION)
        if (application, version, found) != (APPLICATION_ID, SCHEMA_VERSION, [(_TABLE.encode(),)]):
            got = f"application id {application}, version {version}, {len(found)} tables"
            raise ForeignStoreError(self.path, got, "a log of searches")
        return True

    @contextmanager
    def _translated(
        self, kind: type[UnreadableStoreError] | type[UnwritableStoreError]
    ) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise kind(self.path, error.strerror or str(error)) from error
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise kind(self.path, ascii(str(error))[1:-1][:200]) from error


def search_log(store: str | Path | None) -> SearchLog | None:
    """Return the log beside a store's file ("default" is the one in the cache folder).

    None where the store is no file: in memory, or behind an address.
    """
    from ortsel.store.place import default_path

    if store is None or "://" in str(store):
        return None
    try:
        file = default_path() if store == "default" else Path(store).absolute()
    except NoPlaceError:
        return None
    return SearchLog(file.with_name(file.name + SUFFIX))


def encode(entry: Entry) -> str:
    """Return an entry as JSON in ASCII. Raises `CorruptRecordError` for what no reader accepts."""
    kind = "searched" if isinstance(entry, Searched) else "withdrawn"
    document = {"schema": SCHEMA_VERSION, kind: _converter.unstructure(entry)}
    text = json.dumps(document, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    decode(text)
    return text


def decode(text: str) -> Entry:
    """Return the entry that a text stands for.

    Raises `NewerRecordError` for a later schema, `CorruptRecordError` for anything else that
    `encode` does not write.
    """
    if len(text) > MAX_BODY_BYTES:
        raise CorruptRecordError("entry", f"{len(text)} bytes", f"at most {MAX_BODY_BYTES}")
    try:
        document = _members(text)
        match document:
            case {"searched": body} if len(document) == 1:
                return _converter.structure(body, Searched)
            case {"withdrawn": body} if len(document) == 1:
                return _converter.structure(body, Withdrawn)
            case _:
                _refuse(f"members {sorted(document)}")
    except NewerRecordError:
        raise
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        cattrs.errors.BaseValidationError,
        cattrs.errors.ForbiddenExtraKeysError,
        cattrs.errors.StructureHandlerNotFoundError,
    ) as error:
        got = ascii(f"{type(error).__name__}: {error}")[1:-1][:200]
        raise CorruptRecordError("entry", got, "what a search writes") from error


def _members(text: str) -> dict[str, object]:
    document = json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    if not isinstance(document, dict):
        _refuse("no object")
    schema = document.pop("schema", None)
    if type(schema) is not int or schema < 1:
        _refuse(f"schema {schema!r}")
    if schema > SCHEMA_VERSION:
        raise NewerRecordError(schema, SCHEMA_VERSION)
    return document


_SAVE: Final = "INSERT INTO entry (created_s, body, key_text) VALUES (?, ?, ?)"
_EVICT: Final = "DELETE FROM entry WHERE sequence <= (SELECT max(sequence) FROM entry) - ?"
_EVICT_HALF: Final = (
    "DELETE FROM entry WHERE sequence <= (SELECT (min(sequence) + max(sequence)) / 2 FROM entry)"
)
_ALL: Final = -1
"""SQLite's word for no limit."""
_LIST_NEWEST: Final = "SELECT sequence FROM entry ORDER BY sequence DESC LIMIT ?"


def _examined(
    database: sqlite3.Connection, sequence: int
) -> LoggedEntry | CorruptRecordError | NewerRecordError:
    query = "SELECT body, key_text FROM entry WHERE sequence = ?"
    try:
        row = database.execute(query, (sequence,)).fetchone()
        if row is None:
            return CorruptRecordError("entry", "nothing", "an entry")
        return LoggedEntry(decode(row[0].decode("utf-8")), row[1].decode("utf-8"))
    except (sqlite3.DataError, UnicodeDecodeError, AttributeError) as error:
        return CorruptRecordError("entry", ascii(str(error))[1:-1][:200], "text")
    except (CorruptRecordError, NewerRecordError) as error:
        return error


def _pragma(database: sqlite3.Connection, name: str) -> int:
    return int(database.execute(f"PRAGMA {name}").fetchone()[0])


def _refuse(got: str) -> NoReturn:
    raise ValueError(got[:80])


def _whole(value: object, _: object) -> int:
    if type(value) is not int or not 0 <= value <= MAX_INTEGER:
        _refuse(f"{value!r} where a whole number belongs")
    return value


def _truth(value: object, _: object) -> bool:
    if type(value) is not bool:
        _refuse(f"{value!r} where true or false belongs")
    return value


def _text(value: object, _: object) -> str:
    if type(value) is not str or len(value) > MAX_TEXT:
        _refuse(f"{value!r:.80} where a text of at most {MAX_TEXT} characters belongs")
    return value


def _fraction(value: object, _: object) -> Fraction:
    match value:
        case [int() as numerator, int() as denominator] if denominator > 0 <= numerator:
            if max(numerator, denominator).bit_length() <= MAX_TERM_BITS:
                return Fraction(numerator, denominator)
    _refuse(f"{value!r:.80} where [numerator, denominator] belongs")


_converter: Final = cattrs.Converter(forbid_extra_keys=True, detailed_validation=False)
_converter.register_structure_hook(int, _whole)
_converter.register_structure_hook(bool, _truth)
_converter.register_structure_hook(str, _text)
_converter.register_structure_hook(Fraction, _fraction)
_converter.register_unstructure_hook(Fraction, lambda one: [one.numerator, one.denominator])
_converter.register_unstructure_hook(str, lambda one: one[:MAX_TEXT])
