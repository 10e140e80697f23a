"""Programs that fork, reenter, print nothing, drop sessions and take the floor from under them."""

import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest

import ortsel
from ortsel.background import IDLE_WORK, REQUESTS, IdleWork, Requests, Turn
from ortsel.background.snapshots import Snapshots
from ortsel.choice import Choices, reference_for_ever
from tests.ortsel.session.session_models import wasteful, wasteful_feed, wasteful_for_any_rows

ROOT = Path(__file__).parents[3]
WAIT_S = 60.0
WAITING = ortsel.SelectionConfig(store=None, idle_s=30.0)
"""Nothing is decided as long as a test runs."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wasteful_for_any_rows(tmp_path_factory.mktemp("model") / "any-rows.onnx")


def rows(count: int) -> dict[str, np.ndarray[Any, np.dtype[np.float32]]]:
    return {"x": np.ones((count, 160), np.float32)}


def program(
    text: str, *arguments: str, options: tuple[str, ...] = (), **more: Any
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *options, "-c", text, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        **more,
    )


KEEPING = """
import os, sys
from ortsel import fork

class Told:
    def __init__(self, name):
        self.name = name
        self.write = os.write
    def __del__(self):
        self.write(1, self.name.encode() + b" destroyed\\n")

fork.keep_for_ever(Told("kept"))
fork.other = Told("other")
"""


def test_what_is_kept_for_ever_outlives_the_interpreter() -> None:
    ended = program(KEEPING)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "other destroyed\n", "the module itself is taken apart"


def with_options(session: ortsel.InferenceSession) -> None:
    session.run(None, rows(1), onnxruntime.RunOptions())


def ort_values(session: ortsel.InferenceSession) -> None:
    session.run_with_ort_values(None, {"x": onnxruntime.OrtValue.ortvalue_from_numpy(rows(1)["x"])})


def vectors(session: ortsel.InferenceSession) -> None:
    feeds, fetches = (onnxruntime.capi.onnxruntime_pybind11_state.OrtValueVector() for _ in "ab")
    feeds.push_back(onnxruntime.OrtValue.ortvalue_from_numpy(rows(1)["x"])._ortvalue)
    device = onnxruntime.OrtDevice.make("cpu", 0)._get_c_device()
    run_options = onnxruntime.RunOptions()
    session.run_with_ortvaluevector(run_options, ["x"], feeds, ["y"], fetches, [device])
    assert len(fetches) == 1


def bound(session: ortsel.InferenceSession) -> None:
    binding = session.io_binding()
    binding.bind_cpu_input("x", rows(1)["x"])
    binding.bind_output("y")
    session.run_with_iobinding(binding)


def asynchronous(session: ortsel.InferenceSession) -> None:
    done = threading.Event()
    session.run_async(None, rows(1), lambda *_: done.set(), None)
    assert done.wait(WAIT_S)


@pytest.mark.parametrize(
    "call",
    [
        lambda session: session.run(None, rows(1)),
        with_options,
        ort_values,
        vectors,
        bound,
        asynchronous,
    ],
    ids=["run", "run options", "OrtValues", "vectors", "bound", "asynchronous"],
)
def test_every_way_to_run_counts_as_traffic(
    call: Callable[[ortsel.InferenceSession], None], model: Path
) -> None:
    options = ortsel.SessionOptions()
    options.intra_op_num_threads = 2
    for config in (WAITING, ortsel.SelectionConfig(mode="disabled")):
        session = ortsel.InferenceSession(model, options, selection=config)
        for _ in range(3):
            before = REQUESTS.seen()
            call(session)
            assert REQUESTS.seen() != before


def test_a_shape_that_leaves_takes_no_call_out_of_the_count() -> None:
    choices, requests = Choices(), Requests()
    requests.count_in(choices)
    for signature in range(4):
        choice = reference_for_ever()
        choice.uses = 3
        before = choices.total_uses()
        choices.remember(signature, choice, 2)
        assert choices.total_uses() == before + 3
    assert len(choices) == 2, "pointless unless some left"


def test_calls_elsewhere_do_not_make_up_for_a_session_that_dies() -> None:
    class Counted:
        def total_uses(self) -> int:
            return 1

    requests, counted = Requests(), Counted()
    requests.count_in(counted)
    before = requests.seen()
    del counted
    requests.note()
    assert requests.seen() != before


def test_a_burst_of_work_wakes_the_thread_once() -> None:
    requests = Requests()
    work, owner, go_on = IdleWork(requests), gc, threading.Event()
    try:
        work.schedule(owner, lambda _: go_on.wait(WAIT_S), idle_ns=0)
        until = time.monotonic() + WAIT_S
        while work._work and time.monotonic() < until:
            time.sleep(0.001)
        for _ in range(500):
            work.schedule(owner, lambda _: None, idle_ns=0)
        assert work._wake.qsize() <= 1
        go_on.set()
    finally:
        work.stop()


def test_work_for_the_dead_is_forgotten_while_requests_come() -> None:
    class Owner:
        pass

    requests = Requests()
    work, living = IdleWork(requests), Owner()
    try:
        for _ in range(1000):
            owner = Owner()
            work.schedule(owner, lambda _: None, idle_ns=100_000_000_000)
        work.schedule(living, lambda _: None, idle_ns=100_000_000_000)
        assert len(work._work) <= 70
        assert any(one.owner() is living for one in work._work), "only those of the dead"
    finally:
        work.stop()


def test_ever_new_shapes_do_not_pile_up(model: Path) -> None:
    config = ortsel.SelectionConfig(store=None, idle_s=30.0, max_shapes=5)
    session = ortsel.InferenceSession(model, selection=config)
    before = len(IDLE_WORK._work)
    for count in range(1, 60):
        session.run(None, rows(count))
    assert 0 < len(IDLE_WORK._work) - before <= 6


class Slow(dict[str, np.ndarray[Any, np.dtype[Any]]]):
    """Inputs whose copy takes as long as somebody wants."""

    copying = threading.Event()
    may_go_on = threading.Event()

    def items(self) -> Any:
        self.copying.set()
        self.may_go_on.wait(WAIT_S)
        return super().items()


def test_no_request_waits_for_another_ones_copy_whose_room_is_taken() -> None:
    snapshots = Snapshots()  # those of the process change as sessions of other tests are collected
    taken: list[Any] = []
    thread = threading.Thread(target=lambda: taken.append(snapshots.take(Slow(rows(2)), 2**20)))
    thread.start()
    try:
        assert Slow.copying.wait(WAIT_S)
        assert snapshots.held_bytes() == 2 * 640
        others: list[Any] = []
        other = threading.Thread(target=lambda: others.append(snapshots.take(rows(1), 2**20)))
        other.start()
        other.join(WAIT_S / 10)
        assert [list(one.feed) for one in others] == [["x"]]
        assert taken == [], "pointless unless the first is still being copied"
    finally:
        Slow.may_go_on.set()
        thread.join(WAIT_S)
    np.testing.assert_array_equal(taken[0].feed["x"], rows(2)["x"])


def test_a_first_call_that_is_interrupted_does_not_keep_its_shape_from_being_decided(
    model: Path,
) -> None:
    interrupted: list[tuple[int, ...]] = []

    def buckets(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        del name
        if not interrupted:
            interrupted.append(shape)
            raise KeyboardInterrupt
        return shape

    config = ortsel.SelectionConfig(store=None, idle_s=30.0, shape_buckets=buckets)
    session = ortsel.InferenceSession(model, selection=config)
    with pytest.raises(KeyboardInterrupt):
        session.run(None, rows(1))
    assert session.explain().rows() == [], "pointless unless it came before the shape was left"
    session.run(None, rows(1))
    assert [row["source"] for row in session.explain().rows()] == ["waiting"]


class Deployed(ortsel.InferenceSession):
    """A session whose model is taken away as soon as it is loaded."""

    def _create_inference_session(self, *arguments: Any) -> None:
        super()._create_inference_session(*arguments)
        assert self._model_path is not None
        os.unlink(self._model_path)


def test_a_model_that_is_gone_once_it_is_loaded_is_a_reason_and_no_fault(
    model: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = tmp_path / "gone.onnx"
    gone.write_bytes(model.read_bytes())
    session = Deployed(str(gone), selection=WAITING)
    assert "changed since the session loaded it" in session.explain().not_tuned
    assert session.run(None, rows(1))[0].shape == (1, 160)
    assert [record for record in caplog.records if record.levelname in {"WARNING", "ERROR"}] == []


def test_sessions_that_are_dropped_leave_at_once_without_the_collector(model: Path) -> None:
    gc.disable()
    try:
        session = ortsel.InferenceSession(model, selection=WAITING)
        session.run(None, rows(3))
        session.run(None, rows(3))
        native = weakref.ref(session._sess)
        del session
        assert native() is None
    finally:
        gc.enable()


MANY = """
import os, sys, threading, time
import numpy as np
import ortsel
from ortsel.background.idle_work import IDLE_WORK
from ortsel.background.snapshots import SNAPSHOTS
WAITING = ortsel.SelectionConfig(store=None, idle_s=30.0)
FEED = {"x": np.ones((1, 160), np.float32)}
def counts():
    kinds = (len(os.listdir(f"/proc/self/{kind}")) for kind in ("task", "fd"))
    return [threading.active_count(), *kinds]
def once():
    ortsel.InferenceSession(sys.argv[1], selection=WAITING).run(None, FEED)
def settled(least):
    until = time.monotonic() + 10  # the system takes a moment over threads that ended
    while any(map(int.__gt__, counts(), least)) and time.monotonic() < until:
        time.sleep(0.05)
    return counts()
for _ in range(3):
    once()
time.sleep(0.5)
before = counts()
for _ in range(70):
    once()
print([after - one for one, after in zip(before, settled(before))])
print(len(IDLE_WORK._work) <= 70, SNAPSHOTS.held_bytes() <= 80 * 640)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted on Linux")
def test_many_sessions_leave_no_thread_no_descriptor_and_no_copy_behind(model: Path) -> None:
    """In a process of its own: what other tests start may come and go meanwhile."""
    ended = program(MANY, str(model))
    assert (ended.stderr, ended.stdout) == ("", "[0, 0, 0]\nTrue True\n")


def test_providers_that_cannot_be_set_leave_what_onnx_runtime_leaves_and_a_reason(
    model: Path,
) -> None:
    ours = ortsel.InferenceSession(model, selection=WAITING)
    theirs = onnxruntime.InferenceSession(model)
    ours.run(None, rows(1))
    for session in (ours, theirs):
        with pytest.raises(ValueError, match="the same length"):
            session.set_providers(["CPUExecutionProvider"], [{}, {}, {}])
    assert "set_providers failed: ValueError" in str(ours.explain())
    assert ours.get_providers() == theirs.get_providers()
    assert (ours._sess, ours.get_session_options()) == (theirs._sess, theirs.get_session_options())
    failed = []
    for session in (ours, theirs):
        with pytest.raises(Exception) as raised:  # noqa: PT011
            session.run(None, rows(1))
        failed.append((type(raised.value), str(raised.value)))
    assert failed[0] == failed[1]
    ours.set_providers(["CPUExecutionProvider"])
    ours.run(None, rows(1))
    assert len(ours.explain().rows()) == 1


def test_a_subclass_is_asked_nothing_before_it_is_ready(model: Path) -> None:
    class Named(ortsel.InferenceSession):
        def __init__(self, path: Path) -> None:
            super().__init__(path, selection=WAITING)
            self.names = [value.name for value in super().get_outputs()]

        def get_outputs(self) -> Any:
            return self.names

    session = Named(model)
    assert session.get_outputs() == ["y"]
    session.run(None, rows(1))
    assert session.explain().rows()[0]["source"] == "waiting"


QUIET = """
import sys
import numpy as np, ortsel
from ortsel.background import IDLE_WORK

model, store = sys.argv[1:]
sys.executable = ""
for _ in range(2):
    config = ortsel.SelectionConfig(store=store, mode="blocking")
    session = ortsel.InferenceSession(model, selection=config)
    for count in (1, 2, 3):
        session.run(None, {"x": np.ones((count, 160), np.float32)})
"""


def test_a_program_without_logging_gets_one_line_per_warning_and_nothing_on_stdout(
    model: Path, tmp_path: Path
) -> None:
    ended = program(QUIET, str(model), str(tmp_path / "store.sqlite"))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == (
        "ortsel: tuning is off in this process: trials are not possible: got an empty "
        "sys.executable, need sys.executable to be a Python interpreter that can be started; "
        "the reference serves\n"
    )


DEFECT = """
import sys
import numpy as np, ortsel
from ortsel import session_tuner

def broken(*_):
    raise ZeroDivisionError("a defect\\nof ours")

session_tuner.SessionTuner.workload = broken
session = ortsel.InferenceSession(sys.argv[1], selection=ortsel.SelectionConfig(store=None))
for count in (1, 2, 3):
    session.run(None, {"x": np.ones((count, 160), np.float32)})
"""


def test_a_defect_is_told_in_one_line_once_however_many_shapes_it_hits(model: Path) -> None:
    ended = program(DEFECT, str(model))
    assert (ended.returncode, ended.stdout) == (0, "")
    assert ended.stderr == (
        "ortsel: a shape keeps the reference: ZeroDivisionError: a defect of ours; "
        "requests are not affected; this is a fault worth reporting\n"
    )


REENTERING = """
import signal, sys
import numpy as np, ortsel

config = ortsel.SelectionConfig(store=None, idle_s=30.0)
session = ortsel.InferenceSession(sys.argv[1], selection=config)
serial = iter(range(1, 10**6))
handled = 0

def call(*_):
    session.run(None, {"x": np.ones((next(serial), 160), np.float32)})

def handle(*_):
    global handled
    handled += 1
    call()
    signal.setitimer(signal.ITIMER_REAL, 0.0003)  # now, so that it never interrupts itself

call()  # ONNX Runtime's own very first run hangs where it is interrupted by another
signal.signal(signal.SIGALRM, handle)
signal.setitimer(signal.ITIMER_REAL, 0.0003)
for _ in range(250):
    call()
signal.setitimer(signal.ITIMER_REAL, 0)
print("handled" if handled > 20 else handled)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="signals of another kind")
def test_a_signal_handler_may_make_calls_in_the_middle_of_a_call(model: Path) -> None:
    ended = program(REENTERING, str(model))
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "handled\n", "")


HOSTILE = """
import os, signal, sys, threading, time
handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
import ortsel
from ortsel import session_tuner
from ortsel.background import IDLE_WORK
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

session_tuner.NICENESS = 0  # other tests beside this one would starve the search
os.write(1, b"main\\n")  # once, or a child ran this
os.chdir(sys.argv[1])
session = ortsel.InferenceSession(
    "model.onnx",
    unoptimized(),
    selection=ortsel.SelectionConfig(idle_s=0.02, candidates=folding, budget_s=60.0),
)
os.chdir("/")
os.environ.update(PYTHONWARNINGS="error", PYTHONSTARTUP="/nowhere", ORTSEL_MODE="disabled")
sys.argv[:] = ["other"]
for _ in range(2):
    session.run(None, wasteful_feed())
until = time.monotonic() + 60
while IDLE_WORK.is_busy() and time.monotonic() < until:
    time.sleep(0.02)
changed = [one for one, was in handlers.items() if signal.getsignal(one) != was]
os.write(1, f"{session.explain().rows()[0]['plan']} {changed}\\n".encode())
"""


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="another shell")
def test_a_search_needs_nothing_that_a_program_may_lack(tmp_path: Path) -> None:
    """No main guard, input, home or Python path; asserts off, warnings errors, another folder."""
    wasteful(tmp_path / "model.onnx")
    lacking = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), "/dev/null/nowhere")
    python = [sys.executable, "-O", "-W", "error", "-X", "faulthandler", "-c", HOSTILE]
    ended = subprocess.run(
        ["sh", "-c", 'umask 077; exec "$@" <&-', "sh", *python, str(tmp_path)],
        cwd=ROOT,
        env={key: text for key, text in os.environ.items() if key != "PYTHONPATH"} | lacking,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout == "main\nfolding []\n"
    # ONNX Runtime itself misses a place for a file of its own.
    lines = [line for line in ended.stderr.splitlines() if ":onnxruntime:" not in line]
    assert len(lines) <= 1, ended.stderr
    assert all("decisions are kept in memory" in line for line in lines), ended.stderr


FORKING = """
import os, signal, sys, threading, time
import ortsel
from ortsel import session_tuner
from ortsel.background import IDLE_WORK
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

def files():
    return sorted(name for name in os.listdir(os.environ["TMPDIR"]) if name != ".ses")

def tell(step):
    if files():
        told.set()
        go_on.wait(60)

session_tuner.NICENESS = 0  # other tests beside this one would starve the search
told, go_on = threading.Event(), threading.Event()
config = ortsel.SelectionConfig(
    store=None, budget_s=60.0, candidates=folding, idle_s=0.02, progress=tell
)
model = open(sys.argv[1], "rb").read()
session = ortsel.InferenceSession(model, unoptimized(), selection=config)
for _ in range(2):
    session.run(None, wasteful_feed())
assert told.wait(60)
before = files()
child = os.fork()
if child == 0:
    sys.exit(0)
# ONNX Runtime may hang in a forked child's very end, after all that Python does there.
until = time.monotonic() + 1.5
while not os.waitpid(child, os.WNOHANG)[0]:
    if time.monotonic() > until:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        break
    time.sleep(0.01)
print("kept" if files() == before else files())
go_on.set()
while IDLE_WORK.is_busy():
    time.sleep(0.02)
print(session.explain().rows()[0]["plan"])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_that_exits_leaves_the_files_of_its_parents_search(tmp_path: Path) -> None:
    model, scratch = wasteful(tmp_path / "model.onnx"), tmp_path / "scratch"
    scratch.mkdir()
    lines = ("-W", "ignore")  # newer interpreters warn of a fork beside threads
    ended = program(FORKING, str(model), options=lines, env=os.environ | {"TMPDIR": str(scratch)})
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines() == ["kept", "folding"]
    assert [path.name for path in scratch.iterdir() if path.name != ".ses"] == []


@pytest.mark.parametrize("change", ["deleted", "replaced"])
def test_a_model_file_that_changes_after_loading_changes_nothing_that_is_served(
    change: str, tmp_path: Path
) -> None:
    path = wasteful(tmp_path / "model.onnx")
    expected = onnxruntime.InferenceSession(path).run(None, wasteful_feed())[0]
    config = ortsel.SelectionConfig(store=None, mode="blocking")
    session = ortsel.InferenceSession(path, selection=config)
    path.unlink()
    if change == "replaced":
        path.write_bytes(b"another")
    for _ in range(3):
        np.testing.assert_array_equal(session.run(None, wasteful_feed())[0], expected)
    assert "changed since the session loaded it" in str(session.explain())


def test_a_turn_still_sees_quiet_where_there_is_quiet() -> None:
    requests = Requests()
    turn = Turn(requests, 1_000_000, lambda ns: time.sleep(ns / 1e9), str)
    assert turn.undisturbed(lambda: 5) == 5
