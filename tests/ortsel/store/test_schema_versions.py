"""A file of another version: a later one is left alone, an earlier one keeps its records."""

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ortsel.store import SqliteStore, open_store, sqlite_schema
from ortsel.store.errors import ForeignStoreError, NewerStoreError
from tests.ortsel.store.sample_records import record

LATER = "CREATE INDEX record_by_more ON record (created_s, key)"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """Give a file as this version writes it."""
    with closing(SqliteStore(tmp_path / "s")) as store:
        store.save(record("kept"), "{}")
    return tmp_path / "s"


@pytest.fixture
def next_version(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next version of the tables be the current one."""
    old = sqlite_schema.SCHEMAS[sqlite_schema.SCHEMA_VERSION]
    version = sqlite_schema.SCHEMA_VERSION + 1
    monkeypatch.setitem(sqlite_schema.SCHEMAS, version, old | {"record_by_more": LATER})
    monkeypatch.setitem(sqlite_schema.UPGRADES, version - 1, (LATER,))
    monkeypatch.setattr(sqlite_schema, "SCHEMA_VERSION", version)


def _version(path: Path) -> tuple[int, bool]:
    with closing(sqlite3.connect(path)) as database:
        [version] = database.execute("PRAGMA user_version").fetchone()
        names = database.execute("SELECT name FROM sqlite_master").fetchall()
    return version, ("record_by_more",) in names


def test_a_reader_changes_nothing_and_the_first_writer_keeps_every_record(
    earlier: Path, next_version: None
) -> None:
    with closing(SqliteStore(earlier)) as reader, closing(SqliteStore(earlier)) as writer:
        assert reader.load("kept") is None
        assert not reader.has_records()
        assert list(reader.records()) == []
        assert _version(earlier) == (1, False)
        writer.save(record("new"), "{}")
        assert _version(earlier) == (2, True)
        for store in (reader, writer):
            assert [one.record.key for one in store.records()] == ["kept", "new"]


def test_a_new_file_is_of_the_newest_version(tmp_path: Path, next_version: None) -> None:
    with closing(SqliteStore(tmp_path / "other")) as store:
        store.save(record(), "{}")
    assert _version(tmp_path / "other") == (2, True)


def test_a_file_of_an_earlier_version_with_other_tables_is_left_alone(
    earlier: Path, next_version: None
) -> None:
    with closing(sqlite3.connect(earlier)) as database:
        database.execute("DROP INDEX record_by_model")
    with closing(SqliteStore(earlier)) as store, pytest.raises(ForeignStoreError):
        store.save(record("new"), "{}")
    assert _version(earlier) == (1, False)


def test_the_earlier_version_leaves_an_upgraded_file_alone(
    earlier: Path, next_version: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(SqliteStore(earlier)) as store:
        store.save(record("new"), "{}")
    monkeypatch.setattr(sqlite_schema, "SCHEMA_VERSION", 1)
    with closing(SqliteStore(earlier)) as store:
        with pytest.raises(NewerStoreError):
            store.load("kept")
        with pytest.raises(NewerStoreError):
            store.save(record("mine"), "{}")
    with closing(open_store(earlier)) as quiet:
        assert quiet.load("kept") is None
        quiet.save(record("mine"), "{}")
        assert quiet.load("mine") == record("mine")
    assert _version(earlier) == (2, True)


def test_an_upgrade_that_is_killed_leaves_the_earlier_version(
    earlier: Path, next_version: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = os.fork()
    if child == 0:
        try:
            with closing(sqlite3.connect(earlier, isolation_level=None)) as database:
                database.create_function("die", 0, lambda: os.kill(os.getpid(), signal.SIGKILL))
                monkeypatch.setitem(sqlite_schema.UPGRADES, 1, (LATER, "SELECT die()"))
                sqlite_schema.upgrade(database, earlier)
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL, "pointless unless it was killed"
    assert _version(earlier) == (1, False)
    with closing(SqliteStore(earlier)) as store:
        store.save(record("new"), "{}")
        assert store.load("kept") == record("kept")
    assert _version(earlier) == (2, True)
