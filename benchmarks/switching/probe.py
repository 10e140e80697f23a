"""A cheap probe of the machine: two processes that only compute, alone and together.

Two virtual CPUs that share a physical core make each of two computing processes slower, and leave
one alone as it is. So the time together over the time alone may tell the machine's state, without
any model. Whether it does is what the benchmark reports.
"""

import os
import subprocess
import sys
from types import TracebackType
from typing import Self

from attrs import define, field

from benchmarks.measuring.cases import ROOT

MILLISECONDS = 5
SINGLE = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def _started() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "benchmarks.switching.probe_worker"]
    environment = {**os.environ, **dict.fromkeys(SINGLE, "1")}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT
    )


@define
class Probe:
    """Two processes that wait to compute. A context manager."""

    _workers: tuple["subprocess.Popen[bytes]", ...] = field(
        factory=lambda: (_started(), _started())
    )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers:
            worker.kill()
            worker.communicate()

    def take(self) -> tuple[float, float]:
        """Return nanoseconds a product: of one process alone, and the mean of both together."""
        alone = self._asked(self._workers[:1])
        return alone, self._asked(self._workers)

    def _asked(self, workers: tuple["subprocess.Popen[bytes]", ...]) -> float:
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write(bytes([MILLISECONDS]))
            worker.stdin.flush()
        answers = []
        for worker in workers:
            assert worker.stdout is not None
            answers.append(int(worker.stdout.readline()))
        return sum(answers) / len(answers)
