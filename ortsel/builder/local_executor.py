"""Tasks on this machine, one after another, each in a process of its own.

A model that takes its process down, or never returns, costs its own workload and no other.
"""

import contextlib
import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, Final

from attrs import evolve, field, frozen

from ortsel.builder.executor import Finished, Listener
from ortsel.builder.task import (
    Outcome,
    Status,
    Task,
    UnreadableDocumentError,
    outcome_from_document,
    task_to_text,
)
from ortsel.cli.one_line import one_line
from ortsel.progress import Progress, Stage
from ortsel.trial.interpreter import worker_command, worker_environment

MODULE: Final = "ortsel.builder.worker"
GRACE_S: Final = 1200.0
"""What loading a model, compiling a winner and the like may take beyond the search's budget."""
END_S: Final = 10.0
"""How long a process may take to end after its last word, or after it was told to."""
_LINE: Final = 400


@frozen
class LocalExecutor:
    """Runs one task after another on this machine."""

    grace_s: float = field(default=GRACE_S)
    """Seconds after a task's budget until it counts as hanging, and is ended."""

    @property
    def machines(self) -> int:
        """One: the one that this process runs on."""
        return 1

    def run(self, tasks: Iterator[Task], folder: Path, listen: Listener) -> Iterator[Finished]:
        """Give the ends of tasks in their order."""
        for task in tasks:
            listen(task, None)
            outcome = run_in_child(task, folder, _heard(task, listen), self.grace_s)
            yield Finished(task, outcome)


def _heard(task: Task, listen: Listener) -> Callable[[Progress], None]:
    return lambda progress: listen(task, progress)


def run_in_child(
    task: Task, folder: Path, listen: Callable[[Progress], None], grace_s: float = GRACE_S
) -> Outcome:
    """Return how a task ends in a process of its own; the folder must be prepared.

    Whatever happens to the process is the outcome. An exception in this one, such as an interrupt,
    ends the process.
    """
    command = [*worker_command()[:-1], MODULE, str(folder)]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=worker_environment(),
            start_new_session=os.name == "posix",
        )
        try:
            outcome = _converse(process, task, listen, task.budget_s + grace_s)
        finally:
            _end(process)
        if isinstance(outcome, Outcome):
            return outcome
        last = _last_line(log)
        return Outcome(task.id, Status.FAILED, one_line(f"{outcome}{last}"))


def _converse(
    process: "subprocess.Popen[bytes]",
    task: Task,
    listen: Callable[[Progress], None],
    limit_s: float,
) -> Outcome | str:
    """Return the last outcome that the process reports, or what happened to it instead."""
    assert process.stdin is not None
    assert process.stdout is not None
    said: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, said), daemon=True).start()
    outcome: Outcome | None = None
    try:
        process.stdin.write(task_to_text(task).encode("ascii") + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # its end is seen below
    try:
        while (message := said.get(timeout=limit_s)) is not None:
            if "outcome" in message:
                outcome = outcome_from_document(message["outcome"])
            else:
                told = message["progress"]
                listen(Progress(**(told | {"stage": Stage(told["stage"])})))
    except queue.Empty:
        what = f"no word from its process for {limit_s:g} s"
        return what if outcome is None else evolve(outcome, reason=f"{outcome.reason}; then {what}")
    except UnreadableDocumentError as error:
        return str(error)
    if outcome is not None:
        return outcome
    try:
        code = process.wait(END_S)
    except subprocess.TimeoutExpired:
        return "its process said nothing"
    return f"its process ended by signal {-code}" if code < 0 else f"its process ended with {code}"


def _read(stream: IO[bytes], said: "queue.SimpleQueue[dict[str, Any] | None]") -> None:
    with stream:
        for line in stream:
            with contextlib.suppress(ValueError):
                said.put(json.loads(line))
    said.put(None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Close the process's stdin, on which it ends with all that it started; insist after a time."""
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _last_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = [line for line in log.read()[-_LINE * 10 :].splitlines() if line.strip()]
    return f"; its last words: {lines[-1][:_LINE].decode('utf-8', 'replace')}" if lines else ""
