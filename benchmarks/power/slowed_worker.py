"""A child in which each call is followed by busy work, so that its plan is slower by a factor.

Run by a rig in place of `ortsel.trial.worker`. The work of a call takes its own time times the
factor less one: whatever the machine does to the call, the whole takes exactly the factor longer.
"""

import sys
import time

from attrs import frozen

from ortsel.trial.calling import Caller
from ortsel.trial.messages import Load, Loaded
from ortsel.trial.worker import Worker, main

SLOWED = "ortsel.benchmark.slowed"
"""Session configuration entry with the factor. ONNX Runtime keeps entries that it does not know."""


@frozen
class _Slowed:
    caller: Caller
    factor: float

    def call(self) -> None:
        started = time.perf_counter_ns()
        self.caller.call()
        until = started + int((time.perf_counter_ns() - started) * self.factor)
        while time.perf_counter_ns() < until:
            pass

    def outputs(self) -> list[object]:
        return self.caller.outputs()


class SlowedWorker(Worker):
    """Slows the plan that says so in its settings."""

    def _load(self, command: Load) -> Loaded:
        self._factor = float(dict(command.plan.settings.config).get(SLOWED, "1"))
        return super()._load(command)

    def _caller(self, feed: int) -> Caller:
        return _Slowed(super()._caller(feed), self._factor)


if __name__ == "__main__":
    main(sys.argv[1:], SlowedWorker)
