"""What ortsel adds to a call: `python -m benchmarks.overhead [--quick] [--json PATH]`.

Both sides live in one process and take turns, some milliseconds each, in an order that changes with
every round; the figure is the median over rounds of ortsel's time over ONNX Runtime's. Processor
time of the calling thread stands beside it, since a busy neighbour shows in the wall clock first.
The exit code is 1 when a target is missed.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from attrs import asdict, frozen

import ortsel
from benchmarks.measuring.folded import folding, unoptimized
from benchmarks.measuring.machine import load_average, machine
from benchmarks.measuring.results import table
from benchmarks.measuring.sample_models import layers, summed

LEG_NS = 4_000_000
SMALLEST, LARGER = 1.10, 1.01

Call = Callable[[], Any]


@frozen
class Figure:
    """One comparison."""

    name: str
    call_us: float
    """Of ONNX Runtime's own session."""
    wall: float
    low: float
    high: float
    """A quarter of the rounds lie below and above these."""
    processor: float
    target: float

    @property
    def is_met(self) -> bool:
        """Whether the median over rounds keeps the target."""
        return self.wall <= self.target


def _leg(call: Call, times: int) -> tuple[int, int]:
    processor, wall = time.thread_time_ns(), time.perf_counter_ns()
    for _ in range(times):
        call()
    return time.perf_counter_ns() - wall, time.thread_time_ns() - processor


def compared(name: str, plain: Call, ours: Call, rounds: int, target: float) -> Figure:
    """Return ours over plain; both were called before."""
    one_ns = min(_leg(plain, 3)[0] for _ in range(5)) // 3
    times = max(1, LEG_NS // max(1, one_ns))
    walls, processors, plain_ns = [], [], []
    for place in range(rounds):
        sides = (plain, ours) if place % 2 else (ours, plain)
        took = {id(side): _leg(side, times) for side in sides}
        (plain_wall, plain_cpu), (our_wall, our_cpu) = took[id(plain)], took[id(ours)]
        plain_ns.append(plain_wall / times)
        walls.append(our_wall / plain_wall)
        processors.append(our_cpu / max(1, plain_cpu))
    quarters = statistics.quantiles(walls, n=4)
    return Figure(
        name,
        statistics.median(plain_ns) / 1000,
        statistics.median(walls),
        quarters[0],
        quarters[2],
        statistics.median(processors),
        target,
    )


def _feed(inputs: int, shape: tuple[int, ...] = (4,)) -> dict[str, Any]:
    return {f"i{place}": np.ones(shape, np.float32) for place in range(inputs)}


def _runs(session: Any, feed: Mapping[str, Any]) -> Call:
    return lambda: session.run(None, feed)


def _nothing_stored(mode: str) -> "ortsel.SelectionConfig":
    """Return a configuration under which the reference serves; no pause is long enough to tune."""
    return ortsel.SelectionConfig(mode=mode, store=None, idle_s=3600)


def _reference_serves(rounds: int) -> list[Figure]:
    figures = []
    for inputs in (1, 3, 20):
        model, feed = summed(inputs), _feed(inputs)
        plain = onnxruntime.InferenceSession(model)
        for mode in ("background", "cache-only"):
            session = ortsel.InferenceSession(model, selection=_nothing_stored(mode))
            for _ in range(3):
                session.run(None, feed), plain.run(None, feed)
            name = f"{mode}, {inputs} inputs of 4 floats"
            calls = _runs(plain, feed), _runs(session, feed)
            figures.append(compared(name, *calls, rounds, SMALLEST))
    for count, rows in ((1, 4), (4, 64)):
        model, feed = layers(count), _feed(1, (rows, 1024))
        options = unoptimized()  # one thread: two pools in one process would disturb each other
        plain = onnxruntime.InferenceSession(model, options)
        session = ortsel.InferenceSession(
            model, unoptimized(), selection=_nothing_stored("background")
        )
        for _ in range(3):
            session.run(None, feed), plain.run(None, feed)
        name = f"background, {count} layers of 1024, {rows} rows"
        figures.append(compared(name, _runs(plain, feed), _runs(session, feed), rounds, LARGER))
    return figures


def _bound(session: Any, feed: Mapping[str, Any]) -> Call:
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("y")
    session.run_with_iobinding(binding)
    return lambda: session.run_with_iobinding(binding)


def _bound_calls(rounds: int) -> list[Figure]:
    figures = []
    for inputs in (1, 20):
        model, feed = summed(inputs), _feed(inputs)
        plain = onnxruntime.InferenceSession(model)
        session = ortsel.InferenceSession(model, selection=_nothing_stored("background"))
        name = f"bound, background, {inputs} inputs of 4 floats"
        calls = _bound(plain, feed), _bound(session, feed)
        figures.append(compared(name, *calls, rounds, SMALLEST))
    return figures


def _plan_serves(rounds: int) -> list[Figure]:
    """Compare a session that serves a plan with a plain session built like the plan."""
    model, feed = layers(0, wasteful=True), _feed(1, (4, 4))
    config = ortsel.SelectionConfig(
        mode="blocking", store=None, budget_s=20, candidates=folding, watch_every_s=0
    )
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    session.run(None, feed)
    served = session.explain().workloads[0].plan
    if served != "folding":
        message = f"served: got {served!r}, need 'folding': is the machine busy?"
        raise SystemExit(message)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.intra_op_num_threads = 1
    plain = onnxruntime.InferenceSession(model, options)
    plain.run(None, feed)
    calls = _runs(plain, feed), _runs(session, feed)
    return [compared("a plan serves, 1 input of 16 floats", *calls, rounds, SMALLEST)]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, under a minute")
    parser.add_argument("--json", type=Path, metavar="PATH")
    options = parser.parse_args()
    rounds = 60 if options.quick else 400
    figures = [*_reference_serves(rounds), *_bound_calls(rounds), *_plan_serves(rounds)]
    rows = [
        [
            one.name,
            f"{one.call_us:.1f}",
            f"{one.wall:.3f}",
            f"{one.low:.3f} to {one.high:.3f}",
            f"{one.processor:.3f}",
            f"{one.target:.2f}" + ("" if one.is_met else "  missed"),
        ]
        for one in figures
    ]
    table(["call", "plain us", "ratio", "middle half", "processor", "target"], rows)
    document = {
        "machine": machine(),
        "load_average": load_average(),
        "rounds": rounds,
        "figures": [asdict(one) for one in figures],
    }
    print(json.dumps(document["machine"]))
    if options.json:
        options.json.write_text(json.dumps(document, indent=1))
    return 0 if all(one.is_met for one in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
