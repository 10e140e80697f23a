"""A file that was cut, overwritten or forged costs a warning and a miss, and stays as it is."""

import logging
import os
import random
import resource
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ortsel.store import SqliteStore, StoreError, open_store
from tests.ortsel.store import fuzz
from tests.ortsel.store.sample_records import record

KEYS = [f"k{number}" for number in range(40)]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "s"
    with closing(SqliteStore(path)) as store:
        for key in KEYS:
            store.save(record(key), '{"model":"m"}' + " " * 500)
    return path


def _use(path: Path) -> int:
    """Use a damaged file as a session would; return how many records were still found."""
    store = open_store(path)
    found = [store.load(key) for key in KEYS]
    assert all(one is None or one == record(key) for one, key in zip(found, KEYS, strict=True))
    list(store.records())
    assert isinstance(store.has_records(), bool)
    store.nearest({"model": "m"})
    store.save(record("new"), "{}")
    assert store.load("new") == record("new")
    store.remove("new")
    assert store.load("new") is None
    store.close()
    return sum(one is not None for one in found)


def test_a_file_cut_at_any_place_is_a_miss(sound: Path, tmp_path: Path) -> None:
    data = sound.read_bytes()
    assert len(data) > 5 * 4096, "pointless unless there are several pages"
    places = sorted({*range(0, 120, 7), *range(0, len(data), 1021), len(data) - 1})
    found = []
    for place in places:
        path = tmp_path / f"cut{place}"
        path.write_bytes(data[:place])
        found.append(_use(path))
    assert found[0] == 0
    assert sum(found) < len(KEYS) * len(found), "pointless unless cutting costs records"


def test_bytes_overwritten_anywhere_are_a_miss_or_harmless(sound: Path, tmp_path: Path) -> None:
    source = random.Random(7)
    data = sound.read_bytes()
    found = []
    for number in range(60):
        damaged = bytearray(data)
        for _ in range(source.choice([1, 8, 200])):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        path = tmp_path / f"damaged{number}"
        path.write_bytes(damaged)
        found.append(_use_or_wrong_text(path))
    assert min(found) < len(KEYS)


def _use_or_wrong_text(path: Path) -> int:
    """As `_use`, but a flipped byte may leave a record that is sound and says something else."""
    store = open_store(path)
    found = [store.load(key) for key in KEYS]
    assert all(one is None or one.key == key for one, key in zip(found, KEYS, strict=True))
    list(store.records())
    store.save(record("new"), "{}")
    store.close()
    return sum(one == record(key) for one, key in zip(found, KEYS, strict=True))


@pytest.mark.parametrize("size", [1, 15, 16, 99, 100, 4096, 100_000])
def test_garbage_is_a_miss_with_one_warning_and_is_not_touched(
    tmp_path: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    garbage = random.Random(size).randbytes(size)
    (tmp_path / "s").write_bytes(garbage)
    with caplog.at_level(logging.WARNING):
        _use(tmp_path / "s")
        assert _use(tmp_path / "s") == 0
    assert (tmp_path / "s").read_bytes() == garbage
    assert [logged.name for logged in caplog.records] == ["ortsel.store"] * 2, "one for each store"


@pytest.mark.parametrize("size", [10, 100, 4096])
def test_a_damaged_log_loses_at_most_what_was_in_it(sound: Path, tmp_path: Path, size: int) -> None:
    path = tmp_path / "s"
    shutil.copy(sound, path)
    (tmp_path / "s-wal").write_bytes(random.Random(size).randbytes(size))
    assert _use(path) == len(KEYS)


def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    with closing(SqliteStore(tmp_path / "s")) as store:
        assert store.load("k") is None
        store.save(record(), "{}")
        assert store.load("k") == record()


def test_the_store_behind_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "s").write_bytes(b"not a database" * 100)
    with closing(SqliteStore(tmp_path / "s")) as store:
        for use in (
            lambda: store.load("k"),
            lambda: store.save(record(), "{}"),
            lambda: store.remove("k"),
            lambda: list(store.records()),
            lambda: store.nearest({}),
        ):
            with pytest.raises(StoreError, match="not a database"):
                use()


def test_trouble_leaves_nothing_open(sound: Path, tmp_path: Path) -> None:
    data = sound.read_bytes()
    stores = []
    for number, content in enumerate((b"x" * 9000, data[:5000], data[:4096] + b"x" * 20000)):
        (tmp_path / f"s{number}").write_bytes(content)
        stores.append(open_store(tmp_path / f"s{number}"))
        assert all(stores[-1].load(key) is None for key in KEYS)
        stores[-1].save(record(), "{}")
    names = [os.readlink(entry) for entry in Path("/proc/self/fd").iterdir() if entry.is_symlink()]
    assert names, "pointless unless open files can be listed"
    assert not [name for name in names if name.startswith(str(tmp_path))]


def test_a_file_that_was_mended_is_read_again(sound: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        (tmp_path / "s").write_bytes(b"x" * 9000)
        with pytest.raises(StoreError):
            store.load("k1")
        with pytest.raises(StoreError):
            store.save(record("k1"), "{}")
        shutil.copy(sound, tmp_path / "s")
        assert store.load("k1") == record("k1")


@pytest.mark.parametrize(
    "size",
    [
        64 * 2**20,
        pytest.param(10**9 - 10_000, marks=pytest.mark.deep, id="as much as SQLite keeps"),
    ],
)
@pytest.mark.parametrize("column", ["body", "key_text"])
def test_a_value_of_any_size_is_never_taken_into_memory(
    sound: Path, tmp_path: Path, size: int, column: str
) -> None:
    path = tmp_path / "s"
    shutil.copy(sound, path)
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE record SET {column} = zeroblob(?) WHERE key = 'k3'", (size,))
        database.commit()
    assert path.stat().st_size > size
    child = os.fork()
    if child == 0:
        code = 2
        try:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            store = open_store(path)
            assert (store.load("k3") is None) == (column == "body")
            assert store.load("k4") == record("k4")
            list(store.records())
            store.nearest({"model": "m"})
            grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
            code = 0 if grown_kib < 32 * 1024 else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_fuzzing_finds_nothing_in_a_few_seconds() -> None:
    counts = fuzz.run(3.0, seed=11)
    assert min(counts[kind] for kind in (*fuzz.DAMAGE, "texts")) > 0
    assert counts["inputs that lost a record"] > 0, "pointless unless damage is done"


@pytest.mark.deep
def test_fuzzing_finds_nothing_in_minutes() -> None:
    assert fuzz.run(150.0, seed=int.from_bytes(os.urandom(4)))["bytes"] > 100


def test_fuzzing_notices_a_store_that_believes_what_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records of a store without checks are taken as they are; some input shows it."""
    trusted = record("another")
    monkeypatch.setattr("ortsel.store.sqlite_store.decode_under", lambda body, key: trusted)
    with pytest.raises(AssertionError):
        fuzz.run(20.0, seed=1, where=tmp_path)


def test_fuzzing_notices_an_error_that_leaves_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ortsel.store.fallback_store.StoreError", ZeroDivisionError)
    with pytest.raises(StoreError):
        fuzz.run(20.0, seed=1, where=tmp_path)
