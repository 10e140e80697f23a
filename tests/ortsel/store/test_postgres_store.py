"""The store on a real server: shared, killed, frozen, read-only, and full of what others put in."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from ortsel.errors import MissingPackageError, UsageError
from ortsel.selection_config import SelectionConfig
from ortsel.store import PostgresStore, Store, StoreLimits, direct_store, open_store
from ortsel.store.codec import MAX_RECORD_BYTES, encode
from ortsel.store.errors import (
    BusyStoreError,
    ClosedStoreError,
    CorruptRecordError,
    ForeignStoreError,
    NewerRecordError,
    NewerStoreError,
    StoreError,
    UnreachableStoreError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from ortsel.store.preference import supersedes
from ortsel.store.server_url import shown
from ortsel.store.store import AGED_PER_SAVE, StoredRecord
from spec.record import Record
from tests.ortsel.store.postgres_server import PASSWORD, PostgresServer
from tests.ortsel.store.sample_records import NOW_S, record


@pytest.fixture
def url(postgres: PostgresServer, database: str) -> str:
    return postgres.url(database)


@pytest.fixture
def store(url: str) -> Iterator[PostgresStore]:
    with closing(PostgresStore(url, wall_clock_s=lambda: NOW_S)) as made:
        yield made


def test_reading_makes_nothing(postgres: PostgresServer, database: str, store: Store) -> None:
    assert store.load("k") is None
    assert not store.has_records()
    assert list(store.records()) == []
    store.remove("k")
    assert postgres.execute(database, "SELECT to_regclass('ortsel_record')") == [(None,)]


def test_another_store_on_the_same_server_finds_the_record(url: str, store: Store) -> None:
    store.save(record(), '{"model":"m"}')
    with closing(direct_store(url)) as other:
        assert isinstance(other, PostgresStore)
        assert other.load("k") == record()
        other.remove("k")
    assert store.load("k") is None


def test_a_table_dropped_while_running_is_made_again(
    postgres: PostgresServer, database: str, store: Store
) -> None:
    store.save(record("before"), "{}")
    assert store.load("before") == record("before")
    postgres.execute(database, "DROP TABLE ortsel_record")
    with pytest.raises(UnreadableStoreError, match="does not exist"):
        store.load("before")
    assert store.load("before") is None
    store.save(record("after"), "{}")
    assert store.load("after") == record("after")


def test_a_server_that_restarted_is_not_noticed(postgres: PostgresServer, store: Store) -> None:
    for end in (postgres.kill, postgres.stop):
        store.save(record(), "{}")
        assert store.load("k") == record()
        end()
        postgres.start()
        assert store.load("k") == record(), "what was committed is there"


def test_without_a_server_memory_serves_after_one_warning(
    postgres: PostgresServer, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(open_store(url)) as store, caplog.at_level(logging.WARNING):
        store.save(record("before"), "{}")
        assert store.load("before") == record("before")
        postgres.kill()
        try:
            begun_s = time.monotonic()
            assert store.load("before") is None
            store.save(record("new"), "{}")
            for _ in range(100):
                assert store.load("new") == record("new")
                assert store.load("before") is None
            store.remove("new")
            assert store.load("new") is None
            assert time.monotonic() - begun_s < 5.0, "one attempt, then it is left alone"
        finally:
            postgres.start()
    assert [logged.name for logged in caplog.records] == ["ortsel.store"]
    assert PASSWORD not in caplog.text


@pytest.mark.slow
def test_a_server_that_stops_answering_holds_nobody_up(postgres: PostgresServer, url: str) -> None:
    with closing(PostgresStore(url, connect_timeout_s=0.5, answer_timeout_s=0.5)) as store:
        store.save(record(), "{}")
        assert store.load("k") == record()
        postgres.freeze()
        try:
            uses: list[Callable[[], object]] = [
                lambda: store.load("k"),
                lambda: store.load("k"),
                lambda: store.save(record("a"), "{}"),
            ]
            for use in uses:
                begun_s = time.monotonic()
                with pytest.raises(UnreachableStoreError, match=r"no answer in time|timeout"):
                    use()
                assert time.monotonic() - begun_s < 10.0, "a frozen server never answers at all"
        finally:
            postgres.thaw()
        assert store.load("k") == record()


def test_something_that_accepts_and_says_nothing_is_unreachable() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"postgresql://u:hidden@127.0.0.1:{silent.getsockname()[1]}/d"
        store = PostgresStore(url, connect_timeout_s=0.3)
        with pytest.raises(UnreachableStoreError, match="no answer in time"):
            store.load("k")


def test_a_lock_that_another_holds_is_waited_for_only_so_long(
    postgres: PostgresServer, database: str, url: str
) -> None:
    with closing(PostgresStore(url, answer_timeout_s=0.3)) as store:
        store.save(record(), "{}")
        with psycopg.connect(postgres.url(database)) as other:
            other.execute("SELECT 1 FROM ortsel_record FOR UPDATE")
            with pytest.raises((BusyStoreError, UnreachableStoreError)):
                store.save(record(blocks=99), "{}")
            assert store.load("k") == record(), "a reader does not wait"
        store.save(record(blocks=99), "{}")
        assert store.load("k") == record(blocks=99)


def _eight_writers(url: str, work: Callable[[PostgresStore, int], None]) -> None:
    """Let eight processes work at once, each with a store of its own."""
    reading, writing = os.pipe()
    children = []
    for name in range(8):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                os.close(writing)
                os.read(reading, 1)
                patient = PostgresStore(
                    url,
                    wall_clock_s=lambda: NOW_S,
                    connect_timeout_s=60.0,
                    answer_timeout_s=60.0,
                )
                work(patient, name)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    os.close(writing)
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    os.close(reading)


@pytest.mark.slow
def test_of_eight_processes_that_save_one_key_the_best_evidence_stays(
    url: str, store: Store
) -> None:
    count = 10

    def one(name: int, number: int) -> Record:
        return record("shared", blocks=number * 8 + name, winner=str(name))

    def work(own: PostgresStore, name: int) -> None:
        for number in range(count):
            own.save(one(name, (number * 7) % count), "{}")

    _eight_writers(url, work)
    best = one(7, count - 1)
    every = [one(name, number) for name in range(8) for number in range(count)]
    assert all(supersedes(best, other, NOW_S) for other in every if other != best)
    assert [kept.record for kept in store.records()] == [best]


@pytest.mark.slow
def test_of_eight_processes_that_save_many_keys_none_loses_a_record(url: str, store: Store) -> None:
    def work(own: PostgresStore, name: int) -> None:
        for number in range(10):
            own.save(record(f"{name}-{number}"), "{}")

    _eight_writers(url, work)
    expected = {f"{name}-{number}" for name in range(8) for number in range(10)}
    assert {one.record.key for one in store.records()} == expected


def test_threads_share_a_store(store: PostgresStore) -> None:
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            for number in range(5):
                key = f"{thread}-{number}"
                store.save(record(key), "{}")
                assert store.load(key) == record(key)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(list(store.records())) == 20


def test_a_role_that_may_only_read_reads(
    postgres: PostgresServer, database: str, store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    store.save(record(), "{}")
    role = f"reader_{database}"
    postgres.execute(
        database,
        f"CREATE ROLE {role} LOGIN PASSWORD 'r-word'",
        f"GRANT SELECT ON ortsel_record TO {role}",
    )
    reading = postgres.url(database, role, "r-word")
    with closing(PostgresStore(reading)) as reader:
        assert reader.load("k") == record()
        assert [one.record.key for one in reader.records()] == ["k"]
        with pytest.raises(UnwritableStoreError, match="permission denied"):
            reader.save(record("a"), "{}")
        with pytest.raises(UnwritableStoreError, match="permission denied"):
            reader.remove("k")
    with closing(open_store(reading)) as quiet, caplog.at_level(logging.WARNING):
        assert quiet.load("k") == record()
        quiet.save(record("a"), "{}")
        assert quiet.load("a") == record("a")
        assert quiet.load("k") == record()
        assert len(caplog.records) == 1


def test_a_role_that_may_make_no_table_means_memory(
    postgres: PostgresServer, database: str
) -> None:
    role = f"guest_{database}"
    postgres.execute(
        database,
        f"CREATE ROLE {role} LOGIN PASSWORD 'g-word'",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    with closing(PostgresStore(postgres.url(database, role, "g-word"))) as store:
        assert store.load("k") is None
        with pytest.raises(UnwritableStoreError, match="permission denied"):
            store.save(record(), "{}")


HOSTILE_BODIES = [
    "''",
    r"'\x00'",
    r"'\xff'",
    "'{}'",
    "'null'",
    "convert_to(repeat('[', 100000), 'UTF8')",
    "convert_to(repeat('x', 2000000), 'UTF8')",
    """'{"schema":1,"record":{}}'""",
    "convert_to(replace(convert_from(body, 'UTF8'), '\"k\"', '\"another\"'), 'UTF8')",
    "convert_to(replace(convert_from(body, 'UTF8'), '1800000000', 'NaN'), 'UTF8')",
    "convert_to(replace(convert_from(body, 'UTF8'), '1800000000', '1e400'), 'UTF8')",
]


@pytest.mark.parametrize("body", HOSTILE_BODIES)
def test_a_body_that_is_no_record_is_corrupt_and_is_replaced(
    postgres: PostgresServer, database: str, store: PostgresStore, body: str
) -> None:
    store.save(record(), '{"model":"m"}')
    store.save(record("sound"), '{"model":"m"}')
    expression = body if body.startswith("convert") else f"{body}::bytea"
    if body.startswith("'{") or body == "'null'":
        expression = f"convert_to({body}, 'UTF8')"
    postgres.execute(database, f"UPDATE ortsel_record SET body = {expression} WHERE key = 'k'")
    with pytest.raises(CorruptRecordError):
        store.load("k")
    assert store.load("sound") == record("sound")
    assert [one.record.key for one in store.records()] == ["sound"]
    assert CorruptRecordError in map(type, store.examine())
    nearest = store.nearest({"model": "m"})
    assert nearest is not None
    assert nearest.stored.record.key == "sound"
    store.save(record(), "{}")
    assert store.load("k") == record()


def test_values_of_any_size_are_never_fetched(
    postgres: PostgresServer, database: str, store: PostgresStore
) -> None:
    store.save(record(), "{}")
    huge = f"convert_to(repeat('x', {MAX_RECORD_BYTES * 4}), 'UTF8')"
    postgres.execute(
        database,
        f"UPDATE ortsel_record SET body = {huge}, key_text = {huge}",
        f"INSERT INTO ortsel_record (key, model, created_s, body, key_text) "
        f"VALUES ('t', '', -9223372036854775808, '{{}}', {huge})",
    )
    with pytest.raises(CorruptRecordError, match="4194304 bytes, need at most 1048576"):
        store.load("k")
    assert [type(found) for found in store.examine()] == [CorruptRecordError] * 2
    assert store.nearest({"model": "m"}) is None


def test_only_rows_that_are_still_corrupt_are_removed(
    postgres: PostgresServer, database: str, store: PostgresStore
) -> None:
    for key in ("k", "sound", "later"):
        store.save(record(key), "{}")
    postgres.execute(
        database,
        "UPDATE ortsel_record SET body = 'nonsense' WHERE key = 'k'",
        "UPDATE ortsel_record SET body = '{\"schema\":2}' WHERE key = 'later'",
    )
    found = [one for one in store.examine() if not isinstance(one, StoredRecord)]
    assert sorted(one.key for one in found) == ["k", "later"]
    rows = [one.row for one in found if one.row is not None]
    assert store.remove_corrupt([*rows, *range(100)]) == 1
    assert [type(one) for one in store.examine()].count(StoredRecord) == 1
    assert len(list(store.examine())) == 2


def test_a_record_of_a_later_schema_is_not_replaced(
    postgres: PostgresServer, database: str, store: Store
) -> None:
    store.save(record(), "{}")
    postgres.execute(
        database, """UPDATE ortsel_record SET body = convert_to('{"schema":2}', 'UTF8')"""
    )
    with pytest.raises(NewerRecordError):
        store.load("k")
    with pytest.raises(NewerRecordError):
        store.save(record(blocks=99), "{}")
    with pytest.raises(NewerRecordError):
        store.load("k")


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("COMMENT ON TABLE ortsel_record IS 'ortsel decisions, schema 2'", NewerStoreError),
        ("COMMENT ON TABLE ortsel_record IS 'ortsel decisions, schema x'", ForeignStoreError),
        ("COMMENT ON TABLE ortsel_record IS NULL", ForeignStoreError),
        ("ALTER TABLE ortsel_record ADD COLUMN more text", ForeignStoreError),
        ("ALTER TABLE ortsel_record ALTER COLUMN body DROP NOT NULL", ForeignStoreError),
        (
            "ALTER TABLE ortsel_record ALTER COLUMN model SET DEFAULT trap()::bytea",
            ForeignStoreError,
        ),
        ("ALTER TABLE ortsel_record ADD CHECK (trap() = '')", ForeignStoreError),
        ("ALTER TABLE ortsel_record ENABLE ROW LEVEL SECURITY", ForeignStoreError),
        ("CREATE INDEX ON ortsel_record (trap(key))", ForeignStoreError),
        (
            "CREATE TRIGGER t BEFORE INSERT ON ortsel_record EXECUTE FUNCTION sprung()",
            ForeignStoreError,
        ),
        (
            "CREATE RULE r AS ON UPDATE TO ortsel_record DO ALSO SELECT trap()",
            ForeignStoreError,
        ),
        (
            "ALTER TABLE ortsel_record RENAME TO old; CREATE VIEW ortsel_record AS TABLE old",
            ForeignStoreError,
        ),
    ],
)
def test_a_table_that_runs_anything_or_is_another_is_left_alone(
    postgres: PostgresServer, database: str, url: str, statement: str, error: type[StoreError]
) -> None:
    with closing(PostgresStore(url)) as store:
        store.save(record(), "{}")
    postgres.execute(
        database,
        "CREATE TABLE sprung_at (note text)",
        "CREATE FUNCTION trap() RETURNS text LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO sprung_at VALUES ('read'); RETURN ''; END$$",
        "CREATE FUNCTION trap(bytea) RETURNS text LANGUAGE plpgsql IMMUTABLE AS "
        "$$BEGIN RETURN ''; END$$",
        "CREATE FUNCTION sprung() RETURNS trigger LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO sprung_at VALUES ('written'); RETURN NEW; END$$",
        *statement.split("; "),
        "TRUNCATE sprung_at",
    )
    with closing(PostgresStore(url)) as store:
        uses: list[Any] = [
            lambda: store.load("k"),
            lambda: store.save(record("a"), "{}"),
            lambda: store.remove("k"),
            lambda: list(store.records()),
            store.has_records,
            lambda: store.nearest({"model": "m"}),
        ]
        for use in uses:
            with pytest.raises(error):
                use()
    assert postgres.execute(database, "SELECT count(*) FROM sprung_at") == [(0,)]


def test_a_clock_that_jumps_ahead_empties_the_table_slowly(
    postgres: PostgresServer, database: str, url: str
) -> None:
    later_s = NOW_S + 10**9
    limits = StoreLimits(max_age_s=1000)
    with closing(PostgresStore(url, limits, wall_clock_s=lambda: later_s)) as store:
        store.save(record("first", created_s=later_s), "{}")
        postgres.execute(
            database,
            "INSERT INTO ortsel_record (key, model, created_s, body, key_text) "
            f"SELECT convert_to(n::text, 'UTF8'), '', {NOW_S}, '', '' "
            "FROM generate_series(1, 200) n",
        )
        store.save(record("now", created_s=later_s), "{}")
        assert len(list(store.examine())) == 202 - AGED_PER_SAVE


def test_a_lower_capacity_empties_a_full_table_bit_by_bit(
    postgres: PostgresServer, database: str, url: str
) -> None:
    with closing(PostgresStore(url, StoreLimits(capacity=10))) as store:
        store.save(record("first"), "{}")
        postgres.execute(
            database,
            "INSERT INTO ortsel_record (key, model, created_s, body, key_text) "
            f"SELECT convert_to(n::text, 'UTF8'), '', {2**60}, '', '' "
            "FROM generate_series(1, 1500) n",
        )
        store.save(record("second"), "{}")
        count = "SELECT count(*) FROM ortsel_record"
        assert postgres.execute(database, count) == [(1502 - 1024,)]
        store.save(record("third"), "{}")
        assert postgres.execute(database, count) == [(10,)]


def test_a_row_with_a_number_of_its_own_does_not_make_others_look_old(
    postgres: PostgresServer, database: str, store: Store
) -> None:
    store.save(record("a"), "{}")
    postgres.execute(
        database,
        "INSERT INTO ortsel_record (sequence, key, model, created_s, body, key_text) "
        f"OVERRIDING SYSTEM VALUE VALUES ({2**63 - 1}, 'x', '', 0, '', '')",
    )
    store.save(record("b"), "{}")
    assert [one.record.key for one in store.records()] == ["a", "b"]


def test_a_listing_sees_more_than_one_page(store: Store) -> None:
    for number in range(34):
        store.save(record(f"k{number}"), "{}")
    assert [one.record.key for one in store.records()] == [f"k{number}" for number in range(34)]


@pytest.mark.parametrize("key", ["k" * 1025, "k" * 100_000])
def test_a_key_that_no_index_takes_is_not_written(store: Store, key: str) -> None:
    with pytest.raises(CorruptRecordError, match=r"key: got .* need at most 1024"):
        store.save(record(key), "{}")
    with pytest.raises(CorruptRecordError, match="key text: got 400000 bytes"):
        store.save(record(), "x" * 400_000)
    assert not store.has_records()


def test_a_closed_store_says_so(store: PostgresStore) -> None:
    store.close()
    with pytest.raises(ClosedStoreError):
        store.load("k")
    with pytest.raises(ClosedStoreError):
        store.save(record(), "{}")


def test_a_store_that_was_open_works_on_both_sides_of_a_fork(store: PostgresStore) -> None:
    store.save(record("before"), "{}")
    assert store.load("before") == record("before")
    child = os.fork()
    if child == 0:
        code = 2
        try:
            store.save(record("child"), "{}")
            code = 0 if store.load("before") == record("before") else 1
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert store.load("child") == record("child")


def test_saving_keeps_no_connection_and_looking_up_keeps_one(
    postgres: PostgresServer, database: str, store: PostgresStore
) -> None:
    ask = (
        "SELECT application_name, state FROM pg_stat_activity "
        f"WHERE datname = '{database}' AND pid <> pg_backend_pid()"
    )
    for number in range(5):
        store.save(record(f"k{number}"), "{}")
        store.load("k0")
    deadline_s = time.monotonic() + 10
    while len(found := postgres.execute(database, ask)) > 1 and time.monotonic() < deadline_s:
        time.sleep(0.02)  # the server notices an end a little later
    assert found == [("ortsel", "idle")]


SECRETS = [
    ("postgresql://user:s3cret@host/db", "postgresql://host/db"),
    (
        "postgres://user:s3cret@host:5432,other:1/db?sslmode=require",
        "postgres://host:5432,other:1/db",
    ),
    ("POSTGRESQL://user:s3c%2Fret@/db?host=/tmp&password=s3cret", "postgresql:///db"),
    ("postgresql://host/db?password=s3cret&user=user", "postgresql://host/db"),
    ("postgresql://user:s3c/r@et@host/db", "postgresql://host/db"),
    ("postgresql://user:s3cret?x@host/db", "postgresql://***"),
    ("postgresql://host/db?password=s3@cret", "postgresql://***"),
]


@pytest.mark.parametrize(("place", "visible"), SECRETS)
def test_of_a_url_only_hosts_and_database_are_shown(place: str, visible: str) -> None:
    assert shown(place) == visible
    assert "s3c" not in shown(place)


@pytest.mark.parametrize(
    "place", [place for place, _ in SECRETS] + ["postgresql://u:s3cret%zz@h/d"]
)
def test_no_error_log_or_representation_holds_a_password(
    place: str, caplog: pytest.LogCaptureFixture
) -> None:
    words = [shown(place)]
    with caplog.at_level(logging.DEBUG):
        try:
            config = SelectionConfig(store=place)
            words.append(repr(config))
            store = PostgresStore(place, connect_timeout_s=0.2)
            words.append(repr(store))
            with pytest.raises(StoreError) as caught:
                store.load("k")
            error: BaseException = caught.value
        except UsageError as refused:
            error = refused
        words.extend([str(error), repr(error), repr(error.__cause__)])
        assert error.__cause__ is None
        quiet = open_store(place) if not isinstance(error, UsageError) else None
        if quiet is not None:
            quiet.load("k")
            words.append(repr(getattr(quiet, "troubles", "")))
    words.append(caplog.text)
    for text in words:
        for secret in ("s3cret", "s3c/r", "s3c%2F", "s3@cret"):
            assert secret not in text, text


def test_a_wrong_password_is_unreachable_and_not_repeated(
    postgres: PostgresServer, database: str
) -> None:
    store = PostgresStore(postgres.url(database, password="wr0ng-w@rd"))
    with pytest.raises(UnreachableStoreError, match="authentication failed") as caught:
        store.load("k")
    assert "wr0ng" not in str(caught.value)


def test_a_driver_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ortsel.store.server_url.find_spec", lambda _: None)
    with pytest.raises(MissingPackageError, match=r"ortsel\[postgres\]"):
        SelectionConfig(store="postgresql://host/db")
    with pytest.raises(MissingPackageError, match=r"ortsel\[postgres\]"):
        open_store("postgresql://host/db")


def test_what_is_kept_is_what_a_file_keeps(
    postgres: PostgresServer, database: str, store: Store
) -> None:
    store.save(record(), '{"model":"m"}')
    [(body, text)] = postgres.execute(database, "SELECT body, key_text FROM ortsel_record")
    assert (bytes(body).decode(), bytes(text).decode()) == (encode(record()), '{"model":"m"}')
