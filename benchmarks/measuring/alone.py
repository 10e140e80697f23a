"""Plans timed each in a process of its own, in turn, while the others sleep."""

import random
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from attrs import define, field, frozen

from benchmarks.measuring.cases import Feed
from ortsel.errors import OrtselError
from ortsel.plan import Plan
from ortsel.trial.calling import Calling
from ortsel.trial.child import Child, ChildError, CommandFailedError
from ortsel.trial.interpreter import WORKER_MODULE
from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS, TrialLimits
from ortsel.trial.memory import available_memory_bytes
from ortsel.trial.messages import Load, Loaded, MeasureCalls, Park, Parked, Ran, RunOnce, Timed
from ortsel.trial.rig import calls_for
from ortsel.trial.values import write_values

LIMIT_S: Final = 300
LIMITS: Final = TrialLimits(measurement_least_ns=40 * MILLISECOND_NS, calls_least=1)
"""Each time is over twice as long as the tuner's own."""
MEMORY_LEFT: Final = 0.3
"""Share of the memory that is available at the start and stays so."""


@frozen
class PlanFailedError(OrtselError):
    """A plan that cannot be timed."""

    plan: str
    reason: str


@define
class _Side:
    plan: Plan
    child: Child
    creation_ns: int
    first_call_ns: int
    calls: int = 1


@define
class Alone:
    """Children for the plans of one model and feed. A context manager."""

    model: Path
    feed: Feed
    worker: str = WORKER_MODULE
    limits: TrialLimits = LIMITS
    _folder: "tempfile.TemporaryDirectory[str]" = field(
        factory=lambda: tempfile.TemporaryDirectory(
            prefix="ortsel-alone-", ignore_cleanup_errors=True
        )
    )
    _sides: dict[str, _Side] = field(factory=dict)
    _variants: dict[str, str] = field(factory=dict)
    _least_free_bytes: int = field(factory=lambda: int(available_memory_bytes() * MEMORY_LEFT))
    _serial: int = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for name in list(self._sides):
            self.close(name)
        self._folder.cleanup()

    def close(self, name: str) -> None:
        """End a plan's process."""
        side = self._sides.pop(name, None)
        if side is not None:
            side.child.kill()

    def open(self, plan: Plan) -> _Side:
        """Return a plan's process, started if need be. Raises `PlanFailedError`.

        Where memory runs short, the process that waited longest ends for it.
        """
        side = self._sides.pop(plan.name, None)
        if side is None:
            while self._sides and available_memory_bytes() < self._least_free_bytes:
                self.close(next(iter(self._sides)))
            side = self._started(plan)
        self._sides[plan.name] = side
        return side

    def time_ns(self, plan: Plan) -> float:
        """Return the mean time of a call, over as many calls as take a while.

        Returns when the threads of the process sleep. Raises `PlanFailedError`.
        """
        side = self.open(plan)
        timed = self._asked(
            side, MeasureCalls(side.calls, 1, self.limits.wake_ns, LIMIT_S * SECOND_NS)
        )
        self._asked(side, Park())
        assert isinstance(timed, Timed)
        side.calls = calls_for(timed.latency_ns, self.limits)
        return timed.total_ns / timed.calls

    def samples_ns(self, plan: Plan, samples: int, calls: int) -> list[float]:
        """Return the mean times of so many measurements of so many calls, one after the other."""
        side = self.open(plan)
        found: list[float] = []
        for _ in range(samples):
            timed = self._asked(side, MeasureCalls(calls, 1, 0, LIMIT_S * SECOND_NS))
            assert isinstance(timed, Timed)
            found.append(timed.total_ns / timed.calls)
        return found

    def _started(self, plan: Plan) -> _Side:
        self._serial += 1
        folder = Path(self._folder.name)
        feed = folder / "feed.values"
        if not feed.exists():
            write_values(feed, self.feed)
        model, target = self._variants.get(plan.variant, str(self.model)), ""
        if plan.variant and plan.variant not in self._variants:
            place = folder / f"variant-{self._serial}"
            place.mkdir()
            target = str(place / "model.onnx")
        child = Child(folder, f"alone-{self._serial}", self.limits, _soon(), None, self.worker)
        side = _Side(plan, child, 0, 0)
        try:
            load = Load(plan, model, True, target, Calling.NUMPY, None, (str(feed),))
            loaded = self._asked(side, load)
            ran = self._asked(side, RunOnce(0, str(folder / "outputs.values")))
            warm = self._asked(side, MeasureCalls(3, 1, 0, LIMIT_S * SECOND_NS))
            self._asked(side, Park())
        except BaseException:
            child.kill()
            raise
        if target:
            self._variants[plan.variant] = target
        assert isinstance(loaded, Loaded)
        assert isinstance(ran, Ran)
        assert isinstance(warm, Timed)
        calls = calls_for(warm.latency_ns, self.limits)
        return _Side(plan, child, loaded.creation_ns, ran.latency_ns, calls)

    def _asked(
        self, side: _Side, command: Load | RunOnce | MeasureCalls | Park
    ) -> Loaded | Ran | Timed | Parked:
        try:
            reply = side.child.ask(command, LIMIT_S * SECOND_NS, _soon())
        except (ChildError, CommandFailedError) as error:
            self.close(side.plan.name)
            raise PlanFailedError(side.plan.name, f"{error!r:.300}") from error
        assert isinstance(reply, Loaded | Ran | Timed | Parked)
        return reply


def _soon() -> int:
    return time.monotonic_ns() + LIMIT_S * SECOND_NS


def rounds(
    alone: Alone, plans: Sequence[Plan], window_s: float, least: int, seed: str
) -> dict[str, list[float]]:
    """Return every plan's times, one for each round, over one window common to all.

    In each round every plan has one turn, in an order drawn anew. Even rounds are of one process of
    each plan, odd rounds of another, in the second half of the window: how a process happens to lie
    in memory is worth some percent, and stays. A plan that fails is left out.
    """
    draw = random.Random(seed)
    halves = [
        _rounds_of_one_process(alone, plans, window_s / 2, -(-least // 2), draw) for _ in range(2)
    ]
    names = [name for name in halves[0] if name in halves[1]]
    return {
        name: [
            time for both in zip(*(half[name] for half in halves), strict=False) for time in both
        ]
        for name in names
    }


def _rounds_of_one_process(
    alone: Alone, plans: Sequence[Plan], window_s: float, least: int, draw: random.Random
) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {plan.name: [] for plan in plans}
    open_plans = list(plans)
    for plan in plans:
        alone.close(plan.name)
    for plan in plans:
        try:
            alone.open(plan)
        except PlanFailedError:
            open_plans.remove(plan)
            del times[plan.name]
    until = time.monotonic() + window_s
    done = 0
    while open_plans and (done < least or time.monotonic() < until):
        for plan in draw.sample(open_plans, len(open_plans)):
            try:
                times[plan.name].append(alone.time_ns(plan))
            except PlanFailedError:
                open_plans.remove(plan)
                del times[plan.name]
        done += 1
    return times


def means(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the mean over all rounds: what somebody who lived through them would have had."""
    return {name: statistics.fmean(all_times) for name, all_times in times.items()}


def held_out_regret(times: Mapping[str, Sequence[float]], chosen: str) -> float:
    """Return the regret of a choice against the best of one half of the rounds, on the other half.

    Of many plans with noise, the one that came out best was lucky as well, and on the same rounds
    every choice regrets that luck. Both halves are asked; their mean is returned.
    """
    halves = [
        {name: statistics.fmean(all_times[half::2]) for name, all_times in times.items()}
        for half in (0, 1)
    ]
    found = []
    for ours, other in (halves, halves[::-1]):
        best = min(ours, key=lambda name: ours[name])
        found.append(other[chosen] / other[best])
    return statistics.fmean(found)
