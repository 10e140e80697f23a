"""Waiting until this process's threads sleep.

After a call the threads of ONNX Runtime's pools spin for some tens of milliseconds, in case more
work comes. Whoever measures beside a spinning pool measures the pool.
"""

import threading
import time
from pathlib import Path
from typing import Final

STEP_S: Final = 0.004
"""Between two looks: short against the spinning, long against what a look costs."""

QUIET_STEPS: Final = 2
"""Quiet looks in a row; a thread may sleep for a moment between two tries."""

SHARE: Final = 8
"""Quiet means: over one step, all threads together used less than a step divided by this."""

_TASKS: Final = Path("/proc/self/task")


def park(most_ns: int) -> tuple[int, bool]:
    """Wait until no thread but this one runs or wants to; return how long that took and whether.

    Processor time alone does not tell: on a busy machine a spinning thread may just not have its
    turn. Where the system says which threads want to run, that is asked as well.
    """
    started = before = quiet_since = time.perf_counter_ns()
    cpu_ns = time.process_time_ns()
    quiet = 0
    while True:
        time.sleep(STEP_S)
        now, used_ns = time.perf_counter_ns(), time.process_time_ns()
        if (used_ns - cpu_ns) * SHARE < now - before and not _others_want_to_run():
            quiet += 1
        else:
            quiet, quiet_since = 0, now
        if quiet >= QUIET_STEPS:
            return quiet_since - started, True
        if now - started > most_ns:
            return now - started, False
        before, cpu_ns = now, used_ns


def _others_want_to_run() -> bool:
    """Return whether another thread is running or waits for a processor; False where unknown."""
    own = str(threading.get_native_id())
    try:
        tasks = [task for task in _TASKS.iterdir() if task.name != own]
    except OSError:
        return False
    return any(_wants_to_run(task / "stat") for task in tasks)


def _wants_to_run(stat: Path) -> bool:
    try:
        line = stat.read_text()
    except OSError:  # it ended meanwhile
        return False
    # The name in parentheses may hold anything; the state is the word after the last of them.
    return line.rpartition(")")[2].split()[0] == "R"
