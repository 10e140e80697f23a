"""Failures that an implementation knows of, so that others are news."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from attrs import frozen

KnownFailures: TypeAlias = Mapping[str, str]
"""Vector id and reason."""
NO_KNOWN_FAILURES: KnownFailures = MappingProxyType({})


@frozen
class KnownFailuresError(Exception):
    """The list says something that can't be."""

    file: str
    line: int
    got: str
    need: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: got {self.got}, need {self.need}"


def read_known_failures(path: Path, ids: Collection[str]) -> KnownFailures:
    """Read a list: one vector a line, its id, then a reason. `#` begins a comment line.

    Raises `KnownFailuresError` for an id that no vector has, an id twice or a missing reason, so
    that the list can't outlive what it is about; `OSError` where the file can't be read.
    """
    known: dict[str, str] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, reason = line.strip().partition(" ")
        if not reason.strip():
            raise KnownFailuresError(str(path), number, repr(line), "an id and a reason")
        if name not in ids:
            raise KnownFailuresError(str(path), number, repr(name), "the id of a vector")
        if name in known:
            raise KnownFailuresError(str(path), number, f"{name!r} again", "every id once")
        known[name] = reason.strip()
    return MappingProxyType(known)
