import logging
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from ortsel.store import FallbackStore, MemoryStore, Nearest, StoredRecord, StoreError
from ortsel.store.errors import BusyStoreError, CorruptRecordError, UnreachableStoreError
from ortsel.store.fallback_store import RETRY_AFTER_S
from spec.canonical_json import Json
from spec.record import Record
from tests.ortsel.store.sample_records import record

BUSY = BusyStoreError(Path("s"), 5000)
CORRUPT = CorruptRecordError("record.ratio", "0", "more")


class _Fragile(MemoryStore):
    """A store that raises `trouble` as long as it is set, and counts how often it is asked."""

    trouble: StoreError | None = None
    asked = 0

    def _try(self) -> None:
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble

    def load(self, key: str) -> Record | None:
        self._try()
        return super().load(key)

    def save(self, record: Record, key_text: str) -> None:
        self._try()
        super().save(record, key_text)

    def remove(self, key: str) -> None:
        self._try()
        super().remove(key)

    def records(self) -> Iterator[StoredRecord]:
        self._try()
        return super().records()

    def has_records(self) -> bool:
        self._try()
        return super().has_records()

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        self._try()
        return super().nearest(parts)

    def close(self) -> None:
        self._try()


@pytest.fixture
def fragile() -> _Fragile:
    return _Fragile()


def test_a_sound_store_is_passed_through(fragile: _Fragile) -> None:
    store = FallbackStore(fragile)
    store.save(record("a"), "{}")
    assert fragile.load("a") == store.load("a") == record("a")
    store.remove("a")
    assert fragile.load("a") is None
    assert store.troubles == ()


@pytest.mark.parametrize("trouble", [BUSY, CORRUPT])
def test_no_trouble_leaves_the_store(
    fragile: _Fragile, trouble: StoreError, caplog: pytest.LogCaptureFixture
) -> None:
    store = FallbackStore(fragile)
    store.save(record("a"), '{"model":"m"}')
    fragile.trouble = trouble
    with caplog.at_level(logging.WARNING):
        assert store.load("a") is None
        store.save(record("b"), '{"model":"m"}')
        assert store.load("b") == record("b")
        assert [one.record.key for one in store.records()] == ["b"]
        nearest = store.nearest({"model": "m"})
        assert nearest is not None
        assert nearest.stored.record.key == "b"
        store.remove("b")
        assert store.load("b") is None
        store.close()
    assert [logged.levelname for logged in caplog.records] == ["WARNING"]
    assert str(trouble) in caplog.text
    assert store.troubles == (trouble,)


def test_after_trouble_the_store_is_left_alone_for_a_while(fragile: _Fragile) -> None:
    now_s = [100.0]
    store = FallbackStore(fragile, monotonic_s=lambda: now_s[0])
    fragile.trouble = BUSY
    store.save(record("a"), "{}")
    store.save(record("b"), "{}")
    store.remove("c")
    assert fragile.asked == 1
    store.load("d")
    store.load("e")
    assert fragile.asked == 2, "what cannot be written may still be read, once"
    fragile.trouble = None
    fragile.asked = 1
    now_s[0] += RETRY_AFTER_S
    store.save(record("d"), "{}")
    assert fragile.asked == 2
    assert fragile.load("d") == record("d")


def test_a_server_that_stays_away_is_asked_less_and_less_often(fragile: _Fragile) -> None:
    now_s = [100.0]
    store = FallbackStore(fragile, monotonic_s=lambda: now_s[0])
    fragile.trouble = UnreachableStoreError("postgresql://host/d", "gone")
    asked_at = []
    for _ in range(6000):
        before = fragile.asked
        store.load("a")
        store.save(record("b"), "{}")
        if fragile.asked > before:
            asked_at.append(now_s[0] - 100.0)
            assert fragile.asked == before + 1, "reading and writing rest together"
        now_s[0] += 1.0
    pauses = [later - sooner for sooner, later in pairwise(asked_at)]
    assert pauses == [RETRY_AFTER_S * times for times in (1, 2, 4, 8, 16, 16, 16, 16, 16)]
    fragile.trouble = None
    now_s[0] += 10_000.0
    assert store.load("a") is None
    fragile.trouble = UnreachableStoreError("postgresql://host/d", "gone again")
    store.load("a")
    fragile.asked = 0
    now_s[0] += RETRY_AFTER_S
    store.load("a")
    assert fragile.asked == 1, "the first pause is short again"


def test_a_store_that_cannot_be_read_is_asked_once_whatever_is_asked(fragile: _Fragile) -> None:
    now_s = [100.0]
    store = FallbackStore(fragile, monotonic_s=lambda: now_s[0])
    store.save(record("a"), '{"model":"m"}')
    fragile.trouble = BUSY
    fragile.asked = 0
    assert store.nearest({"model": "m"}) is None
    assert not store.has_records()
    assert list(store.records()) == []
    assert store.nearest({"model": "m"}) is None
    assert store.load("a") is None
    assert fragile.asked == 1
    fragile.trouble = None
    now_s[0] += RETRY_AFTER_S
    assert store.has_records()
    assert store.nearest({"model": "m"}) is not None
    assert [one.record.key for one in store.records()] == ["a"]


@pytest.mark.parametrize("trouble", [BUSY, CORRUPT])
def test_asking_for_any_record_never_raises_and_counts_those_in_memory(
    fragile: _Fragile, trouble: StoreError
) -> None:
    store = FallbackStore(fragile)
    assert not store.has_records()
    fragile.trouble = trouble
    assert not store.has_records()
    store.save(record("a"), "{}")
    assert store.has_records()


def test_a_damaged_record_does_not_keep_others_from_being_read(fragile: _Fragile) -> None:
    store = FallbackStore(fragile)
    store.save(record("sound"), "{}")
    fragile.trouble = CORRUPT
    assert store.load("damaged") is None
    fragile.trouble = None
    assert store.load("sound") == record("sound")


def test_a_record_that_could_not_be_removed_stays_hidden_until_it_is_replaced(
    fragile: _Fragile,
) -> None:
    now_s = [100.0]
    store = FallbackStore(fragile, monotonic_s=lambda: now_s[0])
    store.save(record("a"), "{}")
    fragile.trouble = BUSY
    store.remove("a")
    fragile.trouble = None
    now_s[0] += RETRY_AFTER_S
    assert fragile.load("a") == record("a"), "pointless unless it is still there"
    assert store.load("a") is None
    assert list(store.records()) == []
    store.save(record("a", blocks=99), "{}")
    assert store.load("a") == record("a", blocks=99)


def test_an_error_that_is_kept_holds_no_frames(fragile: _Fragile) -> None:
    store = FallbackStore(fragile)
    fragile.trouble = BusyStoreError(Path("s"), 1)
    store.load("a")
    assert [error.__traceback__ for error in store.troubles] == [None]


def test_errors_that_are_no_store_s_are_not_hidden(fragile: _Fragile) -> None:
    class _Broken(MemoryStore):
        def load(self, key: str) -> Record | None:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        FallbackStore(_Broken()).load("a")
