"""However a process ends, its background work leaves no process and no file behind."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tests.ortsel.session.session_models import wasteful

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="signals of another kind"),
]

ROOT = Path(__file__).parents[3]
WAIT_S = 60.0

PROGRAM = """
import sys, threading, time
import ortsel
from ortsel import session_tuner
from ortsel.progress import Stage
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

def tell(step):
    if step.stage is Stage.MEASURING and not told.is_set():
        told.set()
        sys.stdout.write("measuring\\n")
        sys.stdout.flush()

session_tuner.NICENESS = 0  # other tests beside this one would starve the search
told = threading.Event()
model, store, ending = sys.argv[1:]
config = ortsel.SelectionConfig(
    store=store, budget_s=60.0, candidates=folding, idle_s=0.02, progress=tell
)
session = ortsel.InferenceSession(model, unoptimized(), selection=config)
for _ in range(2):
    session.run(None, wasteful_feed())
assert told.wait(100), session.explain()
if ending == "returns":
    pass
elif ending == "raises":
    raise ValueError("an error of the program's own")
elif ending == "exits in a request":
    session.run(None, wasteful_feed())
    sys.exit(0)
else:
    time.sleep(600)
"""


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + WAIT_S
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def left_in(folder: Path) -> list[str]:
    """Names in a folder, but for the file that ONNX Runtime itself leaves there."""
    return [path.name for path in folder.iterdir() if path.name != ".ses"]


@pytest.mark.parametrize(
    ("ending", "sent", "code"),
    [
        ("returns", None, 0),
        pytest.param("raises", None, 1, marks=pytest.mark.deep),
        ("exits in a request", None, 0),
        ("sleeps", signal.SIGINT, -signal.SIGINT),
        ("sleeps", signal.SIGTERM, -signal.SIGTERM),
        pytest.param("sleeps", signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.deep),
    ],
)
def test_a_process_that_ends_during_a_search_leaves_nothing(
    ending: str, sent: signal.Signals | None, code: int, tmp_path: Path
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    store = tmp_path / "store" / "store.sqlite"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(model), str(store), ending],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"TMPDIR": str(scratch)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "measuring\n"
    children = psutil.Process(process.pid).children(recursive=True)
    if sent is not None:
        assert children, "pointless unless a search is under way"
        assert left_in(scratch), "pointless unless there are files"
        process.send_signal(sent)
    _, errors = process.communicate(timeout=WAIT_S)
    assert process.returncode == code, errors[-2000:]
    expected = {"raises": "ValueError", "sleeps": "KeyboardInterrupt"}.get(ending, "")
    if sent in (None, signal.SIGINT):
        last = errors.strip().splitlines()[-1] if errors.strip() else ""
        assert last.startswith(expected) if expected else errors == ""
        assert not any(child.is_running() for child in children), "gone before the process is"
        assert left_in(scratch) == []
    assert eventually(lambda: not any(child.is_running() for child in children))
    assert eventually(lambda: left_in(scratch) == [])
    names = [path.name for path in store.parent.iterdir()] if store.parent.exists() else []
    assert all(name.startswith(store.name) for name in names), "a file of the store's"


FORKING = """
import os, sys, threading, time
import numpy as np, ortsel
from ortsel import session_tuner
from ortsel.background import IDLE_WORK
from ortsel.progress import Stage
from tests.ortsel.session.session_models import folding, unoptimized, wasteful_feed

def tell(step):
    told.set()
    go_on.wait(60)

session_tuner.NICENESS = 0  # other tests beside this one would starve the searches
told, go_on = threading.Event(), threading.Event()
config = ortsel.SelectionConfig(
    store=None, budget_s=60.0, candidates=folding, idle_s=0.02, progress=tell
)
session = ortsel.InferenceSession(sys.argv[1], unoptimized(), selection=config)
for _ in range(2):
    expected = session.run(None, wasteful_feed())[0]
assert told.wait(60)
child = os.fork()
if child == 0:
    go_on.set()
    assert not IDLE_WORK.is_busy()
    assert session.explain().rows() == []
    for _ in range(2):
        np.testing.assert_array_equal(session.run(None, wasteful_feed())[0], expected)
    until = time.monotonic() + 90
    while session.explain().rows()[0]["source"] == "waiting" and time.monotonic() < until:
        time.sleep(0.02)
    row = session.explain().rows()[0]
    served = session.run(None, wasteful_feed())[0]
    np.testing.assert_allclose(served, expected, rtol=1e-5)
    os._exit(0 if row["plan"] == "folding" else 3)
_, status = os.waitpid(child, 0)
go_on.set()
while IDLE_WORK.is_busy():
    time.sleep(0.02)
assert session.explain().rows()[0]["plan"] == "folding", session.explain()
sys.exit(os.waitstatus_to_exitcode(status))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_during_a_search_starts_over_and_leaves_the_parents_search_alone(
    tmp_path: Path,
) -> None:
    model = wasteful(tmp_path / "model.onnx")
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, str(model)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-2000:]
