"""Which workloads ended how, in a file that survives the process at any moment.

Each line is a JSON document, written with one call and flushed to the disk before the build goes
on. A last line without its newline was cut off and counts for nothing. Lines are looked up by the
workload's content, so an edited spec finds exactly those ends that still hold.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Self

from ortsel.builder.task import (
    Outcome,
    UnreadableDocumentError,
    outcome_document,
    outcome_from_document,
)

SCHEMA: Final = 1


class Journal:
    """The journal of one output folder. Use it as a context, by one process at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = -1
        self._ended: dict[str, Outcome] = {}
        self.interrupted = False
        """Whether the last build did not come to its end."""

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
        self._file = os.open(self._path, flags, 0o600)
        text = self._path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.ftruncate(self._file, whole)
        for line in text[:whole].splitlines():
            self._read(line)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
        self._file = -1

    def outcome(self, task_id: str) -> Outcome | None:
        """Return how a workload ended, if it did."""
        return self._ended.get(task_id)

    def write(self, outcome: Outcome) -> None:
        """Keep an end; it is on the disk when this returns."""
        self._append({"outcome": outcome_document(outcome)})
        self._ended[outcome.id] = outcome
        self.interrupted = True

    def finish(self) -> None:
        """Note that a build came to its end: the next one starts anew with what is undecided."""
        self._append({"finished": True})
        self.interrupted = False

    def _append(self, entry: Mapping[str, object]) -> None:
        line = json.dumps({"schema": SCHEMA, **entry}, ensure_ascii=True, allow_nan=False)
        waiting = line.encode("ascii") + b"\n"
        while waiting:  # one call, but for signals and full disks
            waiting = waiting[os.write(self._file, waiting) :]
        os.fsync(self._file)

    def _read(self, line: bytes) -> None:
        """Take one line; one that is not understood belongs to another version."""
        try:
            entry: Any = json.loads(line)
            if entry["schema"] != SCHEMA:
                return
            if entry.get("finished"):
                self.interrupted = False
                return
            outcome = outcome_from_document(entry["outcome"])
        except (ValueError, KeyError, TypeError, AttributeError, UnreadableDocumentError):
            return
        self._ended[outcome.id] = outcome
        self.interrupted = True
