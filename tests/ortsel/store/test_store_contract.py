"""What every store does, whether it keeps records in memory, in a file, or on a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ortsel.store import (
    FallbackStore,
    MemoryStore,
    PostgresStore,
    SqliteStore,
    Store,
    StoredRecord,
    StoreLimits,
)
from ortsel.store.errors import CorruptRecordError
from spec.canonical_json import canonical
from spec.record import Origin
from tests.ortsel.store.postgres_server import PostgresServer
from tests.ortsel.store.sample_records import NOW_S, record

LIMITS = StoreLimits(capacity=4, max_age_s=1000)


@pytest.fixture(params=["memory", "sqlite", "postgres", "fallback"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    match request.param:
        case "memory":
            made = MemoryStore(LIMITS, lambda: NOW_S)
        case "sqlite":
            made = SqliteStore(tmp_path / "s", LIMITS, wall_clock_s=lambda: NOW_S)
        case "fallback":
            made = FallbackStore(SqliteStore(tmp_path / "s", LIMITS, wall_clock_s=lambda: NOW_S))
        case _:
            server: PostgresServer = request.getfixturevalue("postgres")
            url = server.url(request.getfixturevalue("database"))
            made = PostgresStore(url, LIMITS, wall_clock_s=lambda: NOW_S)
    yield made
    made.close()


def test_a_record_is_found_by_its_key_alone(store: Store) -> None:
    store.save(record("a"), "{}")
    assert store.load("a") == record("a")
    assert store.load("b") is None


def test_a_removed_record_is_gone(store: Store) -> None:
    store.save(record("a"), "{}")
    store.remove("a")
    store.remove("never there")
    assert store.load("a") is None


def test_the_better_record_of_a_key_stays(store: Store) -> None:
    store.save(record(blocks=5), "{}")
    store.save(record(blocks=4), "{}")
    assert store.load("k") == record(blocks=5)
    store.save(record(blocks=6), "{}")
    assert store.load("k") == record(blocks=6)


def test_the_key_that_came_first_leaves_first(store: Store) -> None:
    for key in "abcde":
        store.save(record(key), "{}")
    store.save(record("b", blocks=99), "{}")
    store.save(record("f"), "{}")
    assert [one.record.key for one in store.records()] == ["c", "d", "e", "f"]


def test_records_leave_with_age(store: Store) -> None:
    store.save(record("old", created_s=NOW_S - 1000), "{}")
    store.save(record("older", created_s=NOW_S - 1001), "{}")
    assert [one.record.key for one in store.records()] == ["old"]


def test_a_listing_gives_the_text_of_the_key(store: Store) -> None:
    store.save(record("a"), '{"model":"m"}')
    assert [one.key_text for one in store.records()] == ['{"model":"m"}']


def test_the_nearest_record_is_of_the_same_model(store: Store) -> None:
    store.save(record("a"), canonical({"model": "m", "workload": 1, "environment": 1}))
    store.save(record("b"), canonical({"model": "n", "workload": 2, "environment": 2}))
    nearest = store.nearest({"model": "m", "workload": 2, "environment": 2})
    assert nearest is not None
    assert (nearest.stored.record.key, nearest.differing) == ("a", ("environment", "workload"))
    nearest = store.nearest({"model": "o", "workload": 2, "environment": 2})
    assert nearest is not None
    assert (nearest.stored.record.key, nearest.differing) == ("b", ("model",))


def test_an_empty_store_has_no_nearest_record(store: Store) -> None:
    assert store.nearest({"model": "m"}) is None
    assert list(store.records()) == []


@pytest.mark.parametrize("key", ["'; DROP TABLE record; --", '"', "\\", "%", "\u0000", "ключ"])
def test_names_are_never_part_of_a_statement(store: Store, key: str) -> None:
    store.save(record("other"), "{}")
    store.save(record(key, winner=key, reference=key), key)
    assert store.load(key) == record(key, winner=key, reference=key)
    store.remove(key)
    assert store.load(key) is None
    assert store.load("other") == record("other")


def test_a_store_has_records_as_soon_as_one_was_saved(store: Store) -> None:
    assert not store.has_records()
    store.save(record("a"), "{}")
    assert store.has_records()
    store.remove("a")
    assert not store.has_records()


def test_records_of_a_later_date_and_imported_ones_give_way(store: Store) -> None:
    store.save(record("a", created_s=NOW_S + 10_000), "{}")
    store.save(record("a"), "{}")
    assert store.load("a") == record("a")
    store.save(record("b", origin=Origin.IMPORTED, blocks=1000), "{}")
    store.save(record("b", blocks=2), "{}")
    assert store.load("b") == record("b", blocks=2)


def test_listing_may_go_on_while_records_come_and_go(store: Store) -> None:
    for key in "abc":
        store.save(record(key), "{}")
    listing = store.records()
    first = next(listing)
    store.remove("b")
    store.save(record("d"), "{}")
    later = [one.record.key for one in listing]
    assert first.record.key == "a"
    assert {"c"} <= set(later) <= {"b", "c", "d"}


LASTING = pytest.mark.parametrize("store", ["sqlite", "postgres"], indirect=True)


@LASTING
def test_many_records_are_saved_and_removed_at_once(
    store: SqliteStore | PostgresStore,
) -> None:
    store.save(record("b", blocks=99), "{}")
    stored = [StoredRecord(record(key), "{}") for key in "cab"]
    assert store.save_all(stored) == 2, "of b a better one is there"
    assert {one.record.key for one in store.records()} == set("abc")
    assert store.load("b") == record("b", blocks=99)
    store.remove_all(["a", "c", "never there"])
    assert [one.record.key for one in store.records()] == ["b"]


@LASTING
def test_of_many_records_none_is_saved_where_one_cannot_be(
    store: SqliteStore | PostgresStore,
) -> None:
    with pytest.raises(CorruptRecordError):
        store.save_all([StoredRecord(record("a"), "{}"), StoredRecord(record("b"), "x" * 400_000)])
    assert not store.has_records()
