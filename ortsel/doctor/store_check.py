"""Whether a store is ours, can be written, and holds nothing but sound records."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.bundle.errors import BundleError
from ortsel.bundle.records import checked_record, parts_of
from ortsel.store.codec import encode
from ortsel.store.errors import NewerRecordError, StoreError, UnreachableStoreError
from ortsel.store.explanation import differing_parts, parse_key_text
from ortsel.store.place import direct_store
from ortsel.store.postgres_store import PostgresStore
from ortsel.store.sqlite_schema import SCHEMA_VERSION
from ortsel.store.sqlite_store import SqliteStore
from ortsel.store.store import StoredRecord
from spec.moment import Moment

_SHOWN: Final = 300


@frozen
class Finding:
    """What is wrong with one record, or with the store."""

    kind: str
    """corrupt, newer, future, or store."""
    key: str
    """Empty where it cannot be told. Of a record that cannot be decoded, its row's key column as it
    may be shown."""
    detail: str
    row: int | None = None
    """Number of the row of a record that cannot be decoded."""


@frozen
class StoreCheck:
    """What a look at every record found."""

    address: str
    """The file, or what may be shown of a server's URL."""
    exists: bool
    """Whether the file is there, or the server answers."""
    writable: bool
    """Whether the file, or where there is none its directory, may be written; of a server, whether
    it lets us in and takes changes."""
    schema: int
    """Version of the tables that this ortsel reads and writes."""
    bytes: int | None
    """Size of the file; None for a server."""
    sound: int
    other_environment: int
    """Sound ones that were made in another environment: no fault, but never served here."""
    findings: tuple[Finding, ...]


def check_store(place: Path | str, environment: Mapping[str, object], now_s: int) -> StoreCheck:
    """Look at every record of a store. Trouble with the store as a whole is a finding too.

    `place` is a file, or the URL of a server. Nothing is changed.
    """
    sound = other = 0
    findings: list[Finding] = []
    now = Moment(0, now_s)
    others: dict[str, bool] = {}
    store = direct_store(place)
    reached = True
    try:
        for found in store.examine():
            if not isinstance(found, StoredRecord):
                kind = "newer" if isinstance(found, NewerRecordError) else "corrupt"
                findings.append(Finding(kind, found.key, str(found)[:_SHOWN], found.row))
                continue
            wrong = _wrong_with(found, now)
            if wrong is not None:
                findings.append(wrong)
                continue
            sound += 1
            there = parse_key_text(found.key_text).get("environment")
            text = json.dumps(there, sort_keys=True)
            if text not in others:
                here = there if isinstance(there, dict) else {}
                others[text] = bool(differing_parts(environment, here))
            other += others[text]
    except StoreError as error:
        findings.append(Finding("store", "", str(error)[:_SHOWN]))
        reached = not isinstance(error, UnreachableStoreError)
    size: int | None = None
    try:
        if isinstance(store, SqliteStore):
            exists, writable = store.path.exists(), _is_writable(store.path)
            size = store.path.stat().st_size if store.path.is_file() else 0
        else:
            exists, writable = reached, reached and _takes_changes(store)
    finally:
        store.close()
    return StoreCheck(
        store.address,
        exists,
        writable,
        SCHEMA_VERSION,
        size,
        sound,
        other,
        tuple(findings),
    )


def _wrong_with(stored: StoredRecord, now: Moment) -> Finding | None:
    record = stored.record
    try:
        checked_record(parts_of(stored.key_text, "key"), encode(record), "record")
    except BundleError as error:
        detail = str(error).removeprefix("bundle: ")[:_SHOWN]
        return Finding("corrupt", record.key, detail)
    if record.is_from_the_future(now):
        ahead_s = record.created_s - now.wall_s
        return Finding("future", record.key, f"dated {ahead_s} s ahead of this clock")
    return None


def _takes_changes(store: PostgresStore) -> bool:
    """Whether a server takes a change: the removal of nothing."""
    try:
        store.remove_all(())
    except StoreError:
        return False
    return True


def _is_writable(path: Path) -> bool:
    """Whether this user may write there. SQLite writes beside the file too."""
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    may_add = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return may_add and (not path.exists() or (path.is_file() and os.access(path, os.W_OK)))
