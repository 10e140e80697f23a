import os
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import pytest

from ortsel.errors import UsageError
from ortsel.store import SqliteStore, StoreLimits
from ortsel.store.errors import (
    BusyStoreError,
    ClosedStoreError,
    CorruptRecordError,
    ForeignStoreError,
    NewerRecordError,
    NewerStoreError,
    UnreadableStoreError,
)
from ortsel.store.store import AGED_PER_SAVE
from tests.ortsel.store.sample_records import NOW_S, record


def test_another_store_on_the_same_file_finds_the_record(tmp_path: Path) -> None:
    with (
        closing(SqliteStore(tmp_path / "s")) as first,
        closing(SqliteStore(tmp_path / "s")) as second,
    ):
        assert second.load("a") is None
        first.save(record("a"), "{}")
        assert second.load("a") == record("a")
        first.remove("a")
        assert second.load("a") is None
    with closing(SqliteStore(tmp_path / "s")) as third:
        third.save(record("b"), "{}")
    with closing(SqliteStore(tmp_path / "s")) as fourth:
        assert fourth.load("b") == record("b")


def test_reading_creates_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "folder" / "s")
    assert store.load("a") is None
    store.remove("a")
    assert list(store.records()) == []
    assert not (tmp_path / "folder").exists()


def test_only_the_owner_can_read(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "folder" / "s")) as store:
        store.save(record(), "{}")
        files = sorted((tmp_path / "folder").iterdir())
        assert [path.name for path in files] == ["s", "s-shm", "s-wal"]
        assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
        assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o700


def test_a_path_may_hold_what_a_url_may_not(tmp_path: Path) -> None:
    path = tmp_path / "a?mode=memory#%20 b" / "ü&s"
    with closing(SqliteStore(path)) as store:
        store.save(record(), "{}")
    assert path.stat().st_size > 0
    with closing(SqliteStore(path)) as store:
        assert store.load("k") == record()


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    store.save(record(), "{}")
    store.close()
    store.close()
    with pytest.raises(ClosedStoreError):
        store.load("k")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s"]


def _execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        for statement in statements:
            database.execute(statement)
        database.commit()


def _saved(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.save(record(), "{}")


def test_a_later_schema_is_neither_read_nor_written(tmp_path: Path) -> None:
    _saved(tmp_path / "s")
    _execute(tmp_path / "s", "PRAGMA user_version = 2")
    before = (tmp_path / "s").read_bytes()
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(NewerStoreError) as caught:
            store.load("k")
        with pytest.raises(NewerStoreError):
            store.save(record("other"), "{}")
        with pytest.raises(NewerStoreError):
            store.remove("k")
    assert (caught.value.got, caught.value.need) == (2, 1)
    assert (tmp_path / "s").read_bytes() == before


@pytest.mark.parametrize(
    "statement",
    [
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 0",
        "CREATE TABLE more (x)",
        "CREATE VIEW more AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM record; END",
        "ALTER TABLE record ADD COLUMN more INTEGER",
        "DROP INDEX record_by_created",
    ],
)
def test_a_file_with_other_tables_is_left_alone(tmp_path: Path, statement: str) -> None:
    _saved(tmp_path / "s")
    _execute(tmp_path / "s", statement)
    before = (tmp_path / "s").read_bytes()
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(ForeignStoreError):
            store.load("k")
        with pytest.raises(ForeignStoreError):
            store.save(record("other"), "{}")
    assert (tmp_path / "s").read_bytes() == before


def test_a_view_that_never_ends_is_not_read(tmp_path: Path) -> None:
    _saved(tmp_path / "s")
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT"
    columns = "x AS sequence, '' AS key, '' AS model, 0 AS created_s, '' AS body, '' AS key_text"
    _execute(
        tmp_path / "s", "DROP TABLE record", f"CREATE VIEW record AS {endless} {columns} FROM n"
    )
    with closing(SqliteStore(tmp_path / "s")) as store, pytest.raises(ForeignStoreError):
        store.load("k")


def test_another_application_s_database_is_left_alone(tmp_path: Path) -> None:
    _execute(tmp_path / "s", "CREATE TABLE record (key TEXT, body TEXT)")
    before = (tmp_path / "s").read_bytes()
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(ForeignStoreError):
            store.load("k")
        with pytest.raises(ForeignStoreError):
            store.save(record(), "{}")
    assert (tmp_path / "s").read_bytes() == before


@pytest.mark.parametrize(
    "body", ["''", "'{}'", "NULL", "7", "1.5", "x'ff'", "zeroblob(5000000)", "'[' || 'a'"]
)
def test_a_body_of_any_other_type_is_a_corrupt_record(tmp_path: Path, body: str) -> None:
    _saved(tmp_path / "s")
    if body == "NULL":
        with pytest.raises(sqlite3.IntegrityError):
            _execute(tmp_path / "s", "UPDATE record SET body = NULL")
        return
    _execute(tmp_path / "s", f"UPDATE record SET body = {body}")
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(CorruptRecordError):
            store.load("k")
        assert [type(found) for found in store.examine()] == [CorruptRecordError]
        assert list(store.records()) == []
        assert store.nearest({"model": "m"}) is None
        assert store.load("other") is None
        store.save(record(), "{}")
        assert store.load("k") == record(), "what cannot be decoded is replaced"


def test_a_record_of_another_key_is_corrupt(tmp_path: Path) -> None:
    _saved(tmp_path / "s")
    _execute(tmp_path / "s", "UPDATE record SET key = 'other'")
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(CorruptRecordError):
            store.load("other")
        assert list(store.records()) == []
        assert [type(found) for found in store.examine()] == [CorruptRecordError]


def test_a_record_counts_though_it_cannot_be_understood(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with closing(SqliteStore(path)) as store:
        store.save(record("a"), "{}")
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE record SET body = x'00'")
        database.commit()
    with closing(SqliteStore(path)) as store:
        assert list(store.records()) == [], "pointless unless it cannot be decoded"
        assert store.has_records()


def test_a_record_of_a_later_schema_is_not_replaced(tmp_path: Path) -> None:
    _saved(tmp_path / "s")
    _execute(tmp_path / "s", """UPDATE record SET body = '{"schema":2}'""")
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(NewerRecordError):
            store.load("k")
        with pytest.raises(NewerRecordError):
            store.save(record(blocks=99), "{}")
        store.save(record("other"), "{}")
        assert store.load("other") == record("other")
        with pytest.raises(NewerRecordError):
            store.load("k")


def test_a_writer_waits_for_another_only_so_long(tmp_path: Path) -> None:
    _saved(tmp_path / "s")
    with closing(sqlite3.connect(tmp_path / "s", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with closing(SqliteStore(tmp_path / "s", busy_timeout_ms=50)) as store:
            with pytest.raises(BusyStoreError):
                store.save(record("a"), "{}")
            assert store.load("k") == record(), "a reader does not wait"
            other.execute("ROLLBACK")
            store.save(record("a"), "{}")
            assert store.load("a") == record("a")


def test_an_interrupted_writer_locks_nobody_out(tmp_path: Path) -> None:
    with (
        closing(SqliteStore(tmp_path / "s")) as store,
        closing(SqliteStore(tmp_path / "s", busy_timeout_ms=0)) as other,
    ):
        store.save(record(), "{}")

        def interrupted() -> None:
            with store._writing.use() as database:
                assert database is not None
                database.execute("BEGIN IMMEDIATE")
                with pytest.raises(BusyStoreError):
                    other.save(record("a"), "{}")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        other.save(record("a"), "{}")
        store.save(record("b"), "{}")
        assert other.load("b") == store.load("b") == record("b")


def test_a_listing_sees_more_than_one_page(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        for number in range(600):
            store.save(record(f"k{number}"), "{}")
        assert [one.record.key for one in store.records()] == [f"k{n}" for n in range(600)]


@pytest.mark.parametrize("number", [2**63 - 1, 2**60 + 1, -(2**63)])
def test_a_row_with_a_number_of_its_own_does_not_make_others_look_old(
    tmp_path: Path, number: int
) -> None:
    _saved(tmp_path / "s")
    _execute(tmp_path / "s", f"UPDATE record SET sequence = {number}")
    with closing(SqliteStore(tmp_path / "s")) as store:
        for key in "ab":
            store.save(record(key), "{}")
        assert [one.record.key for one in store.records()] == ["a", "b"]


def test_a_file_that_is_too_large_loses_what_came_first(tmp_path: Path) -> None:
    limits = StoreLimits(max_bytes=2**20)
    with closing(SqliteStore(tmp_path / "s", limits)) as store:
        for number in range(300):
            store.save(record(f"k{number}"), "x" * 10_000)
        kept = [one.record.key for one in store.records()]
    assert 1 < len(kept) < 300
    assert kept == [f"k{number}" for number in range(300 - len(kept), 300)]
    assert (tmp_path / "s").stat().st_size < 2 * 2**20


def test_a_clock_that_jumps_ahead_empties_the_store_slowly(tmp_path: Path) -> None:
    now_s = [NOW_S]
    with closing(SqliteStore(tmp_path / "s", wall_clock_s=lambda: now_s[0])) as store:
        for number in range(200):
            store.save(record(f"k{number}"), "{}")
        now_s[0] += 10**9
        store.save(record("now", created_s=now_s[0]), "{}")
        assert len(list(store.records())) == 201 - AGED_PER_SAVE


@pytest.mark.parametrize(
    "limits", [{"capacity": 0}, {"capacity": True}, {"max_age_s": 0}, {"max_bytes": 1000}]
)
def test_limits_outside_their_range_are_refused(limits: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=f"{next(iter(limits))}: got .*, need an integer from"):
        StoreLimits(**limits)


def test_a_key_text_that_no_key_has_is_not_written(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "s")) as store:
        with pytest.raises(CorruptRecordError):
            store.save(record(), "x" * 400_000)
        assert store.load("k") is None


def test_threads_share_a_store(tmp_path: Path) -> None:
    failures: list[BaseException] = []
    with closing(SqliteStore(tmp_path / "s")) as store:

        def work(thread: int) -> None:
            try:
                for number in range(20):
                    key = f"{thread}-{number}"
                    store.save(record(key), "{}")
                    assert store.load(key) == record(key)
            except BaseException as error:
                failures.append(error)
                raise

        threads = [threading.Thread(target=work, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(list(store.records())) == 160


def test_something_that_is_not_a_file_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name in ("folder", "pipe"):
        store = SqliteStore(tmp_path / name)
        with pytest.raises(UnreadableStoreError, match="not a regular file"):
            store.load("k")
        with pytest.raises(UnreadableStoreError, match="not a regular file"):
            store.save(record(), "{}")
