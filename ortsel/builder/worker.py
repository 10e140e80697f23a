"""The process that does one task: it reads the task, searches, and writes what came of it.

The task is one line of JSON on stdin; each line on stdout is one message. Whatever else is printed
there, by ONNX Runtime or a provider, goes to stderr. When stdin ends, whoever asked is gone, and so
is this process: a search that nobody waits for would disturb the next one.
"""

import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Final

import attrs

from ortsel.builder import layout
from ortsel.builder.task import Outcome, Status, Task, outcome_document, task_from_text
from ortsel.progress import Progress

SECOND_NS: Final = 1_000_000_000
TELL_NS: Final = SECOND_NS // 5
"""Least time between two progress messages. Each costs processor time of the measurement."""


def run_task(
    task: Task, folder: Path, listen: Callable[[Progress], None], ended: Callable[[Outcome], None]
) -> None:
    """Search for one workload, keep the decision in the folder's store, and report.

    `ended` hears of the outcome twice: as soon as there is one, and again with what was made for
    the deployment afterwards, which a provider may fail at.
    """
    from ortsel.builder.task_search import search_task

    layout.prepare(folder)
    started_ns = time.monotonic_ns()
    outcome, warm = search_task(task, folder / layout.STORE_NAME, listen)
    elapsed_s = (time.monotonic_ns() - started_ns) / SECOND_NS
    outcome = attrs.evolve(outcome, elapsed_s=elapsed_s, host=platform.node())
    ended(outcome)
    if outcome.status is Status.DECIDED:
        ended(attrs.evolve(outcome, warmed=warm(folder)))


def main() -> int:
    """Do the task on stdin; the only argument is the output folder."""
    channel = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    task = task_from_text(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, args=(sys.stdin.fileno(),), daemon=True).start()
    send = _Sender(channel)
    try:
        run_task(task, Path(sys.argv[1]), send.progress, send.outcome)
    except Exception as error:
        from ortsel.cli.one_line import one_line

        reason = one_line(f"{type(error).__name__}: {error}")
        send.outcome(Outcome(task.id, Status.FAILED, reason, host=platform.node()))
        raise
    finally:
        channel.close()
    return 0


class _Sender:
    """Writes messages, each a line."""

    def __init__(self, channel: IO[str]) -> None:
        self._channel = channel
        self._told_ns = -TELL_NS

    def progress(self, progress: Progress) -> None:
        if progress.elapsed_ns - self._told_ns < TELL_NS:
            return
        self._told_ns = progress.elapsed_ns
        self._send({"progress": attrs.asdict(progress) | {"stage": progress.stage.value}})

    def outcome(self, outcome: Outcome) -> None:
        self._send({"outcome": outcome_document(outcome)})

    def _send(self, message: dict[str, Any]) -> None:
        self._channel.write(json.dumps(message, ensure_ascii=True) + "\n")
        self._channel.flush()


def _end_with_parent(stdin: int) -> None:
    while os.read(stdin, 4096):  # not through sys.stdin, whose lock the interpreter's end needs
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
