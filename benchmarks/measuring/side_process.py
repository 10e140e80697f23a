"""A process that runs one model in one way, and times a block of calls when it is told to."""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any, Final, Self

from attrs import define

from benchmarks.measuring.cases import ROOT

REST_S: Final = 0.05
"""Until the threads of the side that was timed have stopped spinning."""


@define
class SideProcess:
    """Answers lines of JSON: one once it is ready, and one for each block of calls."""

    name: str
    process: "subprocess.Popen[str]"
    said: dict[str, Any]
    """Its newest answer."""
    calls: int = 1
    """Of a block."""

    @classmethod
    def open(cls, name: str, module: str, arguments: Sequence[str]) -> Self:
        """Start a module and wait until it is ready."""
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )
        side = cls(name, process, {})
        side._read()
        return side

    def median_ns(self) -> float:
        """Time a block of calls. Raises `RuntimeError` where the process ended instead."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{self.calls}\n")
        self.process.stdin.flush()
        self._read()
        time.sleep(REST_S)
        return float(statistics.median(self.said["times_ns"]))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _read(self) -> None:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            reason = f"{self.name} ended with status {self.process.wait()}"
            raise RuntimeError(reason)
        self.said = json.loads(line)
