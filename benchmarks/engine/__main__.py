"""What the reference model costs: `python -m benchmarks.engine [--json PATH]`.

Every figure is processor time, the best of several repetitions: what is least disturbed by whatever
else the machine does. Nothing here runs a kernel.

A selection that is *answered* takes advice, a ranking of 30 kernels, and a step that hits memory. A
*search* is what the engine itself spends on measuring 30 candidates, over all its events; it is
spread over the measurements, which take seconds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path

from attrs import evolve, frozen
from immutables import Map

from spec import (
    AnytimeValid,
    Candidate,
    Event,
    LoadRecord,
    Measure,
    Measured,
    MedianMad,
    Moment,
    Policy,
    Problem,
    Record,
    RecordAbsent,
    Requested,
    Scope,
    State,
    Validate,
    Validated,
    initial_state,
    step,
)
from spec.canonical_json import Json
from spec.capability import (
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Configuration,
    ElementType,
    Operator,
    advise,
)
from spec.engine.eviction import settled
from spec.engine.state import Held
from spec.ranking import (
    Constraints,
    Estimate,
    History,
    Kernel,
    KernelInputs,
    RankingPolicy,
    RankingRequest,
    Registry,
    Succeeded,
    TensorInput,
    Variant,
    VariantKind,
    rank,
)

SECOND_NS = 10**9
FEW, MANY = 100, 100_000
HIT_LIMIT_US, STEP_RATIO_LIMIT, IMPORT_LIMIT_MS, ANSWERED_LIMIT_US = 50.0, 2.0, 100.0, 1000.0
KERNELS, TRIES = 30, 5


@frozen
class Timing:
    """Best and median of several repetitions."""

    best_us: float
    median_us: float


def timed(action: Callable[[], object], *, calls: int, repetitions: int = 9) -> Timing:
    """Time an action, per call."""
    times_us = []
    for _ in range(repetitions):
        started_ns = time.process_time_ns()
        for _ in range(calls):
            action()
        times_us.append((time.process_time_ns() - started_ns) / calls / 1000)
    return Timing(min(times_us), statistics.median(times_us))


def attention_problem() -> Problem:
    """A problem as large as a real one: three inputs, a whole environment."""
    tensor: Json = {"type": "float16", "shape": [4, 16, 2048, 128], "layout": "contiguous"}
    return Problem(
        Scope.OPERATOR,
        "attention",
        {
            "inputs": dict.fromkeys(("query", "key", "value"), tensor),
            "outputs": ["output"],
            "call": "numpy",
            "load": "idle",
            "mask": "causal",
        },
        {
            "runtime": {"name": "onnxruntime", "version": "1.32.0"},
            "providers": ["CUDAExecutionProvider", "CPUExecutionProvider"],
            "device": {"model": "NVIDIA H200", "capability": [9, 0], "driver": "570.86"},
            "cpu": {"model": "Xeon Platinum 8480C", "flags": ["avx2", "avx512f", "amx_tile"]},
            "threads": 16,
            "variables": {},
        },
        model="9f" * 32,
        options={"intra_op_num_threads": 0, "graph_optimization_level": 99},
    )


def plans(count: int = 30) -> tuple[Candidate, ...]:
    """The reference and its rivals, with names as long as real ones."""
    rivals = [
        Candidate(f"CUDAExecutionProvider/sdpa_kernel={number}/graph=attention-fused")
        for number in range(count - 1)
    ]
    return (Candidate("reference"), *rivals)


def filled(policy: Policy, count: int) -> State:
    """A state with that many decisions in memory."""
    state = initial_state(evolve(policy, capacity=2**20))
    for number in range(count):
        key = f"{number:064x}"
        record = Record(
            key,
            Scope.OPERATOR,
            "fast",
            "reference",
            0,
            100,
            50,
            Fraction(1, 2),
            Fraction(0),
            9,
            verified=True,
        )
        state = settled(state, key, Held(record, 2**62))
    return state


def outcome(effect: object, number: int, now: Moment) -> Event:
    """An honest outcome; the later the candidate, the faster."""
    match effect:
        case LoadRecord():
            return RecordAbsent(number, now)
        case Validate():
            return Validated(number, now, feeds=2)
        case Measure():
            return Measured(
                number, now, 1_000_000 - 7_000 * effect.candidate + effect.candidate % 3
            )
        case _:
            raise AssertionError(effect)


def select(state: State, event: Requested) -> tuple[State, list[Event]]:
    """Run one request to its answer; return the events that it took."""
    events: list[Event] = [event]
    transition = step(state, event)
    while event.request in transition.state.searches:
        following = outcome(transition.effects[-1], event.request, event.now)
        events.append(following)
        transition = step(transition.state, following)
    return transition.state, events


def run_all(state: State, events: list[Event]) -> State:
    """Feed a log."""
    for event in events:
        state = step(state, event).state
    return state


def import_ms(statement: str) -> float:
    """Time of an import in a new interpreter, the best of nine."""
    code = f"import time; s = time.process_time(); {statement}; print(time.process_time() - s)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
        for _ in range(9)
    ]
    return min(times) * 1000


def advising() -> Callable[[], object]:
    """Advice for one long causal prompt on a data-centre GPU."""
    call = AttentionInput(
        Operator.MULTI_HEAD_ATTENTION, 4, 16, 16, 2048, 2048, 128, 128, ElementType.FLOAT16,
        causal=True,
    )  # fmt: skip
    return partial(advise, call, PRESETS["a100"], Configuration(), GPU_WHEEL_1_31)


def ranking() -> Callable[[], object]:
    """A ranking of 30 kernels, each with an estimate and several measured tries."""
    registry, history = Registry(), History()
    for number in range(KERNELS):
        registry = registry.register(
            Kernel(
                f"kernel-{number:02}",
                f"kernel {number}",
                "attention",
                "cuda",
                Variant(VariantKind.FUSED),
                Constraints(frozenset({"float16"})),
            )
        )
        for attempt in range(TRIES):
            latency = Succeeded(1000 + 37 * number + 13 * attempt)
            history = history.record("w", f"kernel-{number:02}", latency, attempt * SECOND_NS)
    tensor = TensorInput((4, 16, 2048, 128), "float16")
    request = RankingRequest(
        "attention",
        "cuda",
        "w",
        KernelInputs((tensor, tensor, tensor)),
        3600 * SECOND_NS,
        Map({f"kernel-{n:02}": Estimate(1000 + 37 * n, 1000 * n) for n in range(KERNELS)}),
        served="kernel-00",
    )
    return partial(rank, registry.with_default("kernel-00"), request, history, RankingPolicy())


def measure() -> dict[str, object]:
    """Return every figure of this benchmark."""
    now = Moment(SECOND_NS, 1_800_000_000)
    median_mad = Policy(evidence=MedianMad(), budget_ns=3600 * SECOND_NS)
    question = Requested(1, now, attention_problem(), plans(), 0)
    result: dict[str, object] = {}
    steps: dict[int, Timing] = {}
    hits_us: dict[int, float] = {}
    for count in (FEW, MANY):
        start = filled(median_mad, count)
        decided, events = select(start, question)
        hit = evolve(question, request=2)
        hits_us[count] = timed(partial(step, decided, hit), calls=500).best_us
        result[f"hit_us_at_{count}"] = hits_us[count]
        whole = timed(partial(run_all, start, events), calls=1)
        steps[count] = Timing(whole.best_us / len(events), whole.median_us / len(events))
        result[f"step_us_at_{count}"] = steps[count].best_us
        result[f"step_median_us_at_{count}"] = steps[count].median_us
    result["step_ratio"] = steps[MANY].best_us / steps[FEW].best_us
    for name, policy in (
        ("median_mad", median_mad),
        ("anytime_valid", evolve(median_mad, evidence=AnytimeValid())),
    ):
        start = initial_state(policy)
        _, events = select(start, question)
        whole = timed(partial(run_all, start, events), calls=1)
        result[f"search_events_{name}"] = len(events)
        result[f"search_us_{name}"] = whole.best_us
        result[f"search_us_per_event_{name}"] = whole.best_us / len(events)
    advise_us = timed(advising(), calls=50).best_us
    rank_us = timed(ranking(), calls=20).best_us
    result["advise_us"] = advise_us
    result[f"rank_us_of_{KERNELS}"] = rank_us
    result["answered_selection_us"] = advise_us + rank_us + hits_us[MANY]
    result["import_ms"] = import_ms("import spec")
    result["import_all_names_ms"] = import_ms("from spec import *")
    return result


def main() -> int:
    """Print a table, write JSON where asked to; exit 1 where a limit is broken."""
    parser = argparse.ArgumentParser(prog="benchmarks.engine", description=__doc__)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the figures there")
    arguments = parser.parse_args()
    figures = measure()
    for name, value in figures.items():
        print(f"{name:<42}{value:>14.2f}" if isinstance(value, float) else f"{name:<42}{value:>14}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    limits = {
        f"hit_us_at_{MANY}": HIT_LIMIT_US,
        "step_ratio": STEP_RATIO_LIMIT,
        "answered_selection_us": ANSWERED_LIMIT_US,
        "import_ms": IMPORT_LIMIT_MS,
    }
    broken = [
        f"{name} is {value:.1f}, limit {limit}"
        for name, limit in limits.items()
        if isinstance(value := figures[name], float) and value > limit
    ]
    for line in broken:
        print(f"over the limit: {line}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
