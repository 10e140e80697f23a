"""The command as people start it: a process of its own, real trials, a real store."""

import json
import os
import signal
import subprocess
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import psutil
import pytest

from ortsel.cli.feeds import make_feeds
from ortsel.cli.model_inputs import read_inputs
from ortsel.cli.search import SearchOptions, open_session
from ortsel.selection_config import SelectionMode
from ortsel.store.sqlite_store import SqliteStore
from spec.problem import Scope
from spec.record import Record
from tests.ortsel.cli.conftest import Start, hold_something

pytestmark = pytest.mark.slow

SHAPE = ("--shape", "batch=8")
RATIO = Fraction(1, 2)


def finished(process: "subprocess.Popen[str]", limit_s: float = 120) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=limit_s)
    return process.returncode, out, err


def decide(model: Path, store: Path, winner: str) -> str:
    """Store a decision for the model's shape of 8 rows, as a search would; return its key."""
    hold_something(store)
    options = SearchOptions(store=store, min_speedup=Fraction(103, 100))
    session = open_session(model, options, SelectionMode.CACHE_ONLY)
    feeds = make_feeds(read_inputs(session.get_inputs()), {"x": (8, 64)}, [], 0)
    session.run(None, dict(feeds.arrays))
    (explained,) = session.explain().workloads
    assert explained.source == "cache-miss"
    reference = winner == "reference"
    record = Record(
        explained.key, Scope.PIPELINE, winner, "reference", int(time.time()),
        reference_ns=2000, winner_ns=2000 if reference else 1000,
        ratio=Fraction(1) if reference else RATIO, dispersion=Fraction(0), blocks=8,
        verified=True, feeds=2,
    )  # fmt: skip
    place = SqliteStore(store)
    place.save(record, "")
    place.close()
    return explained.key


def test_a_search_decides_or_says_that_it_could_not(
    start: Start, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "decisions.sqlite3"
    arguments = ("tune", dense, *SHAPE, "--budget", "20s", "--store", store, "--json")
    code, out, err = finished(start(*arguments))
    document = json.loads(out)
    assert set(document) == {
        "schema", "model", "workload", "decision", "counts", "candidates", "left_out", "operators",
        "store", "environment",
    }  # fmt: skip
    assert document["schema"] == 1
    assert document["workload"]["feeds"] == "synthetic"
    assert document["workload"]["shapes"] == {"x": [8, 64]}
    assert document["model"]["inputs"] == [
        {"name": "x", "type": "tensor(float)", "shape": ["batch", 64]}
    ]
    assert len(document["model"]["sha256"]) == 64
    assert {"python", "platform", "numpy"} <= set(document["environment"])
    decision = document["decision"]
    assert decision["exit_code"] == code
    assert (code == 0) == decision["decided"]
    assert code in {0, 3}
    assert document["store"]["stored"] == decision["decided"], decision
    assert document["store"]["path"] == str(store)
    if decision["decided"]:
        names = [candidate["plan"] for candidate in document["candidates"]]
        assert names[0] == "reference"
        assert decision["plan"] in names
        assert decision["serves_reference"] or decision["ratio"] < 1
    assert all("s of 20 s: " in line for line in err.splitlines()), err


@pytest.mark.parametrize("winner", ["cpu:spin=off", "reference"])
def test_a_stored_decision_is_served_without_measuring(
    start: Start, dense: Path, tmp_path: Path, winner: str
) -> None:
    store = tmp_path / "decisions.sqlite3"
    key = decide(dense, store, winner)
    code, out, err = finished(start("tune", dense, *SHAPE, "--store", store, "--json"))
    document = json.loads(out)
    decision: dict[str, Any] = document["decision"]
    assert code == 0, err
    assert decision["source"] == "stored"
    assert decision["plan"] == winner
    assert decision["serves_reference"] == (winner == "reference")
    assert decision["ratio"] == (None if winner == "reference" else float(RATIO))
    assert document["workload"]["key"] == key
    assert document["store"]["record"]["feeds"] == 2
    assert document["candidates"] == []
    assert "measuring" not in err


def test_a_person_reads_the_stored_decision_and_where_it_lies(
    start: Start, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "decisions.sqlite3"
    decide(dense, store, "cpu:spin=off")
    code, out, _ = finished(start("tune", dense, *SHAPE, "--store", store))
    assert code == 0
    evidence = "ratio 0.500, noise 0.000, 8 blocks"
    served = f"serves cpu:spin=off: 2.00x faster than the reference ({evidence})"
    assert f"{served}, verified on 2 feeds" in out.splitlines()
    assert f"stored in {store}" in out.splitlines()
    assert "from the store, measured on " in out
    assert "\x1b" not in out, "no colour codes in a pipe"


def test_other_real_inputs_of_the_shape_find_the_same_decision(
    start: Start, dense: Path, tmp_path: Path
) -> None:
    import numpy as np

    store = tmp_path / "decisions.sqlite3"
    key = decide(dense, store, "reference")
    np.savez(tmp_path / "feeds.npz", x=np.full((8, 64), 0.25, np.float32))
    arguments = ("tune", dense, "--input", "feeds.npz", "--store", store, "--json")
    _, out, _ = finished(start(*arguments))
    document = json.loads(out)
    assert document["workload"]["key"] == key
    assert document["workload"]["feeds"] == "feeds.npz"
    bound = finished(start("tune", dense, *SHAPE, "--bound", "--budget", "1s", "--json",
                           "--store", tmp_path / "other.sqlite3"))  # fmt: skip
    assert json.loads(bound[1])["workload"]["key"] != key, "the way of calling is part of the key"


def test_outputs_that_differ_by_themselves_leave_nothing_to_decide(
    start: Start, random_model: Path, tmp_path: Path
) -> None:
    store = tmp_path / "decisions.sqlite3"
    code, out, err = finished(start("tune", random_model, "--budget", "60s", "--store", store))
    assert code == 3, err
    (line,) = [line for line in out.splitlines() if line.startswith("no decision: ")]
    assert "nondeterministic" in line
    assert "faster than the reference" not in out
    assert "stored in" not in out


@pytest.mark.skipif(os.name == "nt", reason="a process group of its own has no Ctrl-C on Windows")
def test_an_interrupt_ends_the_search_and_its_children(
    start: Start, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "decisions.sqlite3"
    process = start("tune", dense, *SHAPE, "--budget", "5m", "--store", store)
    children = _children_of(process)
    process.send_signal(signal.SIGINT)
    code, out, err = finished(process, 30)
    assert code == 130, err
    assert out == ""
    assert err.splitlines()[-1] == "ortsel: interrupted"
    assert "Traceback" not in err
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    assert _records_in(store) == 0


def _children_of(process: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Wait until a trial is under way, and return its processes."""
    until = time.monotonic() + 60
    parent = psutil.Process(process.pid)
    while time.monotonic() < until:
        children = parent.children(recursive=True)
        if children:
            return children
        time.sleep(0.05)
    message = "no child process was ever started"
    raise AssertionError(message)


def _records_in(path: Path) -> int:
    store = SqliteStore(path)
    count = sum(1 for _ in store.records())
    store.close()
    return count


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently on Windows")
def test_a_reader_that_goes_away_is_no_traceback(start: Start, dense: Path, tmp_path: Path) -> None:
    store = tmp_path / "decisions.sqlite3"
    decide(dense, store, "reference")
    process = start("tune", dense, *SHAPE, "--store", store, "--json")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    with process.stderr as stream:
        err = stream.read()
    assert process.wait(timeout=60) == 1
    assert "Traceback" not in err
    assert "Exception ignored" not in err


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_missing_package_is_one_line_that_names_the_extra(tmp_path: Path, missing: str) -> None:
    import sys

    from tests.ortsel.cli.conftest import ROOT

    script = (
        "import importlib.util as u, sys\n"
        "real = u.find_spec\n"
        f"u.find_spec = lambda name, *rest: None if name == {missing!r} else real(name, *rest)\n"
        "from ortsel.cli import main\n"
        "sys.exit(main(['--version']))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line == f'ortsel: the command line needs {missing}: pip install "ortsel[cli]"'
