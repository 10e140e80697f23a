"""An implementation in a process of its own, at the other end of two pipes.

Reads and writes wait in one `select`, so an implementation that neither reads nor writes, or writes
without end, costs the time limit and nothing else. Needs pipes that `select` can watch (POSIX).
"""

import os
import selectors
import shlex
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Final

from conformance.protocol.fault import ConversationError, Fault, Stage
from conformance.protocol.transport import Limits

CHUNK_BYTES: Final = 2**16
STDERR_BYTES: Final = 4096
END_S: Final = 5.0
"""How long a process that closed its output may take to end."""


class Process:
    """A `Transport` to a started command."""

    def __init__(self, command: Sequence[str], limits: Limits) -> None:
        self._limits = limits
        self._received = b""
        self._stderr = b""
        self._at_end = False
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            got = f"{shlex.join(command)}: {error.strerror or error}"
            need = "a command that starts"
            raise ConversationError(Stage.START, Fault.STARTS, got, need) from error
        self._stdin, self._stdout = _pipe(self._process.stdin), _pipe(self._process.stdout)
        self._errors = _pipe(self._process.stderr)
        for pipe in (self._stdin, self._stdout, self._errors):
            os.set_blocking(pipe.fileno(), False)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._selector.register(self._errors, selectors.EVENT_READ)

    def send(self, line: str) -> None:
        """Write one line, reading meanwhile, within the time limit."""
        rest = memoryview(line.encode())
        deadline = time.monotonic() + self._limits.answer_s
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            rest = rest[os.write(self._stdin.fileno(), rest) :]
        if not rest:
            return
        self._selector.register(self._stdin, selectors.EVENT_WRITE)
        try:
            while rest:
                writable = self._wait(deadline, "the line to be read")
                if writable:
                    rest = rest[os.write(self._stdin.fileno(), rest) :]
        except (BrokenPipeError, ConnectionResetError):
            return  # It is gone; `receive` tells what it left.
        finally:
            self._selector.unregister(self._stdin)

    def receive(self) -> str | None:
        """Return the next line, or None at the end of the output."""
        deadline = time.monotonic() + self._limits.answer_s
        while True:
            end = self._received.find(b"\n")
            if end < 0 and len(self._received) > self._limits.line_bytes:
                end = len(self._received)
            if end > self._limits.line_bytes:
                raise self._too_long()
            if end >= 0:
                line, self._received = self._received[:end], self._received[end + 1 :]
                return line.decode("utf-8", "backslashreplace")
            if self._at_end:
                if not self._received:
                    return None
                line, self._received = self._received, b""
                return line.decode("utf-8", "backslashreplace")
            self._wait(deadline, "an answer")

    def pending(self) -> bool:
        """Say whether unread output is here already."""
        if not self._received and not self._at_end:
            self._read_what_is_there(0)
        return bool(self._received)

    def close_input(self) -> None:
        """Close its standard input."""
        with suppress(BrokenPipeError):
            self._stdin.close()

    def finish(self) -> int | None:
        """Close its input and return its exit status."""
        self.close_input()
        try:
            status = self._process.wait(END_S)
        except subprocess.TimeoutExpired as error:
            got, need = f"a process that still runs after {END_S} s", "its end"
            raise self._error(Stage.TIME_LIMIT, Fault.TIME, got, need) from error
        self._drain_errors()
        return status

    def stop(self) -> None:
        """Kill it and everything it started in its session."""
        if self._process.poll() is None:
            try:
                os.killpg(self._process.pid, 9)
            except ProcessLookupError:
                self._process.kill()
        self._process.wait()
        self._selector.close()
        for pipe in (self._stdin, self._stdout, self._errors):
            try:
                pipe.close()
            except BrokenPipeError:
                continue

    def stderr_tail(self) -> str:
        """Return the last lines of standard error."""
        return self._stderr.decode("utf-8", "backslashreplace").strip()

    def _wait(self, deadline: float, need: str) -> bool:
        """Wait for anything to happen; say whether the input can be written."""
        left_s = deadline - time.monotonic()
        writable = left_s > 0 and self._read_what_is_there(left_s)
        if not writable and time.monotonic() >= deadline:
            got = f"nothing within {self._limits.answer_s:g} s"
            raise self._error(Stage.TIME_LIMIT, Fault.TIME, got, need)
        return writable

    def _read_what_is_there(self, wait_s: float) -> bool:
        writable = False
        for key, _ in self._selector.select(wait_s):
            if key.fileobj is self._stdin:
                writable = True
                continue
            got = os.read(key.fd, CHUNK_BYTES)
            if not got:
                self._selector.unregister(key.fileobj)
            if key.fileobj is self._errors:
                self._stderr = (self._stderr + got)[-STDERR_BYTES:]
                continue
            self._at_end = not got
            self._received += got
            if len(self._received) > self._limits.line_bytes + CHUNK_BYTES:
                raise self._too_long()
        return writable

    def _drain_errors(self) -> None:
        while self._errors in {key.fileobj for key in self._selector.get_map().values()}:
            got = os.read(self._errors.fileno(), CHUNK_BYTES) if self._is_readable() else b""
            if not got:
                return
            self._stderr = (self._stderr + got)[-STDERR_BYTES:]

    def _is_readable(self) -> bool:
        return any(key.fileobj is self._errors for key, _ in self._selector.select(0))

    def _too_long(self) -> ConversationError:
        size = len(self._received)
        got, need = f"{size} bytes without an end", f"at most {self._limits.line_bytes}"
        return self._error(Stage.PROTOCOL, Fault.SIZE, got, need)

    def _error(self, stage: Stage, fault: Fault, got: str, need: str) -> ConversationError:
        return ConversationError(stage, fault, got, need, self.stderr_tail())


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None, "asked for with PIPE"
    return pipe
