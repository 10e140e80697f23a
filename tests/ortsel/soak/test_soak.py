"""Load with everything going on at once: every result compared, memory and threads bounded.

`pytest -m soak` takes `ORTSEL_SOAK_S` seconds, 300 by default; the ordinary run takes ten.
"""

import gc
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import numpy as np
import onnxruntime
import psutil
import pytest
from attrs import define, evolve

import ortsel
from ortsel.background import IDLE_WORK
from ortsel.background.snapshots import SNAPSHOTS
from ortsel.candidates import CandidateFacts
from ortsel.choice import Choice
from ortsel.plan import Plan
from ortsel.selectors import forget_all
from ortsel.session_tuner import SessionTuner
from spec.policy import Policy
from tests.ortsel.session.session_models import (
    WIDTH,
    folding,
    unoptimized,
    wasteful_for_any_rows,
)

THREADS = 8
ROWS = (8, 24, 64, 128)
SOAK_S = float(os.environ.get("ORTSEL_SOAK_S", "300"))
GROWTH_BYTES = 96 << 20
"""Of resident memory over a run. One session that was kept for each round would be more."""
MEGABYTE = 1 << 20


@define
class _Counts:
    promotions: int = 0
    bans: int = 0
    invalidations: int = 0
    sessions: int = 0
    compared: int = 0
    pairs: int = 0


class _Load:
    """Eight threads that call whichever session is current, while the gate is open."""

    def __init__(self, model: Path) -> None:
        plain = onnxruntime.InferenceSession(model, unoptimized())
        random_values = np.random.default_rng(0)
        self.feeds = [
            {"x": random_values.standard_normal((rows, WIDTH)).astype(np.float32)}
            for rows in ROWS
            for _ in range(3)
        ]
        self.expected = [plain.run(None, feed)[0] for feed in self.feeds]
        self.session: ortsel.InferenceSession | None = None
        self.gate = threading.Event()
        self.stop = threading.Event()
        self.calls = [0] * THREADS
        self.wrong: list[str] = []
        self._threads = [
            threading.Thread(target=self._call, args=(number,)) for number in range(THREADS)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        self.gate.set()
        for thread in self._threads:
            thread.join()

    def _call(self, number: int) -> None:
        choose = random.Random(number)
        while not self.stop.is_set():
            self.gate.wait()
            session = self.session
            if session is None:
                continue
            index = choose.randrange(len(self.feeds))
            served = session.run(None, self.feeds[index])[0]  # pytest fails where that raises
            self.calls[number] += 1
            expected = self.expected[index]
            if served.shape != expected.shape or not np.allclose(
                served, expected, rtol=1e-5, atol=1e-6
            ):
                self.wrong.append(f"thread {number}, feed {index}, call {self.calls[number]}")


def _config(name: str) -> ortsel.SelectionConfig:
    def plans(facts: CandidateFacts) -> Sequence[Plan]:
        return [evolve(plan, name=name) for plan in folding(facts)]

    return ortsel.SelectionConfig(
        store=None,
        candidates=plans,
        policy=Policy(retry_after_s=1),
        budget_s=20.0,
        idle_s=0.02,
        session_budget_s=3600.0,
        process_budget_s=36000.0,
        shadow_share=1.0,
        shadow_every_s=0.2,
        watch_every_s=2.0,
    )


def _quiet(load: _Load, seconds: float) -> None:
    load.gate.clear()
    until = time.monotonic() + seconds
    while IDLE_WORK.is_busy() and time.monotonic() < until:
        time.sleep(0.02)


def _serving(session: ortsel.InferenceSession) -> list[Choice]:
    connection = session._ortsel_connection
    assert connection is not None
    return [one for one in list(connection.choices.values()) if one.session is not None]


def _disturb(session: ortsel.InferenceSession, choose: random.Random, counts: _Counts) -> None:
    """Take a plan back under load, in one of the ways in which that happens."""
    connection = session._ortsel_connection
    assert connection is not None
    serving = _serving(session)
    if not serving:
        return
    choice = choose.choice(serving)
    tuner: SessionTuner = connection.tuner
    kind = choose.choice(["ban", "fail", "forget", "expire"])
    if kind == "ban":
        assert connection.watch is not None
        connection.watch.ban(choice, "said the test", "different")
        counts.bans += 1
    elif kind == "fail":
        session._ortsel_withdraw(connection, choice, RuntimeError("said the test"))
        counts.bans += 1
    elif kind == "forget":
        for row in session.explain().rows():
            if row["plan"] != "reference":
                key, plan = str(row["key"]), str(row["plan"])
                tuner._selector.invalidate(key, plan, "reference", ban=False, reason="test")
                counts.invalidations += 1
    else:
        choice.until_ns = 0
        choice.look_at = 0
        counts.invalidations += 1


def _round(load: _Load, model: Path, choose: random.Random, counts: _Counts) -> None:
    """Serve from one session's first call to its last."""
    counts.sessions += 1
    config = _config(f"folding-{counts.sessions}")
    session = ortsel.InferenceSession(model, unoptimized(), selection=config)
    load.session = session
    for _ in range(2):
        load.gate.set()
        time.sleep(0.5)
        _quiet(load, 12.0)
        counts.promotions += len(_serving(session))
        load.gate.set()
        time.sleep(0.3)
        _disturb(session, choose, counts)
        time.sleep(0.3)
    _quiet(load, 3.0)
    checks = session.explain().checks
    counts.compared += checks.equal
    counts.pairs += checks.pairs
    assert checks.different == 0, session.explain()
    assert checks.skipped == 0
    load.session = None


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("ortsel.session_tuner.NICENESS", 0)
    forget_all()
    yield
    forget_all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "seconds",
    [
        10.0,
        pytest.param(
            SOAK_S, marks=[pytest.mark.soak, pytest.mark.timeout(SOAK_S + 240)], id="soak"
        ),
    ],
)
def test_every_result_is_right_while_plans_come_and_go(seconds: float, tmp_path: Path) -> None:
    model = wasteful_for_any_rows(tmp_path / "model.onnx")
    process, choose, counts = psutil.Process(), random.Random(0), _Counts()
    before = {child.pid for child in process.children(recursive=True)}
    threads_before = threading.active_count()
    resident: list[int] = []
    began = time.monotonic()
    until, latest = began + seconds, began + seconds + 120
    with _Load(model) as load:
        while time.monotonic() < until or (
            counts.promotions * (counts.bans + counts.invalidations) == 0
            and time.monotonic() < latest
        ):
            _round(load, model, choose, counts)
            gc.collect()
            resident.append(process.memory_info().rss)
            assert load.wrong == []
    assert load.wrong == []
    assert min(load.calls) > 0
    print(
        f"{sum(load.calls)} calls in {time.monotonic() - began:.0f} s, {counts}, resident "
        f"{resident[0] // MEGABYTE} MiB first, {resident[-1] // MEGABYTE} MiB last, "
        f"{max(resident) // MEGABYTE} MiB most"
    )
    assert counts.promotions > 0
    assert counts.bans + counts.invalidations > 0
    third = max(1, len(resident) // 3)
    growth = statistics.median(resident[-third:]) - statistics.median(resident[:third])
    assert growth < GROWTH_BYTES, resident
    limit = time.monotonic() + 30
    while IDLE_WORK.is_busy() and time.monotonic() < limit:
        time.sleep(0.05)
    assert threading.active_count() == threads_before
    assert {child.pid for child in process.children(recursive=True)} <= before
    assert SNAPSHOTS.held_bytes() == 0
