"""Stopping a child that waits, so that none of its threads runs until it is asked again.

After a call the threads of ONNX Runtime's pools spin for some tens of milliseconds, in case more
work comes. Waiting for that is most of what a search would cost; a stopped process (SIGSTOP) rests
at once, whatever its threads were doing, and goes on where it was (SIGCONT).

A process cannot see while it is stopped that its parent is gone. Linux sends it a signal then, if
it asked for one: it asks to be woken, sees that its commands ended, and cleans up.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final

SET_PARENT_DEATH_SIGNAL: Final = 1
"""`PR_SET_PDEATHSIG` of Linux's `prctl`."""
MOST_S: Final = 0.05
"""How long threads may take to stop: one that is in the kernel finishes there first."""
LOOK_S: Final = 0.0001
STOPPED: Final = frozenset("TtZX")
"""States of a thread that does not run: stopped, traced, or ended."""


def wake_when_parent_ends() -> bool:
    """Ask the system to wake this process when its parent ends; return whether it will.

    The parent is the thread that started the process. If that thread ends first, the process is
    woken for nothing, and runs on.
    """
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError, AttributeError):
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        return bool(prctl(SET_PARENT_DEATH_SIGNAL, int(signal.SIGCONT), 0, 0, 0) == 0)
    return False


def freeze(pid: int) -> bool:
    """Stop a process that asked to be woken; return whether all its threads have stopped."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except OSError:  # it ended meanwhile, and rests
        return True
    until = time.monotonic() + MOST_S
    while not _rests(pid):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)
    return True


def thaw(pid: int) -> None:
    """Let a stopped process go on."""
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGCONT)


def _rests(pid: int) -> bool:
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return True
    return all(_state(task / "stat") in STOPPED for task in tasks)


def _state(stat: Path) -> str:
    try:
        line = stat.read_text()
    except OSError:  # it ended meanwhile
        return "X"
    # The name in parentheses may hold anything; the state is the word after the last of them.
    return line.rpartition(")")[2].split()[0]
