"""Where decisions are kept."""

from pathlib import Path
from typing import Final, TypeAlias

import platformdirs

from ortsel.store.errors import NoPlaceError
from ortsel.store.fallback_store import LOGGER, FallbackStore
from ortsel.store.memory_store import MemoryStore
from ortsel.store.postgres_store import PostgresStore
from ortsel.store.server_url import is_server_url
from ortsel.store.sqlite_store import SqliteStore
from ortsel.store.store import Store, StoreLimits

DirectStore: TypeAlias = SqliteStore | PostgresStore
"""A store that says what is wrong with it."""
FILE_NAME: Final = "decisions.sqlite3"


def default_path() -> Path:
    """Return the file in this user's cache folder. Raises `NoPlaceError` where there is none."""
    try:
        folder = Path(platformdirs.user_cache_dir("ortsel", appauthor=False))
    except (RuntimeError, KeyError, OSError) as error:  # by version and system
        raise NoPlaceError(str(error)) from error
    if not folder.is_absolute():
        raise NoPlaceError(str(folder))
    return folder / FILE_NAME


def open_store(path: Path | str | None = "default", limits: StoreLimits | None = None) -> Store:
    """Return a store that never fails: in a file, on a server, or in memory where `path` is None.

    "default" is `default_path`, "postgresql://..." a server; any other string is a path. Nothing is
    opened before the first use. Where that fails, one warning is logged and the store works from
    memory. Raises `UsageError` for a URL that is none, and `MissingPackageError` for a server whose
    driver is not installed: both are mistakes that waiting does not heal.
    """
    if path is None:
        return MemoryStore(limits)
    if path == "default":
        try:
            path = default_path()
        except NoPlaceError as error:
            LOGGER.warning("%s; decisions are kept in memory", error)
            return MemoryStore(limits)
    return FallbackStore(direct_store(path, limits))


def direct_store(place: Path | str, limits: StoreLimits | None = None) -> DirectStore:
    """Return the store in a file, or on a server, that raises `StoreError` when it fails."""
    if isinstance(place, str) and is_server_url(place):
        return PostgresStore(place, limits)
    return SqliteStore(Path(place), limits)
