"""A store that gives imported records only where a trusted key signed them."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ortsel.bundle.kept_bundles import KeptBundles, imported_text
from ortsel.bundle.signing import PublicKey
from ortsel.fork import starts_over
from ortsel.store.explanation import nearest_of
from ortsel.store.store import Nearest, Store, StoredRecord
from spec.canonical_json import Json
from spec.record import Origin, Record

log = logging.getLogger("ortsel.bundle")


class TrustingStore:
    """Passes everything to another store, except imported records that no trusted key signed.

    These are a miss, whichever way they came into the store. What is measured here is not asked for
    a signature: whoever can write this machine's own decisions can do so without any import.
    """

    def __init__(
        self, store: Store, bundles: KeptBundles | None, trusted: Sequence[PublicKey]
    ) -> None:
        self._store = store
        self._bundles = bundles
        self._trusted = tuple(trusted)
        self._signed: Mapping[str, frozenset[str]] = {}
        self._files: tuple[Path, ...] = ()
        self._warned = False
        self._lock = threading.Lock()
        starts_over(self)

    def load(self, key: str) -> Record | None:
        """Return the record of a key, if it was measured here or signed by a trusted key."""
        record = self._store.load(key)
        if record is None or self._counts(record):
            return record
        if not self._warned:
            self._warned = True
            log.warning(
                "ortsel: the imported decision %s and maybe others are not used: "
                "no trusted key signed them in a bundle that was imported on this machine",
                key[:12],
            )
        return None

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record."""
        if record.origin is Origin.LOCAL:
            untrusted = self._store.load(record.key)
            if untrusted is not None and not self._counts(untrusted):
                self._store.remove(record.key)
        self._store.save(record, key_text)

    def remove(self, key: str) -> None:
        """Forget a key."""
        self._store.remove(key)

    def records(self) -> Iterator[StoredRecord]:
        """Give every record that counts."""
        return (one for one in self._store.records() if self._counts(one.record))

    def has_records(self) -> bool:
        """Say whether there is any record, whether it counts or not."""
        return self._store.has_records()

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least, if it counts."""
        found = self._store.nearest(parts)
        return None if found is None else nearest_of(parts, filter(self._trusts, [found.stored]))

    def close(self) -> None:
        """Close the store behind."""
        self._store.close()

    def after_fork_in_child(self) -> None:
        """The lock may be held by a thread that the child does not have."""
        self._lock = threading.Lock()

    def _trusts(self, stored: StoredRecord) -> bool:
        return self._counts(stored.record)

    def _counts(self, record: Record) -> bool:
        if record.origin is Origin.LOCAL:
            return True
        if self._bundles is None:
            return False
        text = imported_text(record)
        with self._lock:
            if text not in self._signed.get(record.key, ()):
                files = self._bundles.files()
                if files != self._files:
                    self._files, self._signed = files, self._bundles.signed(self._trusted)
            return text in self._signed.get(record.key, ())
