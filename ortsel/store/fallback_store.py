"""A store that never fails: whatever happens to the one behind it, requests go on."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from ortsel.store.errors import (
    CorruptRecordError,
    NewerRecordError,
    StoreError,
    UnreachableStoreError,
)
from ortsel.store.explanation import nearest_of
from ortsel.store.memory_store import MemoryStore
from ortsel.store.store import Nearest, Store, StoredRecord
from spec.canonical_json import Json
from spec.record import Record

LOGGER: Final = logging.getLogger("ortsel.store")
_Use: TypeAlias = Literal["read", "write"]
RETRY_AFTER_S: Final = 60.0
"""Time without another attempt after reading, or writing, failed as a whole. Shorter, and a locked
file would cost its timeout again and again. A server that cannot be reached is left alone with
both, and twice as long each time in a row."""
_MOST_DOUBLINGS: Final = 4
_MAX_FORGOTTEN: Final = 4096


class FallbackStore:
    """Passes everything to another store; where that fails, warns once and works from memory.

    Trouble with reading is a miss. A record that cannot be written is kept in memory, one that
    cannot be removed is hidden, both for as long as the process lives. A damaged record is a miss
    and leaves the rest alone. Each kind of trouble is logged once. No method raises `StoreError`.
    """

    def __init__(self, store: Store, *, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._memory = MemoryStore()
        self._forgotten: dict[str, None] = {}
        self._warned: dict[type[StoreError], tuple[object, StoreError]] = {}
        self._monotonic_s = monotonic_s
        self._failures = 0
        """How often in a row the server could not be reached."""
        self._rest_until_s = {"read": float("-inf"), "write": float("-inf")}

    @property
    def troubles(self) -> tuple[StoreError, ...]:
        """What went wrong so far, the first of each kind."""
        return tuple(error for _, error in self._warned.values())

    def load(self, key: str) -> Record | None:
        """Return the record of a key, or None where there is none or it cannot be read."""
        if key in self._forgotten:
            return None
        kept = self._memory.load(key)
        if kept is not None or self._rests("read"):
            return kept
        try:
            found = self._store.load(key)
        except StoreError as error:
            self._fail(error, "read")
            return None
        self._failures = 0
        return found

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record in the store, or in memory where that fails."""
        self._forgotten.pop(record.key, None)
        if not self._rests("write"):
            try:
                self._store.save(record, key_text)
            except StoreError as error:
                self._fail(error, "write")
            else:
                if not self._rests("read"):
                    self._memory.remove(record.key)
                    return
        self._memory.save(record, key_text)

    def remove(self, key: str) -> None:
        """Forget a key; where it cannot be removed, it is hidden from this process."""
        self._memory.remove(key)
        if not self._rests("write"):
            try:
                self._store.remove(key)
            except StoreError as error:
                self._fail(error, "write")
            else:
                self._forgotten.pop(key, None)
                return
        self._forgotten[key] = None
        for oldest in list(self._forgotten)[:-_MAX_FORGOTTEN]:
            self._forgotten.pop(oldest, None)

    def records(self) -> Iterator[StoredRecord]:
        """Give every record: those of the store, then those kept in memory."""
        kept = list(self._memory.records())
        hidden = {one.record.key for one in kept} | set(self._forgotten)
        if not self._rests("read"):
            try:
                for one in self._store.records():
                    if one.record.key not in hidden:
                        yield one
            except StoreError as error:
                self._fail(error, "read")
        yield from kept

    def has_records(self) -> bool:
        """Say whether there is any record; while the store cannot be read, any kept in memory."""
        if self._memory.has_records() or self._rests("read"):
            return self._memory.has_records()
        try:
            return self._store.has_records()
        except StoreError as error:
            self._fail(error, "read")
            return False

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least from `parts`."""
        found = [self._memory.nearest(parts)]
        if not self._rests("read"):
            try:
                found.append(self._store.nearest(parts))
            except StoreError as error:
                self._fail(error, "read")
        return nearest_of(parts, [one.stored for one in found if one is not None])

    def close(self) -> None:
        """Close the store behind."""
        try:
            self._store.close()
        except StoreError as error:
            self._fail(error, "read")

    def _rests(self, use: _Use) -> bool:
        return self._monotonic_s() < self._rest_until_s[use]

    def _fail(self, error: StoreError, use: _Use) -> None:
        if not isinstance(error, (CorruptRecordError, NewerRecordError)):
            pause_s, uses = RETRY_AFTER_S, [use]
            if isinstance(error, UnreachableStoreError):
                pause_s *= 2 ** min(self._failures, _MOST_DOUBLINGS)
                self._failures += 1
                uses = ["read", "write"]
            for each in uses:
                self._rest_until_s[each] = self._monotonic_s() + pause_s
        error.__traceback__ = error.__cause__ = error.__context__ = None  # frames hold files
        first = object()
        if self._warned.setdefault(type(error), (first, error))[0] is first:
            LOGGER.warning("%s; decisions are kept in memory where the store does not serve", error)
