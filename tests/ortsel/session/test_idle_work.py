"""Background work runs when nobody asks anything, one task at a time, and ends with its owner."""

import logging
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from ortsel.background import DisturbedError, IdleWork, Requests, Turn, WorkStoppedError

IDLE_NS = 20_000_000
WAIT_S = 30.0


class Owner:
    """What work is for."""


@pytest.fixture
def requests() -> Requests:
    return Requests()


@pytest.fixture
def work(requests: Requests) -> Iterator[IdleWork]:
    idle_work = IdleWork(requests)
    yield idle_work
    idle_work.stop()


def _append(order: list[str], name: str, _: Turn) -> None:
    order.append(name)


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT_S
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()


def test_a_task_runs_once_on_a_thread_that_is_gone_afterwards(work: IdleWork) -> None:
    owner, ran = Owner(), []
    work.schedule(owner, lambda _: ran.append(threading.current_thread()), idle_ns=IDLE_NS)
    assert eventually(lambda: not work.is_busy())
    [thread] = ran
    assert thread is not threading.main_thread()
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_what_a_request_overlapped_is_done_over(work: IdleWork, requests: Requests) -> None:
    owner, done, given = Owner(), [], []

    def measure() -> int:
        done.append(1)
        if len(done) < 3:
            requests.note()
        return len(done)

    work.schedule(owner, lambda turn: given.append(turn.undisturbed(measure)), idle_ns=IDLE_NS)
    assert eventually(lambda: not work.is_busy())
    assert given == [3]


def test_what_no_request_overlapped_is_done_once_and_without_another_pause(
    work: IdleWork,
) -> None:
    owner, done = Owner(), []

    def task(turn: Turn) -> None:
        paused_ns = turn.paused_ns
        for _ in range(3):
            turn.undisturbed(lambda: done.append(1))
        done.append(turn.paused_ns == paused_ns)

    work.schedule(owner, task, idle_ns=IDLE_NS)
    assert eventually(lambda: not work.is_busy())
    assert done == [1, 1, 1, True]


def test_work_that_requests_keep_disturbing_gives_up_and_comes_back(
    work: IdleWork, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ortsel.background.idle_work.RETRY_FIRST_NS", IDLE_NS)
    owner, tries = Owner(), []

    def task(turn: Turn) -> None:
        tries.append(1)
        turn.undisturbed(requests.note if len(tries) < 3 else int, attempts=2)

    work.schedule(owner, task, idle_ns=IDLE_NS)
    assert eventually(lambda: not work.is_busy())
    assert len(tries) == 3


def test_nothing_goes_on_while_a_thread_is_in_a_call(work: IdleWork, requests: Requests) -> None:
    entered, leave, ran = threading.Event(), threading.Event(), threading.Event()

    def serve() -> None:
        entered.set()
        leave.wait(WAIT_S)

    requests.enter_through(serve.__code__)
    caller = threading.Thread(target=serve)
    caller.start()
    assert entered.wait(WAIT_S)
    assert requests.under_way()
    owner = Owner()
    work.schedule(owner, lambda _: ran.set(), idle_ns=IDLE_NS)
    assert not ran.wait(10 * IDLE_NS / 1e9)
    leave.set()
    caller.join()
    assert not requests.under_way()
    assert ran.wait(WAIT_S)


def test_a_call_that_outlives_its_frame_is_under_way_until_it_is_over(requests: Requests) -> None:
    before = requests.seen()
    token = requests.begin()
    assert requests.under_way()
    assert requests.seen() != before
    requests.end(token)
    assert not requests.under_way()


def test_the_heaviest_runs_first_and_of_equals_the_first_that_came(work: IdleWork) -> None:
    order: list[str] = []
    owner, begin = Owner(), threading.Event()
    work.schedule(owner, lambda _: begin.wait(WAIT_S), idle_ns=IDLE_NS)
    for name, weight in (("light", 1), ("heavy", 9), ("light too", 1)):
        task, weigh = partial(_append, order, name), partial(int, weight)
        work.schedule(owner, task, idle_ns=IDLE_NS, weight=weigh)
    begin.set()
    assert eventually(lambda: not work.is_busy())
    assert order == ["heavy", "light", "light too"]


def test_what_is_not_due_waits_and_what_is_due_does_not_wait_for_it(work: IdleWork) -> None:
    owner, order = Owner(), []
    later_ns = time.monotonic_ns() + 3600 * 10**9
    work.schedule(owner, lambda _: order.append("later"), not_before_ns=later_ns, idle_ns=IDLE_NS)
    work.schedule(owner, lambda _: order.append("now"), idle_ns=IDLE_NS)
    assert eventually(lambda: order == ["now"])
    del owner
    assert eventually(lambda: not work.is_busy())
    assert order == ["now"]


def test_an_owner_dies_while_its_work_waits_and_the_work_with_it(
    work: IdleWork, requests: Requests
) -> None:
    token = requests.begin()  # so that nothing can run
    owner, ran = Owner(), []
    work.schedule(owner, lambda _: ran.append(1), idle_ns=IDLE_NS)
    seen = weakref.ref(owner)
    del owner
    assert seen() is None, "the queue must not keep it alive"
    assert eventually(lambda: not work.is_busy())
    requests.end(token)
    assert ran == []


def test_an_owner_dies_while_its_task_runs_and_the_task_is_told(work: IdleWork) -> None:
    owner, running, told = Owner(), threading.Event(), []

    def task(turn: Turn) -> None:
        running.set()
        assert eventually(turn.is_stopped)
        try:
            turn.pause()
        except WorkStoppedError as error:
            told.append(error.reason)
            raise

    work.schedule(owner, task, idle_ns=IDLE_NS)
    assert running.wait(WAIT_S)
    del owner
    assert eventually(lambda: not work.is_busy())
    assert told == ["what it was for is gone"]


def test_stopping_ends_a_task_that_waits_and_takes_no_more(
    work: IdleWork, requests: Requests
) -> None:
    owner, ran = Owner(), []
    requests.begin()
    work.schedule(owner, lambda _: ran.append(1), idle_ns=3600 * 10**9)
    work.stop()
    assert not work.is_busy()
    work.schedule(owner, lambda _: ran.append(1), idle_ns=IDLE_NS)
    assert not work.is_busy()
    assert ran == []


def test_a_task_that_fails_is_logged_once_and_the_next_one_runs(
    work: IdleWork, caplog: pytest.LogCaptureFixture
) -> None:
    owner, ran = Owner(), []

    def task(_: Turn) -> None:
        raise ValueError("a defect")

    with caplog.at_level(logging.ERROR, "ortsel"):
        work.schedule(owner, task, idle_ns=IDLE_NS)
        work.schedule(owner, lambda _: ran.append(1), idle_ns=IDLE_NS)
        assert eventually(lambda: not work.is_busy())
    assert ran == [1]
    assert len(caplog.records) == 1
    assert "requests are not affected" in caplog.text


def test_waiting_is_not_counted_as_work(work: IdleWork, requests: Requests) -> None:
    owner, turns = Owner(), []

    def task(turn: Turn) -> None:
        requests.note()
        turn.pause()
        turns.append((turn.paused_ns, turn.active_ns))

    work.schedule(owner, task, idle_ns=IDLE_NS)
    assert eventually(lambda: not work.is_busy())
    [(paused_ns, _)] = turns
    assert paused_ns >= IDLE_NS


def test_disturbance_is_told_apart_from_the_end_of_work() -> None:
    assert not issubclass(DisturbedError, WorkStoppedError)
    assert "requests" in str(DisturbedError("requests came"))


FORKING = """
import os, threading
from ortsel.background import IDLE_WORK
class Owner: pass
owner, held, go = Owner(), threading.Event(), threading.Event()
IDLE_WORK.schedule(owner, lambda _: (held.set(), go.wait(30)), idle_ns=10**7)
assert held.wait(30)
IDLE_WORK._lock.acquire()  # as if another thread were scheduling right now
child = os.fork()
if child == 0:
    assert not IDLE_WORK.is_busy()
    ran = threading.Event()
    IDLE_WORK.schedule(owner, lambda _: ran.set(), idle_ns=10**7)
    os._exit(0 if ran.wait(30) else 3)
IDLE_WORK._lock.release()
go.set()
_, status = os.waitpid(child, 0)
raise SystemExit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_starts_over_with_no_work_no_thread_and_no_lock() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
