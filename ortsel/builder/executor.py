"""Where tasks run: one small interface, whatever is behind it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

from attrs import frozen

from ortsel.builder.task import Outcome, Task
from ortsel.progress import Progress
from ortsel.store import StoredRecord

Listener = Callable[[Task, Progress | None], None]
"""Hears that a task started (None), and what its search does where that can be heard."""


@frozen
class Finished:
    """A task's end, with what has to be merged into the output folder; nothing where it is there.

    Measured elsewhere means by another machine's name: such records are marked as imported.
    """

    task: Task
    outcome: Outcome
    records: tuple[StoredRecord, ...] = ()
    files: tuple[tuple[str, bytes], ...] = ()
    """What was made for the deployment, by path relative to the output folder."""


class Executor(Protocol):
    """Runs tasks so that a machine measures one at a time."""

    @property
    def machines(self) -> int:
        """How many tasks run at once, for estimates."""
        ...

    def run(self, tasks: Iterator[Task], folder: Path, listen: Listener) -> Iterator[Finished]:
        """Give the ends of tasks as they come. A task is taken from `tasks` when it can start.

        Closing the iterator ends whatever still runs. Raises `OrtselError` only when nothing can
        run at all; whatever happens to one task is its outcome.
        """
        ...
