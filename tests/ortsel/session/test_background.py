"""The default mode: the reference answers at once, and a plan takes over when it is ready."""

import gc
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime
import psutil
import pytest
from attrs import evolve

import ortsel
from ortsel.background import IDLE_WORK
from ortsel.environment import read_environment
from ortsel.progress import Progress, Stage
from ortsel.selectors import forget_all, searching
from ortsel.session_tuner import NICENESS
from tests.ortsel.session.session_models import folding, unoptimized, wasteful, wasteful_feed

pytestmark = pytest.mark.slow

WAIT_S = 90.0


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test starts as a process that has decided nothing yet.

    At the lowest priority, other tests beside this one would starve its searches.
    """
    monkeypatch.setattr("ortsel.session_tuner.NICENESS", 0)
    forget_all()
    yield
    assert eventually(lambda: not IDLE_WORK.is_busy()), "work of a session that is gone"
    forget_all()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return wasteful(tmp_path / "model.onnx")


def background(
    store: Path | None = None, progress: Callable[[Progress], None] | None = None
) -> ortsel.SelectionConfig:
    return ortsel.SelectionConfig(
        store=store, budget_s=60.0, candidates=folding, idle_s=0.05, progress=progress
    )


def open_session(model: Path, config: ortsel.SelectionConfig) -> ortsel.InferenceSession:
    return ortsel.InferenceSession(model, unoptimized(), selection=config)


def eventually(holds: Callable[[], bool], seconds: float = WAIT_S) -> bool:
    until = time.monotonic() + seconds
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def row(session: ortsel.InferenceSession) -> dict[str, object]:
    return dict(session.explain().rows()[-1])


def is_decided(session: ortsel.InferenceSession) -> bool:
    return row(session)["source"] != "waiting"


def expected(model: Path, seed: int) -> np.ndarray:
    outputs = onnxruntime.InferenceSession(model, unoptimized()).run(None, wasteful_feed(seed))
    return np.asarray(outputs[0])


def test_it_is_the_default() -> None:
    assert ortsel.SelectionConfig().mode is ortsel.SelectionMode.BACKGROUND


def test_no_request_waits_for_a_search_and_the_winner_serves_from_the_next_call_on(
    model: Path, newly_held_bytes: Callable[[], int]
) -> None:
    searching_now, go_on = threading.Event(), threading.Event()
    threads: set[str] = set()

    def hold(_: Progress) -> None:
        threads.add(threading.current_thread().name)
        searching_now.set()
        assert go_on.wait(WAIT_S)

    session = open_session(model, background(progress=hold))
    first = session.run(None, wasteful_feed(0))[0]
    np.testing.assert_array_equal(first, expected(model, 0))
    assert row(session)["plan"] == "reference"
    assert not searching_now.is_set()
    session.run(None, wasteful_feed(1))
    assert searching_now.wait(WAIT_S), "a shape that was used twice is searched for"
    for seed in range(3):  # the search is held, and requests return
        np.testing.assert_array_equal(
            session.run(None, wasteful_feed(seed))[0], expected(model, seed)
        )
    assert row(session)["source"] == "waiting"
    go_on.set()
    assert eventually(lambda: is_decided(session))
    assert (row(session)["plan"], row(session)["source"]) == ("folding", "tuned")
    assert threads == {"ortsel-background"}
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert session._ortsel_connection is not None
    [choice] = session._ortsel_connection.choices.values()
    assert choice.session is not None
    for seed in range(3):
        served = session.run(None, wasteful_feed(seed))[0]
        np.testing.assert_allclose(served, expected(model, seed), rtol=1e-5, atol=1e-6)
    assert eventually(lambda: not IDLE_WORK.is_busy()), "a served call is looked at once more"
    assert newly_held_bytes() == 0
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("ortsel")]


def test_a_shape_that_is_called_once_is_not_tuned_and_says_so(
    model: Path, newly_held_bytes: Callable[[], int]
) -> None:
    session = open_session(model, background())
    session.run(None, wasteful_feed())
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert session.statistics().explorations == 0
    assert "min_uses" in str(row(session)["reason"])
    assert newly_held_bytes() == 0
    session.run(None, wasteful_feed())
    assert eventually(lambda: session.statistics().explorations == 1)


def test_a_stored_decision_serves_after_the_first_call_which_reads_neither_store_nor_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store.sqlite"
    tuning = evolve(background(store), mode="blocking")
    open_session(model, tuning).run(None, wasteful_feed())
    forget_all()
    threads: set[str] = set()

    def read() -> object:
        threads.add(threading.current_thread().name)
        return read_environment()

    monkeypatch.setattr("ortsel.session_tuner.read_environment", read)
    session = open_session(model, background(store))
    np.testing.assert_array_equal(session.run(None, wasteful_feed(3))[0], expected(model, 3))
    assert eventually(lambda: is_decided(session))
    assert (row(session)["plan"], row(session)["source"]) == ("folding", "stored")
    assert session.statistics().explorations == 0
    assert threads == {"ortsel-background"}
    served = session.run(None, wasteful_feed(4))[0]
    np.testing.assert_allclose(served, expected(model, 4), rtol=1e-5, atol=1e-6)


def test_a_measurement_that_a_request_overlaps_is_made_anew(model: Path) -> None:
    asked = threading.Event()
    measured: list[str] = []
    held: list[ortsel.InferenceSession] = []

    def disturb(step: Progress) -> None:
        if step.stage is Stage.MEASURING:
            measured.append(step.candidate)
            if not asked.is_set():
                asked.set()
                held[0].run(None, wasteful_feed())

    session = open_session(model, background(progress=disturb))
    held.append(session)
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert eventually(lambda: is_decided(session))
    assert row(session)["plan"] == "folding"
    [reference, winner] = session.explain().candidate_rows()
    assert reference["plan"] == "reference"
    blocks = winner["blocks"]
    assert isinstance(blocks, int)
    assert measured[:2] == ["reference", "reference"], "the overlapped one, and once more"
    assert len(measured) > 4 * blocks
    held.clear()


def test_the_callers_arrays_may_change_as_soon_as_the_call_returns(model: Path) -> None:
    seen: list[np.ndarray] = []
    session = open_session(model, background())
    feed = wasteful_feed(7)
    for _ in range(2):
        session.run(None, feed)
        seen.append(feed["x"].copy())
        feed["x"][:] = np.nan  # on such a feed nothing could be verified
    assert eventually(lambda: is_decided(session))
    assert (row(session)["plan"], row(session)["verified"]) == ("folding", True)


def test_a_session_dies_with_its_last_reference_while_its_search_is_under_way(
    model: Path, newly_held_bytes: Callable[[], int]
) -> None:
    searching_now, go_on = threading.Event(), threading.Event()

    def hold(_: Progress) -> None:
        searching_now.set()
        go_on.wait(WAIT_S)

    session = open_session(model, background(progress=hold))
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert searching_now.wait(WAIT_S)
    seen = weakref.ref(session)
    gc.disable()
    try:
        del session
        assert seen() is None, "no cycle, and nothing in the background holds it"
    finally:
        gc.enable()
    go_on.set()
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert searching().acquire(blocking=False)
    searching().release()
    assert newly_held_bytes() == 0


@pytest.mark.skipif(not hasattr(os, "nice"), reason="this system has no nice")
def test_children_have_the_lowest_priority_and_end_with_their_session(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ortsel.session_tuner.NICENESS", NICENESS)
    others = psutil.Process().children()  # of tests before this one in the same process
    children: list[psutil.Process] = []
    seen, go_on = threading.Event(), threading.Event()

    def look(_: Progress) -> None:
        children.extend(one for one in psutil.Process().children() if one not in others)
        if children and not seen.is_set():
            eventually(lambda: all(child.nice() == NICENESS for child in children))
            priorities.extend(child.nice() for child in children)
            seen.set()
            go_on.wait(WAIT_S)

    priorities: list[int] = []
    session = open_session(model, background(progress=look))
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert seen.wait(WAIT_S)
    assert set(priorities) == {NICENESS}
    del session
    go_on.set()
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert not any(child.is_running() for child in children)


def test_sixteen_threads_at_once_are_answered_by_the_reference_and_cause_one_search(
    model: Path,
) -> None:
    session = open_session(model, background())
    feeds = [wasteful_feed(seed) for seed in range(16)]
    plain = onnxruntime.InferenceSession(model, unoptimized())
    answers = [plain.run(None, feed)[0] for feed in feeds]
    together = threading.Barrier(16)
    wrong: list[int] = []

    def call(index: int) -> None:
        together.wait()
        served = [session.run(None, feeds[index])[0] for _ in range(3)]
        wrong.extend(index for one in served if not np.array_equal(one, answers[index]))

    threads = [threading.Thread(target=call, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert eventually(lambda: is_decided(session))
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert session.statistics().explorations == 1
    assert row(session)["plan"] == "folding"


def test_eight_threads_get_right_answers_while_a_plan_is_promoted_and_banned(model: Path) -> None:
    """The switch is made by hand, over and over: traffic as dense as this leaves no idle moment."""
    config = evolve(background(), mode="blocking")
    tuned = open_session(model, config)
    tuned.run(None, wasteful_feed())
    connection = tuned._ortsel_connection
    assert connection is not None
    [(signature, choice)] = connection.choices.items()
    assert choice.session is not None, "pointless unless a plan serves"
    feeds = [wasteful_feed(seed) for seed in range(8)]
    plain = onnxruntime.InferenceSession(model, unoptimized())
    answers = [plain.run(None, feed)[0] for feed in feeds]
    stop = threading.Event()
    wrong: list[str] = []
    calls = [0] * 8

    def call(index: int) -> None:
        while not stop.is_set():
            served = tuned.run(None, feeds[index])[0]
            calls[index] += 1
            if not np.allclose(served, answers[index], rtol=1e-5, atol=1e-6):
                wrong.append(f"thread {index}, call {calls[index]}")

    threads = [threading.Thread(target=call, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    switches = 0
    while switches < 20 or min(calls) < 3:
        assert connection.choices.without(choice.session) == [signature]
        connection.choices.replace(signature, evolve(choice))
        switches += 1
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_bound_call_is_decided_in_the_background_too(model: Path) -> None:
    session = open_session(model, background())
    feed = wasteful_feed()
    binding = session.io_binding()
    binding.bind_cpu_input("x", feed["x"])
    binding.bind_output("y")
    for _ in range(2):
        session.run_with_iobinding(binding)
    assert eventually(lambda: is_decided(session))
    assert row(session)["plan"] == "folding"
    assert "bound-cpu" in str(row(session)["workload"])
    feed["x"][:] = wasteful_feed(5)["x"]
    session.run_with_iobinding(binding)
    np.testing.assert_allclose(
        binding.copy_outputs_to_cpu()[0], expected(model, 5), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize(
    "config",
    [
        ortsel.SelectionConfig(store=None, idle_s=0.05, candidates=folding, max_tuned_shapes=0),
        ortsel.SelectionConfig(store=None, idle_s=0.05, candidates=folding, session_budget_s=0),
        ortsel.SelectionConfig(store=None, idle_s=0.05, candidates=folding, process_budget_s=0),
    ],
)
def test_beyond_a_limit_nothing_is_searched_for_and_the_reason_names_it(
    model: Path, config: ortsel.SelectionConfig
) -> None:
    session = open_session(model, config)
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert eventually(lambda: not IDLE_WORK.is_busy())
    assert session.statistics().explorations == 0
    [limit] = [
        name
        for name in ("max_tuned_shapes", "session_budget_s", "process_budget_s")
        if getattr(config, name) == 0
    ]
    assert limit in str(row(session)["reason"])
    session.run(None, wasteful_feed())
    assert not IDLE_WORK.is_busy(), "it lasts"


def test_inputs_that_are_more_than_may_be_copied_keep_the_reference(model: Path) -> None:
    session = open_session(model, evolve(background(), snapshot_bytes=100))
    for _ in range(3):
        session.run(None, wasteful_feed())
    assert not IDLE_WORK.is_busy()
    assert "102400 bytes" in str(row(session)["reason"])


def test_what_goes_wrong_in_the_background_is_logged_once_and_reaches_nobody(
    model: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Progress) -> None:
        raise ValueError("a listener's defect")

    session = open_session(model, background(progress=fail))
    for _ in range(2):
        session.run(None, wasteful_feed())
    assert eventually(lambda: is_decided(session))
    for seed in range(2):
        np.testing.assert_array_equal(
            session.run(None, wasteful_feed(seed))[0], expected(model, seed)
        )
    assert "a listener's defect" in str(row(session)["reason"])
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1
