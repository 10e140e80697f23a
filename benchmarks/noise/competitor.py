"""A process that keeps one core busy while it lasts."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BUSY = "while True: pass"


@contextmanager
def competitor() -> Iterator[None]:
    """Have another process compute all the time, on whichever core the system gives it."""
    with subprocess.Popen([sys.executable, "-S", "-c", BUSY]) as process:
        try:
            yield
        finally:
            process.kill()
