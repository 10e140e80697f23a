"""Decisions that last: records by key, on disk or in memory.

`open_store` is the way in. Its store never fails; the ones behind it say what is wrong.
"""

from ortsel.store.errors import StoreError
from ortsel.store.fallback_store import FallbackStore
from ortsel.store.memory_store import MemoryStore
from ortsel.store.place import DirectStore, default_path, direct_store, open_store
from ortsel.store.postgres_store import PostgresStore
from ortsel.store.sqlite_store import SqliteStore
from ortsel.store.store import Nearest, Store, StoredRecord, StoreLimits

__all__ = [
    "DirectStore",
    "FallbackStore",
    "MemoryStore",
    "Nearest",
    "PostgresStore",
    "SqliteStore",
    "Store",
    "StoreError",
    "StoreLimits",
    "StoredRecord",
    "default_path",
    "direct_store",
    "open_store",
]
