"""Builds of real models: order, ends, what is done again and what is not."""

import itertools
import json
import os
import signal
import subprocess
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

import ortsel
from ortsel.builder import BuildProgress, BuildSpecError, OutputInUseError, Status, schema
from ortsel.builder.output_lock import locked
from ortsel.store import SqliteStore
from tests.ortsel.builder.conftest import Start, WriteSpec, journal_entries

pytestmark = pytest.mark.slow


def check_schema(document: dict[str, Any]) -> None:
    jsonschema: Any = import_module("jsonschema")  # it comes without types
    jsonschema.validate(document, schema())
    document["workloads"][0]["surprise"] = 1
    with pytest.raises(jsonschema.ValidationError, match="surprise"):
        jsonschema.validate(document, schema())
    del document["workloads"][0]["surprise"]


def wait_for_outcomes(output: Path, count: int, process: "subprocess.Popen[str]") -> None:
    """Wait until so many ends are written, and another search is under way."""
    limit_s = time.monotonic() + 60
    while len(journal_entries(output)) < count or not workers(output):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < limit_s
        time.sleep(0.01)


def workers(output: Path) -> list[psutil.Process]:
    """Return the processes that search for a build in this folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-1:] == [str(output)]:
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_build_gives_one_end_per_workload_in_the_order_of_the_spec_and_does_none_twice(
    write_spec: WriteSpec, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[BuildProgress] = []
    first = ortsel.build(write_spec("[5, 3]"), progress=told.append)
    assert [dict(one.task.shapes) for one in first.workloads] == [{"x": (5,)}, {"x": (3,)}]
    assert [one.outcome.status for one in first.workloads] == [Status.DECIDED] * 2
    assert [one.resumed for one in first.workloads] == [False, False]
    assert [one.finished for one in told if one.outcome] == [1, 2]
    assert told[0].remaining_s == 6, "before the first end, whole budgets"
    assert told[-1].remaining_s == 0
    document = first.document()
    check_schema(document)
    assert document == json.loads((tmp_path / "out" / "report.json").read_text())

    edited = ortsel.build(write_spec("[7, 3, 5]"))
    assert [one.resumed for one in edited.workloads] == [False, True, True]
    ends = [
        entry["outcome"]["id"] for entry in journal_entries(tmp_path / "out") if "outcome" in entry
    ]
    assert len(ends) == len(set(ends)) == 3
    assert capfd.readouterr() == ("", ""), "a function that returns its result prints nothing"
    assert not (tmp_path / "out" / "decisions.sqlite3.caches").exists(), "nothing was cached"


@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.deep)]
)
def test_a_build_that_is_stopped_goes_on_without_doing_finished_work_again(
    write_spec: WriteSpec, start: Start, tmp_path: Path, how: signal.Signals
) -> None:
    spec, output = write_spec("[1, 2]"), tmp_path / "out"
    process = start(spec)
    wait_for_outcomes(output, 1, process)
    process.send_signal(how)
    process.communicate(timeout=60)
    assert process.returncode == (130 if how is signal.SIGINT else -how)
    limit_s = time.monotonic() + 20
    while workers(output):
        assert time.monotonic() < limit_s, "a search goes on that nobody waits for"
        time.sleep(0.05)
    done = [entry["outcome"]["id"] for entry in journal_entries(output)]
    assert len(done) == 1, "pointless unless it was stopped in the middle"

    process = start(spec, "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    workloads = json.loads(out)["workloads"]
    assert [one["id"] for one in workloads if one["resumed"]] == done
    assert [one["status"] for one in workloads] == ["decided"] * 2
    ends = [entry["outcome"]["id"] for entry in journal_entries(output) if "outcome" in entry]
    assert ends == [one["id"] for one in workloads], "each once, in order"


def test_a_lost_process_costs_one_workload_which_the_next_build_tries_again(
    write_spec: WriteSpec, start: Start, tmp_path: Path
) -> None:
    spec, output = write_spec("[1, 2]"), tmp_path / "out"
    process = start(spec, "--json")
    wait_for_outcomes(output, 0, process)
    for worker in workers(output):
        worker.kill()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    first, second = json.loads(out)["workloads"]
    assert (first["status"], second["status"]) == ("failed", "decided")
    assert first["reason"].startswith("its process ended by signal 9")
    report = ortsel.build(spec)
    assert report.decided
    assert [one.resumed for one in report.workloads] == [False, True]


def test_samples_are_calls_and_a_call_that_fails_is_an_end(
    model: Path, tmp_path: Path, start: Start
) -> None:
    samples = tmp_path / "samples"
    samples.mkdir()
    np.savez(samples / "b.npz", x=np.array([9]))
    np.savez(samples / "a.npz", x=np.array([0, 3]))
    (tmp_path / "spec.yaml").write_text(
        f"candidates: [attention-variant]\nmodels: [{{path: {model.name}, feeds: samples}}]\n"
    )
    process = start("spec.yaml", "--output", "elsewhere", "--json")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    good, bad = json.loads(out)["workloads"]
    assert good["inputs"] == {"shapes": {"x": [2]}, "samples": str(samples / "a.npz")}
    assert good["status"] == "decided"
    assert bad["status"] == "failed"
    assert "does not run with the inputs of" in bad["reason"]
    assert (tmp_path / "elsewhere" / "report.json").exists()


def test_what_the_total_budget_does_not_reach_is_reported_and_costs_the_exit_code(
    write_spec: WriteSpec, start: Start
) -> None:
    process = start(write_spec("[1, 2]", budget="{workload: 3s, total: 3s}"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, err
    assert "1 decided, 1 not-reached" in out
    assert "[1 of 2] rows.onnx x[1]: searching, about 6.0 s left" in err


def test_a_decision_that_was_measured_is_in_the_store(write_spec: WriteSpec) -> None:
    report = ortsel.build(write_spec("[64]", candidates="[spinning]", budget="4s"))
    (workload,) = report.workloads
    outcome = workload.outcome
    assert outcome.status in {Status.DECIDED, Status.UNDECIDED}, outcome.reason
    store = SqliteStore(report.store)
    assert workload.decided == (bool(outcome.key) and store.load(outcome.key) is not None)
    store.close()
    check_schema(report.document())


def test_two_builds_in_one_folder_are_refused(write_spec: WriteSpec, tmp_path: Path) -> None:
    output = tmp_path / "out"
    output.mkdir()
    with locked(output / "build.lock"), pytest.raises(OutputInUseError, match=str(os.getpid())):
        ortsel.build(write_spec("[1]"))


def test_a_folder_that_cannot_be_made_is_said_in_one_line(
    write_spec: WriteSpec, tmp_path: Path, start: Start
) -> None:
    (tmp_path / "out").write_text("a file")
    process = start(write_spec("[1]"))
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.startswith("ortsel: output ")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("model_lines", "problems"),
    [
        ("path: none.onnx", ["2 models[0].path none.onnx, which does not exist"]),
        ("path: spec.yaml", ["2 models[0].path spec.yaml: "]),
        ("path: rows.onnx", ["2 models[0].shapes sizes for fewer than all"]),
        (
            "path: rows.onnx\n    shapes: {n: 1, q: 2}\n    fill: {z: 1}",
            ["3 models[0].shapes.q 'q'"],
        ),
        ("path: rows.onnx\n    shapes: {n: 1}\n    fill: {z: 1}", ["2 models[0].fill.z 'z'"]),
        (
            "path: rows.onnx\n    providers: [Nope]\n    feeds: nowhere",
            ["2 models[0].providers 'Nope'", "2 models[0].feeds "],
        ),
        (
            "path: rows.onnx\n    shapes: {n: [0, 1, 2, ..., 4000], x: [1, 2, 3]}",
            ["2 models[0].shapes 4001 x 3 = 12003 combinations"],
        ),
        ("path: rows.onnx\n    feeds: wrong.npz", ["2 models[0].feeds "]),
    ],
)
def test_what_only_the_model_shows_is_wrong_at_once_and_with_its_line(
    model: Path, tmp_path: Path, model_lines: str, problems: list[str]
) -> None:
    np.savez(tmp_path / "wrong.npz", x=np.zeros(3, np.float32))
    (tmp_path / "spec.yaml").write_text(f"models:\n  - {model_lines}\n")
    assert model.exists()
    with pytest.raises(BuildSpecError) as caught:
        ortsel.build(tmp_path / "spec.yaml")
    found = [f"{one.line} {one.field} {one.got}" for one in caught.value.problems]
    for expected, actual in itertools.zip_longest(problems, found, fillvalue=""):
        assert actual.startswith(expected)
        assert actual
    assert not (tmp_path / "spec.decisions").exists(), "nothing was written"
