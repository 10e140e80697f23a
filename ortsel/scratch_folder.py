"""A folder for the time of one search, removed by the process that made it and by no fork of it."""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Self


class ScratchFolder:
    """A new folder; gone when it is closed, collected, or when the interpreter ends.

    The standard library's temporary folder is removed by a forked child's end as well, under the
    parent that is using it.
    """

    def __init__(self, prefix: str, place: Path | None = None) -> None:
        """Make it in `place`, or in the system's. Raises `OSError`."""
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._finalizer()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(path, ignore_errors=True)
