"""Where decisions are kept."""

from pathlib import Path
from typing import Final

import platformdirs

from ortsel.store.errors import NoPlaceError
from ortsel.store.fallback_store import LOGGER, FallbackStore
from ortsel.store.memory_store import MemoryStore
from ortsel.store.sqlite_store import SqliteStore
from ortsel.store.store import Store, StoreLimits

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
    """Return a store that never fails: in a file, or in memory where `path` is None.

    "default" is `default_path`; any other string is a path. The file is opened when it is first
    used. Where it cannot be, one warning is logged and the store works from memory.
    """
    if path is None:
        return MemoryStore(limits)
    if path == "default":
        try:
            path = default_path()
        except NoPlaceError as error:
            LOGGER.warning("%s; decisions are kept in memory", error)
            return MemoryStore(limits)
    return FallbackStore(SqliteStore(Path(path), limits))
