"""What can go wrong with a store. None of it may reach a request: see `FallbackStore`.

`path` is a file, or as much of a server's address as may be shown.
"""

from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.errors import OrtselError

MAX_SHOWN_KEY: Final = 80
"""Characters of a key that are shown of a row that cannot be understood; real ones have 64."""


class StoreError(OrtselError):
    """Base of everything that a store raises."""


@frozen
class UnreadableStoreError(StoreError):
    """The file cannot be opened or its content makes no sense. It is left as it is."""

    path: Path | str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be read: {self.reason}"


@frozen
class UnwritableStoreError(StoreError):
    """Nothing can be written there: read-only, no permission, no directory, disk full."""

    path: Path | str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be written: {self.reason}"


@frozen
class UnreachableStoreError(StoreError):
    """The server is not there, does not answer in time, or does not let us in."""

    path: Path | str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: cannot be reached: {self.reason}"


@frozen
class BusyStoreError(StoreError):
    """Another process held the file, or the record, for longer than the busy timeout."""

    path: Path | str
    timeout_ms: int

    def __str__(self) -> str:
        return f"{self.path}: locked by another process for more than {self.timeout_ms} ms"


@frozen
class ForeignStoreError(StoreError):
    """A database, but not one of ours, or one whose tables were changed."""

    path: Path | str
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.path}: got {self.got}, need {self.need}; it is left alone"


@frozen
class NewerStoreError(StoreError):
    """Written by a later version of ortsel. Nothing is read and nothing is written."""

    path: Path | str
    got: int
    need: int

    def __str__(self) -> str:
        return f"{self.path}: schema version {self.got}, this version knows up to {self.need}"


@frozen
class InheritedStoreError(StoreError):
    """The process was forked outside `os.fork` with the file open, and cannot use it safely."""

    path: Path | str

    def __str__(self) -> str:
        return (
            f"{self.path}: was open when this process was forked by something other than os.fork; "
            "open the store after the fork"
        )


@frozen
class ClosedStoreError(StoreError):
    """Used after `close`."""

    path: Path | str

    def __str__(self) -> str:
        return f"{self.path}: the store was closed"


@frozen
class NoPlaceError(StoreError):
    """No directory for caches can be named for this user."""

    got: str

    def __str__(self) -> str:
        return f"cache directory: got {self.got}, need an absolute path (is HOME set?)"


@frozen
class CorruptRecordError(StoreError):
    """One record breaks the schema. Others may be sound."""

    place: str
    """Where in the record, such as "record.ratio[1]"."""
    got: str
    need: str
    key: str = ""
    """What its row has as key, for people: escaped and cut; empty where it is not known."""
    row: int | None = None
    """Number of its row; None where it is of none."""

    def __str__(self) -> str:
        return f"{self.place}: got {self.got}, need {self.need}"


@frozen
class NewerRecordError(StoreError):
    """One record has a later schema. It is neither read nor replaced."""

    got: int
    need: int
    key: str = ""
    """What its row has as key, for people: escaped and cut; empty where it is not known."""
    row: int | None = None
    """Number of its row; None where it is of none."""

    def __str__(self) -> str:
        return f"schema: got {self.got}, need at most {self.need}"


def shown_key(key: object) -> str:
    """Return what a row has as key in ASCII, cut, whatever it is."""
    if isinstance(key, bytes):
        key = key.decode("utf-8", "backslashreplace")
    return ascii(key if isinstance(key, str) else repr(key))[1:-1][:MAX_SHOWN_KEY]
