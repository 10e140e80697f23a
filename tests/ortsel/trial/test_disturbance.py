"""Telling disturbed measurements apart by what they needed, and taking them again."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ortsel.plan import Plan
from ortsel.trial import rig as rig_module
from ortsel.trial.disturbance import (
    FEWEST,
    IDLE_LEAST_NS,
    REMEMBERED,
    Effort,
    disturbance,
)
from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS, TrialLimits
from ortsel.trial.rig import Rig
from spec.engine.effect import Purpose
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE

SPAN_NS = 20 * MILLISECOND_NS
USUAL = Effort(SPAN_NS, 2 * SPAN_NS, 1)
KNOWN = (USUAL,) * FEWEST
SINGLE = Plan("single", settings=models.SINGLE_THREADED)


def test_what_is_as_usual_is_not_disturbed() -> None:
    assert disturbance(USUAL, KNOWN) == ""
    assert disturbance(evolve(USUAL, switches_involuntary=3), KNOWN) == "", "a kernel thread or two"
    assert disturbance(evolve(USUAL, cpu_ns=SPAN_NS * 17 // 10), KNOWN) == ""


@pytest.mark.parametrize(
    ("effort", "words"),
    [
        (evolve(USUAL, alone=False), "did not come to rest"),
        (evolve(USUAL, idle_cpu_ns=2 * IDLE_LEAST_NS), "the side that waits computed for 40 ms"),
        (evolve(USUAL, switches_involuntary=8), "400 involuntary switches a second, usually 50"),
        (evolve(USUAL, cpu_ns=SPAN_NS), "1.00 processors in use, usually 2.00"),
    ],
)
def test_each_sign_of_a_disturbance_is_named(effort: Effort, words: str) -> None:
    assert words in disturbance(effort, KNOWN)


def test_two_ticks_of_the_side_that_waits_are_no_disturbance() -> None:
    assert disturbance(evolve(USUAL, idle_cpu_ns=IDLE_LEAST_NS), KNOWN) == ""


def test_nothing_is_unusual_before_a_side_has_a_usual() -> None:
    poor = evolve(USUAL, cpu_ns=0, switches_involuntary=1000)
    assert disturbance(poor, KNOWN[1:]) == ""
    assert disturbance(poor, KNOWN) != "", "pointless unless it is unusual"
    assert disturbance(evolve(USUAL, alone=False), ()) != ""


def test_a_change_that_lasts_becomes_usual() -> None:
    beside_a_neighbour = evolve(USUAL, cpu_ns=SPAN_NS, switches_involuntary=8)
    known: list[Effort] = [USUAL] * REMEMBERED
    found = []
    for _ in range(REMEMBERED):
        found.append(disturbance(beside_a_neighbour, known[-REMEMBERED:]))
        known.append(beside_a_neighbour)
    assert found[0] != ""
    assert found[-1] == ""


efforts = st.builds(
    Effort,
    span_ns=st.integers(1, SECOND_NS),
    cpu_ns=st.integers(0, 8 * SECOND_NS),
    switches_involuntary=st.integers(0, 1000),
)


@given(efforts, st.lists(efforts, max_size=REMEMBERED), st.integers(1, 100))
def test_the_time_of_a_measurement_plays_no_part(
    effort: Effort, earlier: Sequence[Effort], factor: int
) -> None:
    """A plan that takes longer with the same threads is slower, and not disturbed."""
    longer = Effort(
        effort.span_ns * factor, effort.cpu_ns * factor, effort.switches_involuntary * factor
    )
    assert disturbance(longer, earlier) == disturbance(effort, earlier)


@contextmanager
def busy_on_the_processors_of(pids: Sequence[int]) -> Iterator[None]:
    """Pin the given processes to one processor, and have others compute on it."""
    processor = min(os.sched_getaffinity(0))
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            os.sched_setaffinity(int(task.name), {processor})
    command = [sys.executable, "-S", "-c", "print(flush=True)\nwhile True: pass"]
    with ExitStack() as ends:
        for _ in range(3):  # a machine that is busy already leaves half of a processor
            process = ends.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE))
            ends.callback(process.kill)
            assert process.stdout is not None
            process.stdout.readline()
            os.sched_setaffinity(process.pid, {processor})
        yield


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs processor affinity")
def test_a_process_that_computes_beside_a_child_is_noticed_and_the_measurement_repeated(
    tmp_path: Path,
) -> None:
    model = models.linear(tmp_path / "model.onnx")
    limits = TrialLimits(disturbed_repeats=2, measurement_least_ns=100 * MILLISECOND_NS)
    with Rig(model, REFERENCE, [FEED], None, limits=limits) as rig:
        rig.measure(REFERENCE, Purpose.BASELINE, time.monotonic_ns() + 30 * SECOND_NS)
        for _ in range(FEWEST):
            rig.measure(REFERENCE, Purpose.PAIRED, time.monotonic_ns() + 30 * SECOND_NS)
        before, usual = len(rig.timings), rig.disturbed.get("reference", 0)
        with busy_on_the_processors_of(list(rig.process_ids().values())):
            rig.measure(REFERENCE, Purpose.PAIRED, time.monotonic_ns() + 30 * SECOND_NS)
        taken = rig.timings[before:]
        assert taken[0].disturbed, "half of a processor, and many turns lost"
        assert len(taken) == limits.disturbed_repeats + 1, "bounded, and the last one counts"
        assert rig.disturbed["reference"] == usual + len(taken)


@pytest.mark.slow
def test_the_last_of_the_repeats_counts_and_not_the_fastest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig_module, "disturbance", lambda effort, earlier: "always")
    with Rig(models.linear(tmp_path / "model.onnx"), REFERENCE, [FEED], None) as rig:
        until = time.monotonic_ns() + 30 * SECOND_NS
        latency_ns = rig.measure(SINGLE, Purpose.PAIRED, until)
        scored = [timing for timing in rig.timings if timing.plan == "single"]
        assert len(scored) == TrialLimits().disturbed_repeats + 1
        assert latency_ns == scored[-1].timed.latency_ns
        assert rig.disturbed == {"single": 3}


@pytest.mark.slow
def test_the_first_warm_up_is_the_very_first_call_and_later_ones_are_not(tmp_path: Path) -> None:
    with Rig(models.linear(tmp_path / "model.onnx"), REFERENCE, [FEED], None) as rig:
        until = time.monotonic_ns() + 30 * SECOND_NS
        first_ns = rig.measure(SINGLE, Purpose.WARMUP, until)
        assert first_ns == rig.description(SINGLE).first_call_ns
        later_ns = rig.measure(SINGLE, Purpose.WARMUP, until)
        assert later_ns == rig.timings[-1].timed.latency_ns
        assert rig.description(SINGLE).creation_ns > 0, "apart from both"
