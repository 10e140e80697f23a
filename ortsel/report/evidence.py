"""What a store and the log beside it hold, read once and bounded."""

from collections import deque
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.store.errors import StoreError
from ortsel.store.place import direct_store
from ortsel.store.search_log import LoggedEntry, SearchLog, search_log
from ortsel.store.store import StoredRecord

MOST_RECORDS: Final = 20_000
"""Records read; of more, the newest. Nobody reads a page of a million."""


@frozen
class Evidence:
    """Everything that a report rests on."""

    records: tuple[StoredRecord, ...]
    """In the order in which they were first stored."""
    entries: tuple[LoggedEntry, ...]
    """Searches and withdrawals, in the order in which they were written."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
    left_out: int = 0
    """Records beyond `MOST_RECORDS`."""


def read_evidence(store: Path | str) -> Evidence:
    """Return what a store and the log beside its file hold; a store on a server has no log.

    Raises `StoreError` where the store itself cannot be read. A log that cannot be, or single
    entries of either, are problems to be shown.
    """
    records: deque[StoredRecord] = deque(maxlen=MOST_RECORDS)
    seen = 0
    bad: list[str] = []
    source = direct_store(store)
    try:
        for found in source.examine():
            if isinstance(found, StoredRecord):
                seen += 1
                records.append(found)
            else:
                bad.append(f"a record: {found}")
    finally:
        source.close()
    entries, unread = _read_log(search_log(store))
    return Evidence(tuple(records), entries, tuple(bad) + unread, seen - len(records))


def _read_log(log: SearchLog | None) -> tuple[tuple[LoggedEntry, ...], tuple[str, ...]]:
    entries: list[LoggedEntry] = []
    bad: list[str] = []
    if log is None:
        return (), ()
    try:
        for found in log.entries():
            if isinstance(found, LoggedEntry):
                entries.append(found)
            else:
                bad.append(f"an entry of the log of searches: {found}")
    except StoreError as error:
        bad.append(f"the log of searches: {error}")
    return tuple(entries), tuple(bad)
