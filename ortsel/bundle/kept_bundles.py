"""Signed bundles, kept beside the store, so that who signed a record can be checked at any time.

A record in a store says that it was imported, not by whose word. A session that trusts certain keys
only asks here: a file is named by the hash of its bytes, and every process checks its signature
anew, so that whoever can write into the folder can still not sign.
"""

import contextlib
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from ortsel.bundle.bundle import Bundle
from ortsel.bundle.errors import BundleError
from ortsel.bundle.file import read_bytes, write_whole
from ortsel.bundle.signing import PublicKey
from ortsel.selection_config import DEFAULT_STORE
from ortsel.store.codec import encode
from ortsel.store.errors import NoPlaceError
from ortsel.store.place import DirectStore, default_path
from ortsel.store.server_url import is_server_url
from ortsel.store.sqlite_store import SqliteStore
from spec.record import Origin, Record

log = logging.getLogger("ortsel.bundle")
MOST_FILES: Final = 64
"""Bundles kept; the one that was imported longest ago leaves."""
SUFFIX: Final = ".bundle"


@frozen
class KeptBundles:
    """A folder of signed bundles."""

    folder: Path

    @classmethod
    def beside(cls, store: Path) -> "KeptBundles":
        """Return the folder of a store's file."""
        return cls(store.with_name(f"{store.name}.bundles"))

    @classmethod
    def for_import(cls, store: DirectStore) -> "KeptBundles":
        """Return the folder that `of` gives. Raises `NoPlaceError` without a cache folder."""
        return cls.beside(store.path if isinstance(store, SqliteStore) else default_path())

    @classmethod
    def of(cls, place: str | None) -> "KeptBundles | None":
        """Return the folder of a session's store; None for a store in memory.

        That of a store on a server is in the cache folder of each machine that imports: a server
        keeps decisions and nothing else, and whoever can write there can still not sign.
        """
        if place is None:
            return None
        try:
            in_cache_folder = place == DEFAULT_STORE or is_server_url(place)
            return cls.beside(default_path() if in_cache_folder else Path(place))
        except NoPlaceError:
            return None

    def keep(self, data: bytes) -> None:
        """Keep the bytes of a signed bundle. Raises `OSError`."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self.folder / f"{hashlib.sha256(data).hexdigest()}{SUFFIX}"
        write_whole(path, data, 0o600)
        for old in self.files()[:-MOST_FILES]:
            old.unlink(missing_ok=True)

    def files(self) -> tuple[Path, ...]:
        """Return the files, the one that was imported last at the end."""
        dated: list[tuple[int, str, Path]] = []
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"*{SUFFIX}"):
                dated.append((path.stat().st_mtime_ns, path.name, path))  # noqa: PERF401
        return tuple(path for _, _, path in sorted(dated))

    def bundles(self, trusted: Sequence[PublicKey]) -> Iterator[Bundle]:
        """Give every bundle that one of these keys signed. Others are passed over."""
        for path in self.files():
            try:
                yield Bundle.read(read_bytes(path), trusted)
            except (BundleError, OSError) as error:
                log.debug("ortsel: %s does not count: %s", path, error)

    def signed(self, trusted: Sequence[PublicKey]) -> Mapping[str, frozenset[str]]:
        """Return the texts of the imported records that these keys vouch for, by key."""
        found: dict[str, set[str]] = {}
        for bundle in self.bundles(trusted):
            for one in bundle.records:
                found.setdefault(one.record.key, set()).add(imported_text(one.record))
        return {key: frozenset(texts) for key, texts in found.items()}


def imported_text(record: Record) -> str:
    """Return a record's text as it is after an import."""
    return encode(evolve(record, origin=Origin.IMPORTED))
