"""Real servers with several workers answer as plain ONNX Runtime does, and leave nothing behind."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime
import psutil
import pytest
from attrs import frozen

from tests.ortsel.trial import models

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent
WORKERS = 2
PATIENCE_S = 60
OURS = "ortsel.session"
NATIVE = "onnxruntime.capi.onnxruntime_inference_collection"


@frozen
class Answer:
    worker: int
    session: str
    body: bytes


class Server:
    """A server process that was started, and everything below it."""

    def __init__(self, process: subprocess.Popen[str], port: int, log: Path) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}/"
        self.log = log

    def ask(self, rows: np.ndarray) -> Answer:
        request = urllib.request.Request(self.url, data=rows.tobytes())
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
            names = response.headers
            return Answer(int(names["x-worker"]), names["x-session"], response.read())

    def wait_until_ready(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            with contextlib.suppress(OSError):
                self.ask(models.FEED["x"])
                return
            time.sleep(0.05)

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> list[str]:
        """End the server as an operator does; return what is still running a while later."""
        below = self.below()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_S)
        until = time.monotonic() + PATIENCE_S
        while True:
            # Not psutil's own waiting: an orphan that nobody reaps has ended all the same. A child
            # that searches has the lowest priority, and may take its time on a busy machine.
            alive = [line for one in below if (line := described(one))]
            if not alive or time.monotonic() > until:
                return alive
            time.sleep(0.05)


@contextlib.contextmanager
def serving(command: Sequence[str], runtime: str, folder: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = folder / "log.txt"
    scratch = folder / "tmp"
    scratch.mkdir()
    environment = {name: text for name, text in os.environ.items() if "ORTSEL" not in name} | {
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(HERE)]),
        "ORTSEL_STORE": str(folder / "store.sqlite"),
        "SERVED_MODEL": str(models.linear(folder / "model.onnx")),
        "SERVED_RUNTIME": runtime,
        "TMPDIR": str(scratch),
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [part.replace("PORT", str(port)) for part in command],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    server = Server(process, port, log)
    try:
        server.wait_until_ready()
        yield server
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in [*server.below(), psutil.Process(process.pid)]:
                one.kill()
        process.wait()


GUNICORN = [
    *(sys.executable, "-m", "gunicorn", "--preload", "--workers", str(WORKERS)),
    *("--graceful-timeout", "30", "--bind", "127.0.0.1:PORT"),
    *("--config", str(HERE / "gunicorn_settings.py"), "served_app:wsgi"),
]
UVICORN = [
    *(sys.executable, "-m", "uvicorn", "--workers", str(WORKERS)),
    *("--port", "PORT", "served_app:asgi"),
]
EXEC = [sys.executable, "-m", "ortsel.cli", "exec", "--"]

WAYS = {
    "gunicorn, forked after load": (GUNICORN, "ortsel"),
    "gunicorn by the command": ([*EXEC, *GUNICORN], "onnxruntime"),
    "uvicorn": (UVICORN, "ortsel"),
    "uvicorn by the command": ([*EXEC, *UVICORN], "onnxruntime"),
}


def described(process: psutil.Process) -> str:
    """Return what a process is; nothing where it ended, reaped or not."""
    with contextlib.suppress(psutil.Error):
        if process.status() != psutil.STATUS_ZOMBIE:
            threads = [thread.id for thread in process.threads()]
            return f"{process.pid} {process.status()} {len(threads)} {process.cmdline()}"
    return ""


LATE = {"uvicorn by the command"}


def feeds() -> list[np.ndarray]:
    draw = np.random.default_rng(1)
    return [draw.standard_normal((n, models.WIDTH)).astype(np.float32) for n in (1, 3, 8, 64)]


LONG = pytest.mark.deep
"""Ways that take long and differ little from the others."""


@pytest.mark.parametrize(
    "way", [pytest.param(way, marks=[LONG] if way in LATE else []) for way in WAYS]
)
def test_every_worker_answers_as_plain_onnx_runtime_and_ends_when_told(
    way: str, tmp_path: Path
) -> None:
    command, runtime = WAYS[way]
    plain = onnxruntime.InferenceSession(models.linear(tmp_path / "plain.onnx"))
    expected = {rows.tobytes(): plain.run(None, {"x": rows})[0].tobytes() for rows in feeds()}
    with serving(command, runtime, tmp_path) as server:
        workers: set[int] = set()
        until = time.monotonic() + PATIENCE_S
        while len(workers) < WORKERS and time.monotonic() < until:
            with ThreadPoolExecutor(4) as clients:
                asked = [rows for rows in feeds() for _ in range(3)]
                answers = list(clients.map(server.ask, asked))
            for rows, answer in zip(asked, answers, strict=True):
                assert answer.session == OURS
                assert answer.body == expected[rows.tobytes()]
            workers.update(answer.worker for answer in answers)
            time.sleep(0.1)  # a worker may be starting still
        assert len(workers) == WORKERS
        started = time.monotonic()
        assert server.stop() == [], server.log.read_text()
        assert time.monotonic() - started < 25, "pointless if the server waits to kill its workers"
    said = server.log.read_text()
    assert "Traceback" not in said
    assert "ortsel:" not in said
    assert list((tmp_path / "tmp").glob("ortsel*")) == []


@pytest.mark.parametrize(
    "way", ["gunicorn, forked after load", pytest.param("uvicorn", marks=LONG)]
)
def test_a_search_under_way_in_a_worker_ends_with_it(way: str, tmp_path: Path) -> None:
    command, runtime = WAYS[way]
    with serving(command, runtime, tmp_path) as server:
        started, until = False, time.monotonic() + PATIENCE_S
        while not started and time.monotonic() < until:
            server.ask(models.FEED["x"])
            time.sleep(1.5)  # idle, so that a worker may begin
            started = any("ortsel.trial.worker" in line for line in command_lines(server))
        assert started, "pointless unless a search was under way"
        assert server.stop() == [], server.log.read_text()
    assert list((tmp_path / "tmp").glob("ortsel*")) == []


def command_lines(server: Server) -> list[str]:
    return [described(one) for one in server.below()]


def test_without_ortsel_the_same_service_uses_onnx_runtimes_own_class(tmp_path: Path) -> None:
    with serving(UVICORN, "onnxruntime", tmp_path) as server:
        assert server.ask(models.FEED["x"]).session == NATIVE
        assert server.stop() == []
