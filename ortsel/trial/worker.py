"""The child of a rig: one process, one session, one plan.

Commands come in over standard input and replies go out over what was standard output; standard
output itself is joined to standard error first, because ONNX Runtime prints to it.
"""

import contextlib
import gc
import logging
import os
import queue
import select
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import numpy as np

from ortsel.trial.calling import Caller, Calling, WayOfCalling, make_caller
from ortsel.trial.frames import MAGIC, FrameError, read_frame, write_frame
from ortsel.trial.freezing import wake_when_parent_ends
from ortsel.trial.interpreter import PARENT_VARIABLE
from ortsel.trial.messages import (
    Envelope,
    Failed,
    Hello,
    Load,
    Loaded,
    MeasureCalls,
    Park,
    Parked,
    Quit,
    Ran,
    Reply,
    RunOnce,
    Timed,
    envelope_from_json,
    reply_to_json,
)
from ortsel.trial.parking import park
from ortsel.trial.values import read_values, write_values

if TYPE_CHECKING:
    import onnxruntime

_logger: Final = logging.getLogger(__name__)

PARENT_CHECK_S: Final = 1.0
"""How often the child looks whether its parent is still the one that started it."""

ORPHANED_S: Final = 5.0
"""How long after the end of its commands a child waits for its parent to be gone: a system closes
the descriptors of a dying process first."""

LOOK_NS: Final = 200_000
"""How long calls may go on, roughly, until the clock is read again: reading it and turning the loop
takes well under a hundredth of that."""

MOST_TEXT: Final = 4000
"""Characters of an error that are passed on; some of ONNX Runtime's quote whole graphs."""


class Worker:
    """Executes commands, one after the other."""

    def __init__(self) -> None:
        self._session: onnxruntime.InferenceSession | None = None
        self._names: tuple[str, ...] = ()
        self._feeds: tuple[str, ...] = ()
        self._calling: WayOfCalling = Calling.NUMPY
        self._callers: dict[int, Caller] = {}
        self._stage = ""

    def answer(self, envelope: Envelope) -> Reply | None:
        """Return the reply, or None when the command is to quit."""
        command = envelope.command
        try:
            if isinstance(command, Load):
                return self._load(command)
            if isinstance(command, RunOnce):
                return self._run(command)
            if isinstance(command, MeasureCalls):
                return self._measure(command)
            if isinstance(command, Park):
                return Parked(*park(envelope.park_most_ns), peak_resident_bytes())
        except Exception as error:
            _logger.exception("stage %s", self._stage)
            return Failed(self._stage, type(error).__name__, str(error)[:MOST_TEXT])
        return None

    def _load(self, command: Load) -> Loaded:
        from ortsel.plan_session import build_plan_session
        from ortsel.session_builder import build_session, nodes_by_provider

        model = command.model
        if self._session is not None:  # one session at a time, whoever asks for the next
            self._session, self._callers = None, {}
            gc.unfreeze()
            gc.collect()
        started = time.perf_counter_ns()
        if command.variant_target:
            self._stage = "variant"
            from ortsel.graph_variants import build_variant

            build_variant(command.plan.variant, Path(model), Path(command.variant_target))
            model = command.variant_target
        built = time.perf_counter_ns()
        self._stage = "build"
        with warnings.catch_warnings(action="ignore"):  # that the user's own session gave already
            if command.verify_providers:
                beside = Path(command.feeds[0]).parent
                session = build_plan_session(Path(model), command.plan, beside)
            else:
                session = build_session(model, command.plan, verify_providers=False)
        created = time.perf_counter_ns()
        self._session = session
        self._stage = "feeds"
        self._names = command.output_names or tuple(output.name for output in session.get_outputs())
        self._feeds, self._calling = command.feeds, command.calling
        self._caller(0)
        gc.collect()
        gc.freeze()  # so that the collection before each measurement finds next to nothing
        return Loaded(
            tuple(session.get_providers()),
            nodes_by_provider(session),
            self._names,
            built - started,
            created - built,
            peak_resident_bytes(),
        )

    def _caller(self, feed: int) -> Caller:
        """Return the caller of a feed, read at the first need: some are never used."""
        if feed not in self._callers:
            assert self._session is not None
            self._stage = "feeds"
            values = read_values(Path(self._feeds[feed]))
            owned = {name: _owned(value) for name, value in values.items()}
            self._callers[feed] = make_caller(self._session, owned, self._names, self._calling)
        return self._callers[feed]

    def _run(self, command: RunOnce) -> Ran:
        caller = self._caller(command.feed)
        self._stage = "run"
        started = time.perf_counter_ns()
        outputs = caller.outputs()
        latency_ns = time.perf_counter_ns() - started
        write_values(Path(command.target), dict(zip(self._names, outputs, strict=True)))
        return Ran(latency_ns, peak_resident_bytes())

    def _measure(self, command: MeasureCalls) -> Timed:
        callers = [self._caller(index).call for index in range(command.feeds)]
        self._stage = "run"
        wake_until = time.perf_counter_ns() + command.wake_ns
        callers[0]()
        while time.perf_counter_ns() < wake_until:
            callers[0]()
        gc.collect()
        gc.disable()  # a collection in one of the two sides would be taken for the plan's doing
        try:
            switches = _context_switches()
            cpu = time.process_time_ns()
            began = time.perf_counter_ns()
            if command.gap_ns:
                calls, total_ns = spaced_calls(
                    callers, command.calls, command.most_ns, command.gap_ns
                )
            else:
                calls, total_ns = timed_calls(callers, command.calls, command.most_ns)
            span_ns = time.perf_counter_ns() - began
            cpu_ns = time.process_time_ns() - cpu
            later = _context_switches()
        finally:
            gc.enable()
        return Timed(
            calls,
            total_ns,
            span_ns,
            cpu_ns,
            later[0] - switches[0],
            later[1] - switches[1],
            peak_resident_bytes(),
        )


def timed_calls(
    callers: Sequence[Callable[[], None]],
    calls: int,
    most_ns: int,
    clock: Callable[[], int] = time.perf_counter_ns,
) -> tuple[int, int]:
    """Call so many times, callers in turn, and return how many calls took how long.

    Ends early after `most_ns`. The clock is read once in a while only: read after every call, it
    would be some percent of a call that takes microseconds.
    """
    done, batch = 0, 1
    started = now = clock()
    limit = started + most_ns
    while done < calls and now < limit:
        batch = min(batch, calls - done)
        for call in islice(cycle(callers), done % len(callers), done % len(callers) + batch):
            call()
        done += batch
        before, now = now, clock()
        if (now - before) * 2 < LOOK_NS:
            batch *= 2
    return done, now - started


def spaced_calls(
    callers: Sequence[Callable[[], None]],
    calls: int,
    most_ns: int,
    gap_ns: int,
    clock: Callable[[], int] = time.perf_counter_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> tuple[int, int]:
    """Sleep before each call and time the calls alone; end early once they took `most_ns`."""
    done = total_ns = 0
    while done < calls and total_ns < most_ns:
        sleep(gap_ns / 1e9)
        call = callers[done % len(callers)]
        started = clock()
        call()
        total_ns += clock() - started
        done += 1
    return done, total_ns


def _owned(value: object) -> object:
    """Copy arrays out of the mapped file: callers hold their feeds in memory of their own."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return [_owned(item) for item in value] if isinstance(value, list) else value


def peak_resident_bytes() -> int:
    """Return the most memory that this process held so far; 0 where the system does not say."""
    # Linux's `getrusage` remembers the parent, whose memory this process was started with.
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "VmHWM":
                return int(rest.split()[0]) * 1024
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _context_switches() -> tuple[int, int]:
    try:
        import resource
    except ImportError:
        return 0, 0
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


def _arm_alarm(seconds: int) -> None:
    """Let the system end this process later, even where a hanging call never gives up Python."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _read_commands(
    stream: BinaryIO, commands: "queue.Queue[Envelope]", scratch: Path, outer: Path | None
) -> None:
    """Hand over commands until the parent is gone, then end the process, whatever it is doing."""
    parent = int(os.environ.get(PARENT_VARIABLE, os.getppid()))
    try:
        while True:
            if hasattr(select, "poll"):
                poll = select.poll()
                poll.register(stream, select.POLLIN)
                while not poll.poll(PARENT_CHECK_S * 1000):
                    if os.getppid() != parent:
                        _end_orphan(parent, scratch, outer)
            message = read_frame(stream)
            if message is None:
                break
            commands.put(envelope_from_json(message))
    except (FrameError, OSError) as error:
        _logger.warning("no further command: %s", error)
    _end_orphan(parent, scratch, outer)


def _end_orphan(parent: int, scratch: Path, outer: Path | None) -> None:
    """The parent ended without closing: nobody else removes what the trial left behind.

    The outer folder is not the trial's: as long as the parent lives, it may be in use.
    """
    shutil.rmtree(scratch, ignore_errors=True)
    if outer is not None:
        until = time.monotonic() + ORPHANED_S
        while os.getppid() == parent and time.monotonic() < until:
            time.sleep(0.01)
        if os.getppid() != parent:
            shutil.rmtree(outer, ignore_errors=True)
    os._exit(0)


def _prepare_process(nice: int, address_space_bytes: int) -> BinaryIO:
    """Return the stream for replies; from here on, prints go where errors go."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    with contextlib.suppress(OSError):
        # Where memory runs out for the whole machine, the trial goes before the server.
        Path("/proc/self/oom_score_adj").write_text("1000")
    if nice and hasattr(os, "nice"):
        os.nice(nice)
        with contextlib.suppress(OSError):
            # A session of its own may be a group of its own, inside which alone `nice` counts.
            Path("/proc/self/autogroup").write_text(str(nice))
    _limit_resources(address_space_bytes)
    return replies


def _limit_resources(address_space_bytes: int) -> None:
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is expected here, its dump is not
    if address_space_bytes:
        resource.setrlimit(resource.RLIMIT_AS, (address_space_bytes, address_space_bytes))


def _answer_commands(
    commands: "queue.Queue[Envelope]", replies: BinaryIO, make_worker: Callable[[], Worker]
) -> None:
    """Greet, then answer until told to quit."""
    import onnxruntime

    import ortsel.trial

    replies.write(MAGIC)
    hello = Hello(
        os.getpid(),
        onnxruntime.__version__,
        str(onnxruntime.__file__),
        str(ortsel.trial.__file__),
        wake_when_parent_ends(),
    )
    write_frame(replies, reply_to_json(hello))
    worker = make_worker()
    while True:
        envelope = commands.get()
        if isinstance(envelope.command, Quit):
            break
        _arm_alarm(envelope.alarm_s)
        reply = worker.answer(envelope)
        _arm_alarm(0)
        if reply is not None:
            write_frame(replies, reply_to_json(reply))


def main(arguments: Sequence[str], make_worker: Callable[[], Worker] = Worker) -> None:
    """Greet, then answer commands until told to quit or left alone."""
    scratch, nice, address_space_bytes = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    outer = next((Path(argument) for argument in arguments[3:]), None)
    replies = _prepare_process(nice, address_space_bytes)
    # Unbuffered: a poll sees only what no buffer has swallowed.
    commands_in = os.fdopen(os.dup(0), "rb", buffering=0)
    commands: queue.Queue[Envelope] = queue.Queue()
    # Before the imports: at the lowest priority of a busy machine they take seconds, in which a
    # parent that ended is not to be missed.
    reader = threading.Thread(
        target=_read_commands, args=(commands_in, commands, scratch, outer), daemon=True
    )
    reader.start()
    try:
        _answer_commands(commands, replies, make_worker)
    except OSError as error:
        _logger.warning("nobody reads the replies: %s", error)
        reader.join(ORPHANED_S)  # it sees that the parent is gone, and what to remove
    # Not through the interpreter's shutdown: destroying a session may hang or crash, and the
    # trial is over.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
