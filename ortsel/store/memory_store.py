"""A store that lives as long as the process."""

import time
from collections.abc import Callable, Iterator, Mapping
from threading import RLock

from attrs import frozen

from ortsel.store.explanation import (
    MODEL_PART,
    model_digest,
    nearest_of,
    parse_key_text,
    plain_parts,
)
from ortsel.store.fork_safety import take_part_in_forks
from ortsel.store.preference import supersedes
from ortsel.store.store import AGED_PER_SAVE, NEAREST_AMONG, Nearest, StoredRecord, StoreLimits
from spec.canonical_json import Json
from spec.record import Record


@frozen
class _Row:
    sequence: int
    stored: StoredRecord


class MemoryStore:
    """Holds records in a dictionary under the same rules as the store on disk."""

    def __init__(
        self,
        limits: StoreLimits | None = None,
        wall_clock_s: Callable[[], float] = time.time,
    ) -> None:
        self._limits = limits or StoreLimits(capacity=4096)
        self._wall_clock_s = wall_clock_s
        self._rows: dict[str, _Row] = {}
        self._lock = RLock()
        take_part_in_forks(self)

    def load(self, key: str) -> Record | None:
        """Return the record of a key, or None where there is none."""
        row = self._rows.get(key)
        return None if row is None else row.stored.record

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record, unless the one that is there is better (`supersedes`)."""
        now_s = int(self._wall_clock_s())
        with self._lock:
            old = self._rows.get(record.key)
            if old is None:
                sequence = 1 + next((row.sequence for row in reversed(self._rows.values())), 0)
            elif supersedes(record, old.stored.record, now_s):
                sequence = old.sequence
            else:
                return
            self._rows[record.key] = _Row(sequence, StoredRecord(record, key_text))
            self._evict(now_s)

    def remove(self, key: str) -> None:
        """Forget a key. Nothing happens where there is none."""
        with self._lock:
            self._rows.pop(key, None)

    def records(self) -> Iterator[StoredRecord]:
        """Give every record, first stored first."""
        return iter([row.stored for row in self._snapshot()])

    def has_records(self) -> bool:
        """Say whether there is any record."""
        return bool(self._rows)

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least from `parts`."""
        stored = [row.stored for row in reversed(self._snapshot())]
        model = model_digest(plain_parts(parts))
        same = [one for one in stored if model_digest(parse_key_text(one.key_text)) == model]
        known = MODEL_PART in parts and bool(same)
        return nearest_of(parts, (same if known else stored)[:NEAREST_AMONG])

    def close(self) -> None:
        """Nothing is held."""

    def before_fork(self) -> None:
        """Let no thread be in the middle of a change."""
        self._lock.acquire()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._lock.release()

    def after_fork_in_child(self) -> None:
        """Forget about threads that no longer exist."""
        self._lock = RLock()

    def _snapshot(self) -> list[_Row]:
        with self._lock:
            return list(self._rows.values())

    def _evict(self, now_s: int) -> None:
        oldest_s = now_s - self._limits.max_age_s
        aged = sorted(
            (row.stored.record.created_s, row.sequence, key)
            for key, row in self._rows.items()
            if row.stored.record.created_s < oldest_s
        )
        for _, _, key in aged[:AGED_PER_SAVE]:
            del self._rows[key]
        last = next((row.sequence for row in reversed(self._rows.values())), 0)
        for key, row in list(self._rows.items()):
            if row.sequence > last - self._limits.capacity:
                break
            del self._rows[key]
