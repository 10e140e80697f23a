"""A plan that becomes slower while it serves goes back to the reference (S10)."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime
import psutil
import pytest
from attrs import evolve

import ortsel
from ortsel.background import IDLE_WORK
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan
from ortsel.selectors import forget_all
from ortsel.store.search_log import Withdrawn, search_log
from spec.policy import Policy
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed
from tests.ortsel.watch.watched_models import half_wasteful, needs_two_processors

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not hasattr(os, "sched_setaffinity") or len(os.sched_getaffinity(0)) < 2,
        reason="needs two processors, one of which can be taken away",
    ),
]
WAIT_S = 120.0


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("ortsel.session_tuner.NICENESS", 0)
    forget_all()
    yield
    until = time.monotonic() + WAIT_S
    while IDLE_WORK.is_busy() and time.monotonic() < until:
        time.sleep(0.02)
    forget_all()


@pytest.fixture
def processors() -> Iterator[Callable[[Sequence[int]], None]]:
    """Sets which processors every thread of this process, and so its children, may use."""
    every = sorted(os.sched_getaffinity(0))

    def allow(some: Sequence[int]) -> None:
        for thread in psutil.Process().threads():
            try:
                os.sched_setaffinity(thread.id, some)
            except ProcessLookupError:
                continue  # it ended meanwhile

    yield allow
    allow(every)


@pytest.mark.parametrize("recurs", [False, pytest.param(True, marks=pytest.mark.deep)])
def test_a_plan_that_loses_a_processor_is_demoted_and_when_it_recurs_banned(
    recurs: bool, tmp_path: Path, processors: Callable[[Sequence[int]], None]
) -> None:
    model = half_wasteful(tmp_path / "model.onnx")
    library = needs_two_processors(tmp_path)
    store = tmp_path / "store.sqlite"

    def plans(facts: CandidateFacts) -> tuple[Plan, ...]:
        [folded] = folding(facts)
        settings = evolve(folded.settings, custom_op_libraries=(str(library),))
        return (evolve(folded, name="needs-two", settings=settings),)

    session = ortsel.InferenceSession(
        model,
        unoptimized(),
        selection=ortsel.SelectionConfig(
            mode="blocking",
            store=store,
            candidates=plans,
            policy=Policy(retry_after_s=1),
            budget_s=60.0,
            idle_s=0.02,
            shadow_share=1.0,
            shadow_every_s=0.05,
            watch_every_s=0.3,
        ),
    )
    feeds = [wasteful_feed(seed) for seed in range(3)]
    plain = onnxruntime.InferenceSession(model, unoptimized())
    expected = [plain.run(None, feed)[0] for feed in feeds]
    calls = 0

    def serve_until(holds: Callable[[], bool]) -> bool:
        nonlocal calls
        until = time.monotonic() + WAIT_S
        while not holds() and time.monotonic() < until:
            served = session.run(None, feeds[calls % 3])[0]
            np.testing.assert_allclose(served, expected[calls % 3], rtol=1e-4, atol=1e-5)
            calls += 1
            settled = time.monotonic() + 5.0
            while IDLE_WORK.is_busy() and time.monotonic() < settled:
                time.sleep(0.02)  # the session is idle for as long as something is looked at
            time.sleep(0.02)
        return holds()

    def plan() -> object:
        return calls and session.explain().rows()[-1]["plan"]

    assert serve_until(lambda: plan() == "needs-two"), session.explain()
    assert serve_until(lambda: session.explain().checks.replays >= 1), session.explain()
    assert plan() == "needs-two", "with all processors it holds"
    every = sorted(os.sched_getaffinity(0))
    processors(every[:1])
    assert serve_until(lambda: session.explain().checks.demoted >= 1), session.explain()
    assert plan() == "reference"
    assert session.statistics().degradations == 1
    processors(every)
    reasons = withdrawals(store)
    assert len(reasons) == 1
    assert reasons[0].startswith("slower than the reference: median ratio")
    if not recurs:
        return
    assert serve_until(lambda: plan() == "needs-two"), session.explain()
    processors(every[:1])
    assert serve_until(lambda: session.explain().checks.banned == 1), session.explain()
    processors(every)
    explorations = session.statistics().explorations
    assert serve_until(lambda: session.statistics().explorations > explorations)
    assert plan() == "reference", "a banned plan is not chosen again"
    [banned] = [row for row in session.explain().candidate_rows() if row["plan"] == "needs-two"]
    assert banned["outcome"] == "banned"
    assert [reason.startswith("banned") for reason in withdrawals(store)] == [False, True]


def withdrawals(store: Path) -> list[str]:
    log = search_log(store)
    assert log is not None
    return [
        logged.entry.reason
        for logged in log.entries()
        if not isinstance(logged, Exception) and isinstance(logged.entry, Withdrawn)
    ]
