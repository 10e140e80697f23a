import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ortsel.store import MemoryStore, SqliteStore, open_store
from ortsel.store.errors import InheritedStoreError
from tests.ortsel.store.sample_records import record

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
COUNT = 25
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT)}


def _python(script: str, *arguments: object) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, str(HERE / script), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )


@pytest.mark.slow
def test_eight_processes_write_at_once_and_none_is_lost(tmp_path: Path) -> None:
    writers = [_python("save_many.py", tmp_path / "new" / "s", name, COUNT) for name in range(8)]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert (writer.returncode, errors) == (0, "")
    with closing(SqliteStore(tmp_path / "new" / "s")) as store:
        for name in range(8):
            for number in range(COUNT):
                assert store.load(f"{name}-{number}") == record(f"{name}-{number}")
        shared = store.load("shared")
        assert shared is not None
        assert (shared.blocks, shared.winner) == (COUNT * 8 - 1, "7"), "the best evidence stays"


def test_sixteen_processes_that_create_the_file_at_once_all_save(tmp_path: Path) -> None:
    for attempt in range(8):
        path = tmp_path / str(attempt) / "s"
        reading, writing = os.pipe()
        children = []
        for name in range(16):
            child = os.fork()
            if child == 0:
                code = 2
                try:
                    os.close(writing)
                    os.read(reading, 1)
                    SqliteStore(path, busy_timeout_ms=60_000).save(record(f"{name}"), "{}")
                    code = 0
                finally:
                    os._exit(code)
            children.append(child)
        os.close(writing)
        assert {os.waitpid(child, 0)[1] for child in children} == {0}
        os.close(reading)
        with closing(SqliteStore(path)) as store:
            assert {one.record.key for one in store.records()} == set(map(str, range(16)))


def _kill(folder: Path, times: int) -> tuple[int, int]:
    killer = _python("kill_while_saving.py", folder, times)
    output, errors = killer.communicate(timeout=280)
    assert (killer.returncode, errors) == (0, "")
    records, runs = output.split()
    return int(records), int(runs)


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_was_saved(tmp_path: Path) -> None:
    records, runs = _kill(tmp_path, 40)
    assert runs >= 30, "pointless unless most were killed while they wrote"
    assert records > 100


@pytest.mark.deep
def test_two_hundred_killed_writers_lose_nothing(tmp_path: Path) -> None:
    _, runs = _kill(tmp_path, 260)
    assert runs >= 200


def _in_child(fork: Callable[[], int], work: Callable[[], bool]) -> bool:
    child = fork()
    if child == 0:
        code = 2
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def test_a_store_that_was_open_works_on_both_sides_of_a_fork(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record("before"), "{}")
        assert store.load("before") == record("before")

        def work() -> bool:
            store.save(record("child"), "{}")
            return store.load("before") == record("before") == record("before")

        for _ in range(5):
            assert _in_child(os.fork, work)
        store.save(record("after"), "{}")
        assert {one.record.key for one in store.records()} == {"before", "child", "after"}


def test_no_file_of_the_store_is_inherited(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record(), "{}")
        store.load("k")

        def open_files() -> list[str]:
            names = []
            for entry in Path("/proc/self/fd").iterdir():
                try:
                    names.append(os.readlink(entry))
                except FileNotFoundError:
                    continue
            return [name for name in names if name.startswith(str(tmp_path))]

        assert open_files(), "pointless unless the store is open"
        assert _in_child(os.fork, lambda: open_files() == [])


def test_a_fork_while_other_threads_use_the_store_leaves_the_child_no_lock(tmp_path: Path) -> None:
    stop = threading.Event()
    memory = MemoryStore()
    with closing(SqliteStore(tmp_path / "s")) as store:

        def use(name: int) -> None:
            number = 0
            while not stop.is_set():
                number += 1
                for each in (store, memory):
                    each.save(record(f"{name}-{number % 50}", blocks=number), "{}")
                    each.load(f"{name}-{number % 50}")

        threads = [threading.Thread(target=use, args=(name,)) for name in range(3)]
        for thread in threads:
            thread.start()
        try:

            def work() -> bool:
                for each in (store, memory):
                    each.save(record("child"), "{}")
                return store.load("child") is not None and memory.load("child") is not None

            for _ in range(20):
                assert _in_child(os.fork, work)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert store.load("child") == record("child")


def _fork_in_c() -> int:
    library: Any = ctypes.PyDLL(None)
    return int(library.fork())


def test_a_fork_that_python_does_not_see_never_uses_an_inherited_connection(
    tmp_path: Path,
) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record(), "{}")
        assert store.load("k") == record()

        def refused() -> bool:
            try:
                store.load("k")
            except InheritedStoreError:
                try:
                    store.save(record("child"), "{}")
                except InheritedStoreError:
                    return True
            return False

        assert _in_child(_fork_in_c, refused)
        assert store.load("k") == record()
        assert store.load("child") is None


def test_after_a_fork_that_python_does_not_see_memory_serves(tmp_path: Path) -> None:
    store = open_store(tmp_path / "s")
    store.save(record(), "{}")
    store.load("k")

    def work() -> bool:
        store.save(record("child"), "{}")
        return store.load("child") == record("child") and store.load("k") is None

    assert _in_child(_fork_in_c, work)
    assert store.load("k") == record()
    assert store.load("child") is None
    store.close()


def test_a_store_that_was_not_used_before_such_a_fork_works_after_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")

    def work() -> bool:
        store.save(record(), "{}")
        return store.load("k") == record()

    assert _in_child(_fork_in_c, work)
    assert store.load("k") == record()
    store.close()
