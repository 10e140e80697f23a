"""The tables on disk, and whether a file has exactly these.

A database may carry triggers, views and generated columns, which run when it is read or written.
So a file is used only where its schema is, statement by statement, the one below.
"""

import sqlite3
from enum import Enum
from pathlib import Path
from typing import Final

from ortsel.store.errors import ForeignStoreError, NewerStoreError

APPLICATION_ID: Final = 0x6F727473
"""Marks the file as ours: "orts" in ASCII."""
SCHEMA_VERSION: Final = 1
"""Grows with every change of the tables. A file of a later version is left alone. A file of an
earlier version holds nothing for a reader, and is brought up to date, in one transaction that keeps
its records, by the first process that writes."""

_STATEMENTS: Final = {
    "record": (
        "CREATE TABLE record (sequence INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, "
        "model TEXT NOT NULL, created_s INTEGER NOT NULL, body TEXT NOT NULL, "
        "key_text TEXT NOT NULL)"
    ),
    "record_by_created": "CREATE INDEX record_by_created ON record (created_s, sequence)",
    "record_by_model": "CREATE INDEX record_by_model ON record (model, sequence)",
}
SCHEMAS: Final[dict[int, dict[str, str]]] = {1: _STATEMENTS}
"""The statements of each version, by the name of what they make."""
UPGRADES: Final[dict[int, tuple[str, ...]]] = {}
"""The statements that turn a version's tables into those of the next."""
_AUTOMATIC: Final = "sqlite_autoindex_record_1"


class Condition(Enum):
    """What a file is, as far as its schema says."""

    EMPTY = "empty"
    EARLIER = "earlier"
    CURRENT = "current"


def condition(database: sqlite3.Connection, path: Path) -> Condition:
    """Say whether the file is ours and ready, or new.

    Raises `NewerStoreError` or `ForeignStoreError`, and whatever SQLite raises.
    """
    if database.in_transaction:
        application, version, found = _read(database)
    else:  # one view of all three, while another process may be making the tables
        database.execute("BEGIN")
        application, version, found = _read(database)
        database.execute("COMMIT")
    if application == version == 0 and not found:
        return Condition.EMPTY
    if application != APPLICATION_ID:
        got = f"application id {application}"
        raise ForeignStoreError(path, got, f"application id {APPLICATION_ID}")
    if version > SCHEMA_VERSION:
        raise NewerStoreError(path, version, SCHEMA_VERSION)
    if version not in SCHEMAS or found != SCHEMAS[version] | {_AUTOMATIC: ""}:
        got = f"schema version {version} with {', '.join(sorted(found)) or 'nothing'}"
        raise ForeignStoreError(path, ascii(got)[1:-1][:200], "the tables of a store")
    return Condition.CURRENT if version == SCHEMA_VERSION else Condition.EARLIER


def create(database: sqlite3.Connection, path: Path) -> None:
    """Make an empty file a store. Two processes may try at once; the second finds it done."""
    database.execute("PRAGMA journal_mode = WAL").fetchall()
    database.execute("BEGIN IMMEDIATE")
    if condition(database, path) is Condition.EMPTY:
        for statement in SCHEMAS[SCHEMA_VERSION].values():
            database.execute(statement)
        database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT")


def upgrade(database: sqlite3.Connection, path: Path) -> None:
    """Bring a file of an earlier version up to date. Of two processes the second finds it done."""
    database.execute("BEGIN IMMEDIATE")
    if condition(database, path) is Condition.EARLIER:
        for version in range(_pragma(database, "user_version"), SCHEMA_VERSION):
            for statement in UPGRADES[version]:
                database.execute(statement)
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    database.execute("COMMIT")


def _read(database: sqlite3.Connection) -> tuple[int, int, dict[str, str]]:
    rows = database.execute("SELECT name, sql FROM sqlite_master LIMIT 16").fetchall()
    found = {_text(name): _text(statement) for name, statement in rows}
    return _pragma(database, "application_id"), _pragma(database, "user_version"), found


def _pragma(database: sqlite3.Connection, name: str) -> int:
    row = database.execute(f"PRAGMA {name}").fetchone()
    if row is None:
        msg = f"no {name}"
        raise sqlite3.DatabaseError(msg)
    return int(row[0])


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
