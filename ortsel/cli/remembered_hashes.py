"""Where a command finds hashes of models that were read before, and keeps its own."""

from pathlib import Path

from ortsel.cli.store_argument import StorePlace
from ortsel.content_memory import ContentMemory, content_memory
from ortsel.selection_config import DEFAULT_STORE


def hashes_beside(store: StorePlace | None) -> ContentMemory:
    """Return the memory beside a store; None is the user's cache folder.

    A file that is not there has none: a mistyped path makes no folders.
    """
    is_nowhere = isinstance(store, Path) and not store.is_file()
    return content_memory(None if is_nowhere else str(store or DEFAULT_STORE))
