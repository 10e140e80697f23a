"""Wherever nothing can be kept, requests go on from memory after one warning."""

import ctypes
import logging
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ortsel.store import FallbackStore, MemoryStore, SqliteStore, Store, open_store
from ortsel.store.errors import (
    BusyStoreError,
    NoPlaceError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from ortsel.store.place import default_path
from tests.ortsel.store.sample_records import record

ROOT = Path(__file__).parents[3]
LIBC = ctypes.CDLL(None, use_errno=True)
READ_ONLY, REMOUNT = 1, 32


@contextmanager
def _mounted(folder: Path, options: str) -> Iterator[Callable[[], None]]:
    """Mount a file system in memory; give a function that makes it read-only."""
    folder.mkdir()
    target = os.fsencode(folder)
    if LIBC.mount(b"tmpfs", target, b"tmpfs", 0, options.encode()) != 0:
        pytest.skip(f"mounting is not permitted here: {os.strerror(ctypes.get_errno())}")
    try:

        def make_read_only() -> None:
            assert LIBC.mount(b"tmpfs", target, b"tmpfs", READ_ONLY | REMOUNT, b"") == 0

        yield make_read_only
    finally:
        LIBC.umount2(target, 2)


def _serves_from_memory(store: Store) -> None:
    store.save(record("new"), "{}")
    assert store.load("new") == record("new")
    assert [one.record.key for one in store.records()][-1:] == ["new"]
    store.remove("new")
    assert store.load("new") is None


def test_a_store_on_a_read_only_file_system_is_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with _mounted(tmp_path / "disk", "size=4m") as make_read_only:
        path = tmp_path / "disk" / "s"
        with closing(SqliteStore(path)) as store:
            store.save(record(), "{}")
        make_read_only()
        with closing(SqliteStore(path)) as store:
            assert store.load("k") == record()
            with pytest.raises(UnwritableStoreError):
                store.save(record("new"), "{}")
            with pytest.raises(UnwritableStoreError):
                store.remove("k")
        with caplog.at_level(logging.WARNING), closing(open_store(path)) as quiet:
            assert quiet.load("k") == record()
            assert caplog.records == []
            _serves_from_memory(quiet)
            quiet.remove("k")
            assert quiet.load("k") is None, "what cannot be removed is hidden"
            quiet.save(record("k", blocks=99), "{}")
            assert quiet.load("k") == record("k", blocks=99)
            assert len(caplog.records) == 1


def test_a_read_only_store_that_was_not_closed_is_refused_rather_than_misread(
    tmp_path: Path,
) -> None:
    with _mounted(tmp_path / "disk", "size=4m") as make_read_only:
        with closing(SqliteStore(tmp_path / "open")) as store:
            store.save(record(), "{}")
            assert (tmp_path / "open-wal").stat().st_size > 0
            for name in ("open", "open-wal"):
                shutil.copy(tmp_path / name, tmp_path / "disk" / name)
        make_read_only()
        with (
            closing(SqliteStore(tmp_path / "disk" / "open")) as store,
            pytest.raises(UnreadableStoreError, match="open-wal holds records"),
        ):
            store.load("k")


def test_an_empty_read_only_directory_means_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with _mounted(tmp_path / "disk", "size=4m") as make_read_only:
        make_read_only()
        with caplog.at_level(logging.WARNING):
            store = open_store(tmp_path / "disk" / "folder" / "s")
            assert store.load("k") is None
            _serves_from_memory(store)
        assert len(caplog.records) == 1
        assert "Read-only file system" in caplog.text


def test_a_full_disk_means_memory_and_loses_nothing_that_was_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with _mounted(tmp_path / "disk", "size=512k"):
        path = tmp_path / "disk" / "s"
        with closing(open_store(path)) as store, caplog.at_level(logging.WARNING):
            for number in range(100):
                store.save(record(f"k{number}"), "x" * 10_000)
            assert len(caplog.records) == 1, "pointless unless the disk was full"
            assert all(store.load(f"k{number}") is not None for number in range(100))
        with closing(SqliteStore(path)) as store:
            kept = sum(store.load(f"k{number}") is not None for number in range(100))
        assert 0 < kept < 100


def test_a_limit_on_the_size_of_files_means_memory(tmp_path: Path) -> None:
    child = os.fork()
    if child == 0:
        code = 2
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            store = open_store(tmp_path / "s")
            for number in range(60):
                store.save(record(f"k{number}"), "x" * 10_000)
            found = all(store.load(f"k{number}") is not None for number in range(60))
            code = 0 if found and isinstance(store, FallbackStore) and store.troubles else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    with closing(SqliteStore(tmp_path / "s")) as store:
        assert 0 < len(list(store.records())) < 60


def test_a_file_where_the_directory_should_be_means_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").write_text("mine")
    with caplog.at_level(logging.WARNING):
        store = open_store(tmp_path / "folder" / "s")
        assert store.load("k") is None
        _serves_from_memory(store)
    assert len(caplog.records) == 1
    assert (tmp_path / "folder").read_text() == "mine"


def test_a_directory_where_the_file_should_be_means_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "s").mkdir()
    with caplog.at_level(logging.WARNING):
        _serves_from_memory(open_store(tmp_path / "s"))
    assert len(caplog.records) == 1
    assert list((tmp_path / "s").iterdir()) == []


def test_a_directory_deleted_while_running_is_made_again(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "folder" / "s")) as store:
        store.save(record("before"), "{}")
        assert store.load("before") == record("before")
        shutil.rmtree(tmp_path / "folder")
        assert store.load("before") is None
        store.save(record("after"), "{}")
        assert store.load("after") == record("after")
    with closing(SqliteStore(tmp_path / "folder" / "s")) as store:
        assert [one.record.key for one in store.records()] == ["after"]


def test_a_directory_replaced_by_a_file_while_running_means_memory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(tmp_path / "folder" / "s")) as store:
        store.save(record("before"), "{}")
        assert store.load("before") == record("before")
        shutil.rmtree(tmp_path / "folder")
        (tmp_path / "folder").touch()
        with caplog.at_level(logging.WARNING):
            assert store.load("before") is None
            _serves_from_memory(store)
        assert len(caplog.records) == 1


def test_another_file_in_the_place_of_the_first_is_what_counts(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "shipped")) as other:
        other.save(record("shipped"), "{}")
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record("before"), "{}")
        assert store.load("before") == record("before")
        for name in ("s", "s-wal", "s-shm"):
            (tmp_path / name).unlink()
        (tmp_path / "shipped").rename(tmp_path / "s")
        assert store.load("shipped") == record("shipped")
        assert store.load("before") is None
        store.save(record("after"), "{}")
    with closing(SqliteStore(tmp_path / "s")) as store:
        assert {one.record.key for one in store.records()} == {"shipped", "after"}


def test_no_path_means_memory(tmp_path: Path) -> None:
    assert isinstance(open_store(None), MemoryStore)
    assert isinstance(open_store(str(tmp_path / "s")), FallbackStore)


def _default_in_child(environment: dict[str, str], folder: Path) -> str:
    program = (
        "import logging; logging.basicConfig(format='%(message)s')\n"
        "from ortsel.store import open_store\n"
        "from tests.ortsel.store.sample_records import record\n"
        "store = open_store()\n"
        "store.save(record(), '{}')\n"
        "assert store.load('k') == record()\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stderr


@pytest.mark.slow
def test_the_default_is_the_cache_folder_of_the_user(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}
    assert _default_in_child(environment, tmp_path) == ""
    kept = [path.name for path in (tmp_path / "home").rglob("decisions.sqlite3")]
    assert kept == ["decisions.sqlite3"]


def test_a_user_without_a_home_is_served_from_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can become a user that the system does not know")
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 2
        try:
            os.setuid(54321)
            os.dup2(writing, 2)
            handler = logging.StreamHandler(os.fdopen(writing, "w"))
            logging.getLogger("ortsel.store").addHandler(handler)
            store = open_store()
            store.save(record(), "{}")
            code = 0 if store.load("k") == record() else 1
            handler.flush()
        finally:
            os._exit(code)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        warnings = pipe.read()
    assert (os.waitstatus_to_exitcode(status), warnings.count("\n")) == (0, 1), warnings
    assert "kept in memory" in warnings
    assert list(tmp_path.iterdir()) == []


def test_a_cache_folder_that_is_no_absolute_path_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/.cache/ortsel")
    with pytest.raises(NoPlaceError, match="need an absolute path"):
        default_path()
    with caplog.at_level(logging.WARNING):
        assert isinstance(open_store(), MemoryStore)
    assert len(caplog.records) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_owner_is_not_touched(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody else's file, in a folder that everybody may enter, as another user sees it."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    folder = Path(tempfile.mkdtemp(prefix="ortsel-owner-"))
    try:
        with closing(SqliteStore(folder / "s")) as store:
            store.save(record(), "{}")
        folder.chmod(0o755)
        before = (folder / "s").read_bytes()
        for mode, finds in ((0o600, False), (0o644, True)):
            (folder / "s").chmod(mode)
            assert _as_another_user(folder / "s") == finds
        assert (folder / "s").read_bytes() == before
        assert [path.name for path in folder.iterdir()] == ["s"]
    finally:
        shutil.rmtree(folder)


def _as_another_user(path: Path) -> bool:
    """Use the store as another user; return whether its record was found."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)
            store = open_store(path)
            found = store.load("k") is not None
            store.save(record("new"), "{}")
            served = store.load("new") == record("new")
            assert isinstance(store, FallbackStore)
            warned = len(store.troubles) >= 1
            code = (0 if found else 1) if served and warned else 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 1), code
    return code == 0


HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("PRAGMA locking_mode = EXCLUSIVE")
database.execute("BEGIN EXCLUSIVE")
database.execute("UPDATE record SET created_s = created_s")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def _held(path: Path) -> Iterator[None]:
    """Let another process hold the whole file, as a lock that a network file system lost does."""
    command = [sys.executable, "-c", HOLD, str(path)]
    holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdin is not None
    try:
        assert holder.stdout.readline() == "held\n"
        yield
    finally:
        holder.stdin.close()
        holder.stdout.close()
        holder.wait()


def test_a_file_that_another_process_holds_costs_its_timeout_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record(), "{}")
    with closing(sqlite3.connect(tmp_path / "s")) as database:
        database.execute("PRAGMA journal_mode = DELETE")
    slow = SqliteStore(tmp_path / "s", busy_timeout_ms=100)
    with (
        _held(tmp_path / "s"),
        closing(FallbackStore(slow)) as quiet,
        caplog.at_level(logging.WARNING),
    ):
        with pytest.raises(BusyStoreError):
            slow.load("k")
        begun_s = time.process_time()
        for number in range(200):
            assert quiet.load("k") is None
            quiet.save(record(f"k{number}"), "{}")
        assert quiet.load("k7") == record("k7")
        assert time.process_time() - begun_s < 5.0, "pointless unless it does not wait each time"
        assert len(caplog.records) == 1
    with closing(FallbackStore(SqliteStore(tmp_path / "s"))) as later:
        assert later.load("k") == record()


SLOWLY = """
import sys, time
from pathlib import Path
from ortsel.store import open_store
from tests.ortsel.store.sample_records import record
begun_s = time.monotonic()
store = open_store(Path(sys.argv[1]))
assert store.load("k") == record()
store.save(record("new"), "{}")
assert store.load("new") == record("new")
assert store.nearest({"model": "m"}) is not None
store.remove("k")
assert store.load("k") is None
troubles = store.troubles
store.close()
print(time.monotonic() - begun_s, len(troubles))
"""


@pytest.mark.slow
def test_a_file_system_that_is_as_slow_as_a_bad_network_only_takes_longer(tmp_path: Path) -> None:
    """Every call that concerns the store's files waits 8 ms, under a tracer that delays it."""
    tracer = shutil.which("strace")
    if tracer is None:
        pytest.skip("strace is not installed here: nothing can slow a file system down")
    path = tmp_path / "s"
    with closing(SqliteStore(path)) as store:
        store.save(record(), '{"model":"m"}')
    calls = "pread64,pwrite64,fsync,fdatasync,openat,unlink,ftruncate,fcntl,newfstatat,stat,lseek"
    command = [tracer, "-f", "-qq", "-o", str(tmp_path / "trace")]
    command += [part for suffix in ("", "-wal", "-shm") for part in ("-P", f"{path}{suffix}")]
    command += ["-e", f"trace={calls}", "-e", f"inject={calls}:delay_enter=8000"]
    command += [sys.executable, "-c", SLOWLY, str(path)]
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "ptrace" in done.stderr:
        pytest.skip("tracing is not permitted here")
    assert done.returncode == 0, done.stderr
    delayed = (tmp_path / "trace").read_text().count("(DELAYED)")
    seconds, troubles = done.stdout.split()
    assert delayed > 50, "pointless unless the store's calls waited"
    assert float(seconds) > delayed * 0.008 * 0.5
    assert troubles == "0"
    with closing(SqliteStore(path)) as store:
        assert [one.record.key for one in store.records()] == ["new"]
