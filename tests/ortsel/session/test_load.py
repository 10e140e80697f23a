"""Load regimes: how calls follow each other is measured, and part of the key (E2)."""

import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import psutil
import pytest

import ortsel
from ortsel.load import MOST_GAP_MS, Load, as_load
from ortsel.plan import Plan, SessionSettings
from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS
from ortsel.trial.rig import Rig
from ortsel.workload_mapper import WorkloadMapper
from spec.canonical_json import canonical
from spec.engine.effect import Purpose
from spec.evidence import MedianMad
from spec.policy import Policy
from tests.ortsel.trial import models

FEED = {"x": np.ones((1, 3), np.float32)}


def key(load: object) -> str:
    return canonical(WorkloadMapper(load=as_load(load)).part(FEED, ["y"], "numpy"))


def test_each_regime_has_a_key_of_its_own() -> None:
    keys = {key(load) for load in ("back-to-back", 1, 50, 50.0, 50.000001, 1000)}
    assert len(keys) == 5, "50 and 50.0 are one"


def test_back_to_back_is_the_key_that_it_always_was() -> None:
    assert key("back-to-back") == canonical(WorkloadMapper().part(FEED, ["y"], "numpy"))
    assert '"load":"alone"' in key("back-to-back")
    assert '"load":"gap 50ms"' in key(50)


def test_the_words_for_a_call_name_a_gap_and_nothing_else() -> None:
    assert (
        WorkloadMapper(load=Load(50 * MILLISECOND_NS))
        .describe(FEED, ["y"], "numpy")
        .endswith("a call 50ms after the other")
    )
    assert "after the other" not in WorkloadMapper().describe(FEED, ["y"], "numpy")


@pytest.mark.parametrize(
    "bad", ["spaced", "50", 0, 0.5, -1, MOST_GAP_MS + 1, True, None, float("nan")]
)
def test_another_load_is_refused_with_what_it_may_be(bad: object) -> None:
    with pytest.raises(
        ortsel.UsageError, match=r'load: got .*, need "back-to-back" or a gap in milliseconds'
    ):
        ortsel.SelectionConfig(load=bad)


@pytest.mark.slow
def test_spaced_calls_are_measured_so_and_the_side_that_waits_does_not_spin(tmp_path: Path) -> None:
    """With a gap of 3 ms the pools of two default sessions would spin into each other's calls."""
    model = models.busy(tmp_path / "busy.onnx")
    feed = {"x": np.ones((64, 384), np.float32)}
    two = SessionSettings((("intra_op_num_threads", 2),))
    reference, other = Plan("reference", settings=two), Plan("other", settings=two)
    until = time.monotonic_ns() + 120 * SECOND_NS
    with Rig(model, reference, [feed], None, load=as_load(3)) as rig:
        for plan in (reference, other):
            rig.measure(plan, Purpose.WARMUP, until)
        ids = rig.process_ids()
        for running, waiting in ((reference, other), (other, reference)):
            rig.measure(running, Purpose.PAIRED, until)  # waits until the other's threads sleep
            idle = psutil.Process(ids[waiting.name])
            before = idle.cpu_times()
            for _ in range(4):
                rig.measure(running, Purpose.PAIRED, until)
            after = idle.cpu_times()
            used = after.user + after.system - before.user - before.system
            assert used <= 0.02, "two ticks of the clock that these times are counted in"
        scored = [one for one in rig.timings if one.purpose is Purpose.PAIRED]
        for timing in scored:
            timed = timing.timed
            assert timing.alone
            assert timed.span_ns >= timed.total_ns + timed.calls * 3 * MILLISECOND_NS


@pytest.mark.slow
def test_a_session_decides_for_the_load_that_it_is_told(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    feed = models.FEED
    store = str(tmp_path / "store.sqlite")
    # Nobody is so much faster: the reference is the decision, whatever the noise, and is stored.
    policy = Policy(evidence=MedianMad(samples=3), min_speedup=Fraction(100))
    plans = [Plan("single", settings=models.SINGLE_THREADED)]

    def decided(load: "str | int", mode: str) -> tuple[str, str]:
        config = ortsel.SelectionConfig(
            mode=mode, store=store, candidates=plans, load=load, policy=policy
        )
        session = ortsel.InferenceSession(str(model), selection=config)
        session.run(None, feed)
        (workload,) = session.explain().workloads
        return workload.source, workload.workload

    source, words = decided(2, "blocking")
    assert (source, words.rpartition(", ")[2]) == ("tuned", "a call 2ms after the other")
    assert decided(2, "cache-only")[0] == "stored"
    assert decided("back-to-back", "cache-only")[0] == "cache-miss"
