"""A child that waits is stopped, and never for good (E2)."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from ortsel.plan import Plan
from ortsel.trial.freezing import freeze, thaw
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import Rig
from spec.engine.effect import Purpose
from tests.ortsel.trial.models import FEED, REFERENCE, SINGLE_THREADED, linear

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux wakes a stopped child of a dead parent"
)

OTHER = Plan("other", settings=SINGLE_THREADED)
SPINNING = """
import threading
for _ in range(2):
    threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()
"""


def deadline_ns() -> int:
    return time.monotonic_ns() + 60 * SECOND_NS


def used_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def test_a_stopped_process_takes_no_time_of_a_processor_until_it_goes_on() -> None:
    process = subprocess.Popen([sys.executable, "-c", SPINNING])
    try:
        while used_s(process.pid) < 0.1:
            time.sleep(0.01)
        assert freeze(process.pid)
        before_s = used_s(process.pid)
        time.sleep(0.2)
        assert used_s(process.pid) == before_s
        thaw(process.pid)
        while used_s(process.pid) == before_s:
            time.sleep(0.01)
    finally:
        process.kill()
        process.wait()


def test_a_process_that_ended_counts_as_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert freeze(process.pid)
    thaw(process.pid)


def test_the_side_that_waits_is_stopped_and_answers_when_its_turn_comes(tmp_path: Path) -> None:
    with Rig(linear(tmp_path / "m.onnx"), REFERENCE, [FEED], None, scratch=tmp_path) as rig:
        rig.measure(REFERENCE, Purpose.WARMUP, deadline_ns())
        pids: dict[str, int] = {}
        for plan, other in ((OTHER, REFERENCE), (REFERENCE, OTHER), (OTHER, REFERENCE)):
            assert rig.measure(plan, Purpose.PAIRED, deadline_ns()) > 0
            pids = rig.process_ids()
            assert psutil.Process(pids[other.name]).status() == psutil.STATUS_STOPPED
            assert psutil.Process(pids[plan.name]).status() != psutil.STATUS_STOPPED
        assert all(timing.alone for timing in rig.timings)
    assert not any(psutil.pid_exists(pid) for pid in pids.values())


def test_a_stopped_child_ends_and_cleans_up_when_its_parent_is_killed(tmp_path: Path) -> None:
    model = linear(tmp_path / "m.onnx")
    program = f"""
import time
from pathlib import Path
from ortsel.trial.rig import Rig
from spec.engine.effect import Purpose
from tests.ortsel.trial.models import FEED, REFERENCE
from tests.ortsel.trial.test_freezing import OTHER, deadline_ns
rig = Rig(Path({str(model)!r}), REFERENCE, [FEED], None, scratch=Path({str(tmp_path)!r}))
rig.measure(OTHER, Purpose.PAIRED, deadline_ns())
print(*rig.process_ids().values(), flush=True)
time.sleep(60)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=os.getcwd()
    )
    assert parent.stdout is not None
    with parent.stdout as printed:
        pids = [int(word) for word in printed.readline().split()]
    assert len(pids) == 2
    assert psutil.Process(pids[0]).status() == psutil.STATUS_STOPPED
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 20
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(psutil.pid_exists, pids))
    assert [entry.name for entry in tmp_path.iterdir()] == [model.name]


def test_limits_do_not_count_the_time_for_which_a_child_is_stopped(tmp_path: Path) -> None:
    limits = TrialLimits(call_ns=SECOND_NS)
    with Rig(
        linear(tmp_path / "m.onnx"), REFERENCE, [FEED], None, scratch=tmp_path, limits=limits
    ) as rig:
        rig.measure(OTHER, Purpose.PAIRED, deadline_ns())
        time.sleep(1.2)
        assert rig.measure(REFERENCE, Purpose.PAIRED, deadline_ns()) > 0
