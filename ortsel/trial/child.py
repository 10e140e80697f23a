"""The parent's end of a child process: start it, ask it, watch it, end it."""

import contextlib
import errno
import os
import queue
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Final

import psutil
from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.trial.errors import TrialsUnavailableError
from ortsel.trial.frames import FrameError, read_frame, skip_to_magic, write_frame
from ortsel.trial.freezing import freeze, thaw
from ortsel.trial.interpreter import (
    PARENT_VARIABLE,
    WORKER_MODULE,
    worker_command,
    worker_environment,
)
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.memory import available_memory_bytes
from ortsel.trial.messages import (
    Command,
    Envelope,
    Failed,
    Hello,
    Quit,
    Reply,
    envelope_to_json,
    reply_from_json,
)

WATCH_S: Final = 0.05
"""How often a waiting parent looks at the clock and at the child's memory."""

ALARM_MARGIN_S: Final = 5
"""By how much the child's own alarm is later than the parent's limit."""

GRACE_S: Final = 2.0
"""How long a child may take to end by itself when it is closed."""

MOST_LINE: Final = 200
"""Characters of a child's last line that an error quotes."""

PASSING: Final = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})
"""Errors of starting a process that say how full the machine is, not what it can do."""


@frozen
class ChildError(OrtselError):
    """The child did not answer. It is dead when this is raised."""

    log: str
    """Last lines that it printed."""


@frozen
class ChildNotStartedError(ChildError):
    """The machine or this process has no room for another process at the moment."""

    reason: str


@frozen
class ChildDiedError(ChildError):
    """It ended by itself."""

    exit_code: int
    """Negative: the number of the signal."""


@frozen
class ChildHungError(ChildError):
    """It took longer than such a command may, and was killed."""

    limit_ns: int


@frozen
class ChildCutError(ChildError):
    """The deadline came first, or nobody wants the answer any more, and it was killed."""

    waited_ns: int


@frozen
class ChildTooBigError(ChildError):
    """It took more memory than it may, and was killed."""

    resident_bytes: int
    limit_bytes: int


@frozen
class ChildConfusedError(ChildError):
    """It answered something that is no answer, and was killed."""

    reason: str


@frozen
class CommandFailedError(OrtselError):
    """The command raised in the child, which lives on."""

    failed: Failed


class Child:
    """One running worker. Not thread-safe."""

    def __init__(
        self,
        scratch: Path,
        name: str,
        limits: TrialLimits,
        deadline_ns: int,
        outer_scratch: Path | None = None,
        worker: str = WORKER_MODULE,
    ) -> None:
        """Start a worker, the module of that name, and wait for its greeting.

        Should this process end without closing, the worker removes `scratch` and `outer_scratch`.

        Raises `TrialsUnavailableError` where none can be started, `ChildNotStartedError` where
        there is no room for one now, `ChildCutError` at the deadline.
        """
        self._limits = limits
        self._may_be_stopped = self._is_stopped = False
        self._log = scratch / f"{name}.log"
        self._answers: queue.Queue[object] = queue.Queue()
        command = [*worker_command(module=worker), str(scratch), str(limits.niceness)]
        command.append(str(limits.address_space_bytes or 0))
        command.extend([] if outer_scratch is None else [str(outer_scratch)])
        try:
            share = int(available_memory_bytes() * limits.memory_share)
            self._memory_bytes = limits.memory_bytes or share
            self._process = self._started(command)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            if error.errno in PASSING:
                raise ChildNotStartedError("", reason) from error
            got = f"{command[0]}: {reason}"
            raise TrialsUnavailableError(got, "to start an interpreter") from error
        self._owner = os.getpid()
        try:
            assert self._process.stdout is not None
            self._reader = threading.Thread(
                target=_read_answers,
                args=(self._process.stdout, self._answers),
                name="ortsel-trial-reader",
                daemon=True,
            )
            self._reader.start()
            self._greet(deadline_ns)
        except BaseException:
            self.kill()
            raise

    def _started(self, command: list[str]) -> "subprocess.Popen[bytes]":
        with self._log.open("ab") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=worker_environment() | {PARENT_VARIABLE: str(os.getpid())},
                # Ctrl-C in a terminal is for the user's program, not for the trial.
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )

    @property
    def pid(self) -> int:
        """Process identity."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it can be asked anything."""
        return self._process.poll() is None

    def cpu_time_ns(self) -> int:
        """Return the processor time of all its threads so far."""
        try:
            times = psutil.Process(self.pid).cpu_times()
        except psutil.Error:  # it ended meanwhile
            return 0
        seconds: float = times.user + times.system
        return int(seconds * SECOND_NS)

    def freeze(self) -> bool:
        """Stop all its threads until it is asked again; return whether they have stopped.

        False where the system cannot wake it should this process end: then it is not stopped.
        """
        if not self._may_be_stopped or os.getpid() != self._owner:
            return False
        self._is_stopped = True
        return freeze(self.pid)

    def _thaw(self) -> None:
        if self._is_stopped:
            self._is_stopped = False
            thaw(self.pid)

    def ask(self, command: Command, limit_ns: int, deadline_ns: int) -> Reply:
        """Send a command and return the reply.

        Raises `CommandFailedError` when the command raised, and a `ChildError` otherwise; the child
        is dead then.
        """
        self._thaw()
        try:
            alarm_s = limit_ns // SECOND_NS + ALARM_MARGIN_S
            envelope = Envelope(command, alarm_s, self._limits.park_most_ns)
            assert self._process.stdin is not None
            # A dead child's pipe is closed; the wait below tells how it died.
            with contextlib.suppress(BrokenPipeError):
                write_frame(self._process.stdin, envelope_to_json(envelope))
            reply = self._wait(limit_ns, deadline_ns)
        except BaseException:
            self.kill()
            raise
        if isinstance(reply, Failed):
            raise CommandFailedError(reply)
        return reply

    def close(self) -> None:
        """Let it end, or end it; returns when it is gone."""
        if os.getpid() != self._owner:
            return  # a fork of the process that started it
        self._thaw()
        if self.alive and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                write_frame(self._process.stdin, envelope_to_json(Envelope(Quit(), 0, 0)))
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
        self.kill()

    def kill(self) -> None:
        """End it now, with everything it started; returns when it is gone."""
        if os.getpid() != self._owner:
            return
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._process.wait()
        if hasattr(self, "_reader"):
            self._reader.join(GRACE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _greet(self, deadline_ns: int) -> None:
        import onnxruntime

        import ortsel.trial

        need = "a worker that greets"
        try:
            hello = self._wait(self._limits.start_ns, deadline_ns)
        except (ChildDiedError, ChildHungError, ChildConfusedError) as error:
            self.kill()
            raise TrialsUnavailableError(self._in_one_line(error), need) from error
        if not isinstance(hello, Hello):
            raise TrialsUnavailableError(got=f"{hello!r}", need=need)
        self._may_be_stopped = hello.may_be_stopped
        ours = (onnxruntime.__version__, str(onnxruntime.__file__), str(ortsel.trial.__file__))
        theirs = (hello.onnxruntime_version, hello.onnxruntime_file, hello.ortsel_file)
        if ours != theirs:
            raise TrialsUnavailableError(
                got=f"a worker with {theirs}", need=f"the same as here: {ours}"
            )

    def _in_one_line(self, error: ChildError) -> str:
        """Say what happened in the same words each time: whoever warns once compares them."""
        if isinstance(error, ChildDiedError):
            what = f"one that ended with exit code {error.exit_code}"
        elif isinstance(error, ChildHungError):
            what = f"none within {error.limit_ns // SECOND_NS} s"
        else:
            what = "one that says something else"
        lines = error.log.replace(str(self._log.parent), "its folder").splitlines()
        return f"{what}; last printed: {lines[-1].strip()[:MOST_LINE]}" if lines else what

    def _wait(self, limit_ns: int, deadline_ns: int) -> Reply:
        started = time.monotonic_ns()
        while True:
            now = time.monotonic_ns()
            ends = min(started + limit_ns, deadline_ns)
            wait_s = max(0.0, min(WATCH_S, (ends - now) / SECOND_NS))
            try:
                answer = self._answers.get(timeout=wait_s)
            except queue.Empty:
                self._watch(started, limit_ns, deadline_ns)
                continue
            if answer is None:
                self._process.wait()
                raise ChildDiedError(self.log_tail(), self._process.returncode)
            if isinstance(answer, FrameError):
                self.kill()
                raise ChildConfusedError(self.log_tail(), str(answer))
            try:
                return reply_from_json(answer)
            except Exception as error:
                self.kill()
                raise ChildConfusedError(self.log_tail(), f"{answer!r:.200}") from error

    def _watch(self, started_ns: int, limit_ns: int, deadline_ns: int) -> None:
        now = time.monotonic_ns()
        if self._limits.stop_asked():
            self.kill()
            raise ChildCutError(self.log_tail(), now - started_ns)
        if now >= min(started_ns + limit_ns, deadline_ns):
            self.kill()
            if started_ns + limit_ns <= deadline_ns:
                raise ChildHungError(self.log_tail(), limit_ns)
            raise ChildCutError(self.log_tail(), now - started_ns)
        with contextlib.suppress(psutil.Error):
            resident = psutil.Process(self.pid).memory_info().rss
            if resident > self._memory_bytes:
                self.kill()
                raise ChildTooBigError(self.log_tail(), resident, self._memory_bytes)
        # The child appends, so a log that is cut short goes on from its new end.
        if self._log.stat().st_size > self._limits.log_bytes:
            os.truncate(self._log, 0)

    def log_tail(self, characters: int = 2000) -> str:
        """Return the end of what it printed."""
        try:
            with self._log.open("rb") as file:
                file.seek(max(0, self._log.stat().st_size - characters))
                return file.read(characters).decode(errors="replace").strip()
        except OSError:
            return ""


def _read_answers(stream: IO[bytes], answers: "queue.Queue[object]") -> None:
    """Put every message into the queue, then None for the end or the error that ended it."""
    try:
        skip_to_magic(stream)
        while (message := read_frame(stream)) is not None:
            answers.put(message)
    except FrameError as error:
        answers.put(error if "greeting" not in error.need else None)
    except (OSError, ValueError):
        answers.put(None)
    else:
        answers.put(None)
