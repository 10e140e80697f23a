"""A build on a real Ray cluster of two nodes on this machine."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from ortsel.store import SqliteStore
from tests.ortsel.builder.conftest import ROOT, Start, WriteSpec, journal_entries

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray has no wheel for this interpreter"),
]


@pytest.fixture
def cluster() -> Iterator["subprocess.Popen[str]"]:
    """Start a cluster whose every node offers one machine; it ends with the test."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("ray_cluster.py")), "2"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        process.wait(60)


def ray_workers(cluster: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Return the cluster's processes that run a task of ours."""
    children = psutil.Process(cluster.pid).children(recursive=True)
    return [one for one in children if "run_remotely" in "".join(_command(one)[:1])]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_each_node_measures_one_thing_at_a_time_and_a_lost_worker_is_replaced(
    cluster: "subprocess.Popen[str]", write_spec: WriteSpec, start: Start, tmp_path: Path
) -> None:
    assert cluster.stdout is not None
    address = cluster.stdout.readline().strip()
    assert address, "the cluster did not start"
    spec = write_spec("[1, 2, 3]")
    build = start(spec, "--executor", "ray", "--ray-address", address, "--json")
    limit_s = time.monotonic() + 60
    most = 0
    while not (found := ray_workers(cluster)):
        assert time.monotonic() < limit_s
        assert build.poll() is None, build.communicate()
        time.sleep(0.01)
    found[0].kill()
    while build.poll() is None:
        assert time.monotonic() < limit_s + 60
        most = max(most, len(ray_workers(cluster)))
        time.sleep(0.02)
    out, err = build.communicate()
    assert build.returncode == 0, err
    document = json.loads(out)
    assert document["executor"] == "ray"
    assert [one["inputs"]["shapes"]["x"] for one in document["workloads"]] == [[1], [2], [3]]
    assert [one["status"] for one in document["workloads"]] == ["decided"] * 3
    assert sorted(one["attempts"] for one in document["workloads"]) == [1, 1, 2]
    assert 1 <= most <= 2, "two nodes, a task each"
    ends = [one["outcome"]["id"] for one in journal_entries(tmp_path / "out") if "outcome" in one]
    assert sorted(ends) == sorted(one["id"] for one in document["workloads"])
    store = SqliteStore(tmp_path / "out" / document["store"])
    assert not store.has_records(), "the reference alone is nothing to keep"
    store.close()
