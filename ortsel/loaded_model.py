"""The model that a session was built from, and whether its files are still that model.

A rolling update may replace a model's file while a process serves the old one from memory. A plan
built from the file would then be another model's.
"""

import os
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.content_memory import ContentMemory
from ortsel.errors import OrtselError
from ortsel.model_content import ModelContent, content_hash

_NOTHING: Final = ContentMemory(None)


@frozen
class ModelChangedError(OrtselError):
    """A file of the model is not what the session loaded."""

    path: str

    def __str__(self) -> str:
        return f"{self.path} changed since the session loaded it"


@frozen
class LoadedModel:
    """A model as a session loaded it."""

    source: Path | bytes
    """An absolute path, since the current directory may change; or the model itself."""
    loading_ns: int
    """Wall-clock nanoseconds just before it was loaded: no file of it may have changed later."""
    identity: tuple[int, ...] = ()
    """Of the model's own file; empty where there is none."""
    memory: ContentMemory = _NOTHING
    """Where its hash is remembered for other processes."""

    @classmethod
    def of(
        cls,
        source: Path | bytes,
        loading_ns: int,
        memory: ContentMemory = _NOTHING,
    ) -> "LoadedModel":
        """Describe the model of a session that was just built."""
        if isinstance(source, bytes):
            return cls(source, loading_ns)
        place = source.absolute()
        return cls(place, loading_ns, _identity(place), memory)

    def size_bytes(self) -> int:
        """Return the size of the model itself, without the files of weights beside it."""
        return len(self.source) if isinstance(self.source, bytes) else self.identity[2]

    def content(self, *, node_names: bool = False) -> ModelContent:
        """Return the content's hash. Raises `ModelChangedError`, or `UnknownContentError`."""
        content = content_hash(self.source, node_names=node_names, memory=self.memory)
        self.check_unchanged(content.external)
        return content

    def check_unchanged(self, external: tuple[str, ...] = ()) -> None:
        """Raise `ModelChangedError` unless every file is as it was when the session loaded it.

        `external` names data files, relative to the model's folder.
        """
        if isinstance(self.source, bytes):
            return
        if _identity(self.source) != self.identity:
            raise ModelChangedError(str(self.source))
        for path in (self.source, *(self.source.parent / name for name in external)):
            if _changed_ns(path) > self.loading_ns:
                raise ModelChangedError(str(path))


def _identity(path: Path) -> tuple[int, ...]:
    try:
        found = os.stat(path)
    except OSError as error:
        raise ModelChangedError(str(path)) from error
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _changed_ns(path: Path) -> int:
    try:
        found = os.stat(path)
    except OSError as error:
        raise ModelChangedError(str(path)) from error
    # On Windows st_ctime is the time of creation; st_mtime alone tells of changes there.
    return found.st_mtime_ns if os.name == "nt" else found.st_ctime_ns
