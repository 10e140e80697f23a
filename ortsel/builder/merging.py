"""Putting what another machine made into the output folder."""

import os
from contextlib import closing
from pathlib import Path, PurePosixPath

from attrs import frozen

from ortsel.builder.executor import Finished
from ortsel.builder.layout import ARTIFACTS, STORE_NAME
from ortsel.errors import OrtselError
from ortsel.store import SqliteStore


@frozen
class StrayFileError(OrtselError):
    """A worker sent a file for a place that is none of the builder's."""

    path: str

    def __str__(self) -> str:
        return f"file of a worker: got {self.path!r}, need a path inside {', '.join(ARTIFACTS)}"


def merge(end: Finished, output: Path) -> None:
    """Save records and files of a task. A file that is there already stays.

    Of two records of one key the better stays, by the store's own rule. Raises `StoreError`,
    `StrayFileError` and `OSError`.
    """
    for name, _ in end.files:
        _check(name)
    if end.records:
        with closing(SqliteStore(output / STORE_NAME)) as store:
            for stored in end.records:
                store.save(stored.record, stored.key_text)
    for name, content in end.files:
        target = output / name
        if target.exists():
            continue
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}")
        unfinished.write_bytes(content)
        os.replace(unfinished, target)


def _check(name: str) -> None:
    path = PurePosixPath(name)
    inside = len(path.parts) > 1 and path.parts[0] in ARTIFACTS and ".." not in path.parts
    if path.is_absolute() or not inside or "\\" in name or "\0" in name:
        raise StrayFileError(name)
