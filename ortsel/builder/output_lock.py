"""One build at a time in an output folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attrs import frozen

from ortsel.errors import OrtselError


@frozen
class OutputInUseError(OrtselError):
    """Another process builds into the same folder."""

    folder: Path
    process: str

    def __str__(self) -> str:
        return f"output {self.folder}: got a build under way there ({self.process}), need none"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a file's lock, which ends with the process in whatever way that ends.

    Raises `OutputInUseError`. Where the system has no such locks, nothing is held.
    """
    if find_spec("fcntl") is None:
        yield
        return
    fcntl: Any = import_module("fcntl")
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 32).decode("ascii", "replace").strip() or "unknown"
            raise OutputInUseError(path.parent, f"process {holder}") from error
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode("ascii"), 0)
        yield
    finally:
        os.close(handle)
