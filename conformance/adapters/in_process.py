"""A harness in this interpreter: what would be its program runs in a thread, on two queues.

A harness is a function of its input lines and of what writes a line, so one function serves as a
program (`main(sys.stdin, sys.stdout.write)`) and here. What a process can do and a thread can't,
such as dying by a signal, needs `conformance.adapters.Process`.
"""

import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Final, Self, TypeAlias

from conformance.protocol.fault import ConversationError, Fault, Stage
from conformance.protocol.transport import Limits

Main: TypeAlias = Callable[[Iterator[str], Callable[[str], object]], None]
QUEUED_LINES: Final = 64
"""Answers that nobody has read. A harness that writes without end waits here."""


class _Stopped(BaseException):
    """Ends the harness's thread from within."""


class _Outliving:
    """Keeps whatever a harness raises, as a process's end keeps it from the suite."""

    error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self.error = error
        return True


class InProcess:
    """A `Transport` to a harness's main function."""

    def __init__(self, main: Main, limits: Limits) -> None:
        self._limits = limits
        self._questions: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._answers: queue.Queue[str | None] = queue.Queue(QUEUED_LINES)
        self._partial = ""
        self._ahead: list[str | None] = []
        self._traceback = ""
        self._is_stopped = False
        self._thread = threading.Thread(target=self._run, args=(main,), daemon=True)
        self._thread.start()

    def send(self, line: str) -> None:
        """Hand one line to the harness."""
        self._questions.put(line)

    def receive(self) -> str | None:
        """Return the next line, or None when the harness has returned."""
        if self._ahead:
            return self._ahead.pop()
        try:
            line = self._answers.get(timeout=self._limits.answer_s)
        except queue.Empty:
            got = f"nothing within {self._limits.answer_s:g} s"
            raise ConversationError(Stage.TIME_LIMIT, Fault.TIME, got, "an answer") from None
        if line is not None and len(line) > self._limits.line_bytes:
            got, need = f"{len(line)} bytes", f"at most {self._limits.line_bytes}"
            raise ConversationError(Stage.PROTOCOL, Fault.SIZE, got, need)
        return line

    def pending(self) -> bool:
        """Say whether a line waits that nobody asked for."""
        if not self._ahead and not self._answers.empty():
            self._ahead.append(self._answers.get())
        return bool(self._ahead) and self._ahead[-1] is not None

    def close_input(self) -> None:
        """End the harness's lines."""
        self._questions.put(None)

    def finish(self) -> int | None:
        """Wait for the harness to return; 1 where it raised."""
        self._questions.put(None)
        self._thread.join(self._limits.answer_s)
        return 1 if self._traceback else 0

    def stop(self) -> None:
        """Let the harness end at its next read or write."""
        self._is_stopped = True
        self._questions.put(None)
        while not self._answers.empty():
            self._answers.get()

    def stderr_tail(self) -> str:
        """Return the traceback of what the harness raised."""
        return self._traceback

    def _run(self, main: Main) -> None:
        with _Outliving() as whatever:
            main(self._lines(), self._write)
        if isinstance(whatever.error, _Stopped):
            return
        if whatever.error is not None:
            self._traceback = "".join(traceback.format_exception(whatever.error, limit=-3))
        if self._partial:
            self._answers.put(self._partial)
        self._answers.put(None)

    def _lines(self) -> Iterator[str]:
        while (line := self._questions.get()) is not None:
            yield line

    def _write(self, text: str) -> None:
        if self._is_stopped:
            raise _Stopped
        *lines, self._partial = (self._partial + text).split("\n")
        for line in lines:
            self._answers.put(line)
        if len(self._partial) > self._limits.line_bytes:
            self._answers.put(self._partial)
            raise _Stopped
