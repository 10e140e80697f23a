"""An import takes a bundle whole or not at all, and what is imported never passes for measured."""

import logging
from pathlib import Path

import pytest
from attrs import evolve

from ortsel.bundle import Bundle, SigningKey, import_bundle
from ortsel.bundle.errors import CorruptBundleError
from ortsel.bundle.kept_bundles import MOST_FILES, KeptBundles
from ortsel.bundle.trusting_store import TrustingStore
from ortsel.store import MemoryStore, SqliteStore, StoredRecord, StoreError
from spec.record import CLOCK_SKEW_S, Origin
from tests.ortsel.bundle.bundle_samples import ENVIRONMENT, bundle, parts, shapes, stored
from tests.ortsel.store.sample_records import NOW_S

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(range(1, 33)))


def sqlite(path: Path) -> SqliteStore:
    return SqliteStore(path / "store.sqlite3", wall_clock_s=lambda: NOW_S)


def imported(one: StoredRecord) -> StoredRecord:
    return evolve(one, record=evolve(one.record, origin=Origin.IMPORTED))


def take(store: SqliteStore, what: Bundle, key: SigningKey | None = None) -> int:
    data = what.write(key)
    return import_bundle(Bundle.read(data), data, store, ENVIRONMENT, NOW_S).kept


def test_imported_records_say_so_and_keep_everything_else(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    done = import_bundle(bundle(3), bundle(3).write(), store, ENVIRONMENT, NOW_S)
    assert (done.records, done.kept, done.for_this_machine) == (3, 3, 3)
    ordered = sorted(shapes(3), key=lambda one: one.record.key)
    assert list(store.records()) == [imported(one) for one in ordered]


def test_records_of_another_machine_are_counted_apart(tmp_path: Path) -> None:
    other = stored(environment={"cpu": "two", "unknown": []})
    mixed = Bundle.of([*shapes(2), other], {})
    done = import_bundle(mixed, b"", sqlite(tmp_path), ENVIRONMENT, NOW_S)
    assert (done.records, done.for_this_machine) == (3, 2)


def test_what_was_measured_here_stays(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    own = shapes(3)[0]
    store.save(evolve(own.record, created_s=NOW_S - 9999), own.key_text)
    assert take(store, bundle(3)) == 2
    found = store.load(own.record.key)
    assert found is not None
    assert found.origin is Origin.LOCAL


def test_what_is_measured_here_later_takes_the_place(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    take(store, bundle(1))
    own = evolve(shapes(1)[0].record, blocks=1, created_s=NOW_S - 9999)
    store.save(own, shapes(1)[0].key_text)
    assert store.load(own.key) == own


def test_a_record_dated_ahead_refuses_the_whole_bundle(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    ahead = stored(workload={"rows": 9})
    ahead = evolve(ahead, record=evolve(ahead.record, created_s=NOW_S + CLOCK_SKEW_S + 1))
    with pytest.raises(CorruptBundleError, match="301 s ahead of this clock"):
        take(store, Bundle.of([*shapes(2), ahead], {}))
    assert list(store.records()) == []


def test_an_import_that_fails_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sqlite(tmp_path)
    take(store, bundle(1))
    before = list(store.records())
    calls = []

    def stop(*arguments: object) -> bool:
        calls.append(arguments)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return True

    monkeypatch.setattr(store, "_takes_place", stop)
    with pytest.raises(KeyboardInterrupt):
        take(store, bundle(5))
    monkeypatch.undo()
    assert len(calls) == 3, "pointless unless some were written already"
    assert list(store.records()) == before
    assert take(store, bundle(5)) >= 4


def test_a_store_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "store.sqlite3").mkdir()
    with pytest.raises(StoreError, match=r"store\.sqlite3"):
        take(sqlite(tmp_path), bundle(1))


def test_only_signed_bundles_are_kept_and_only_so_many(tmp_path: Path) -> None:
    store, kept = sqlite(tmp_path), KeptBundles.beside(tmp_path / "store.sqlite3")
    take(store, bundle(1))
    assert kept.files() == ()
    take(store, bundle(1), KEY)
    assert [one.read_bytes() for one in kept.files()] == [bundle(1).write(KEY)]
    for number in range(MOST_FILES + 3):
        kept.keep(b"%d" % number)
    assert len(kept.files()) == MOST_FILES


def test_without_trusted_keys_or_a_signature_of_theirs_imported_records_are_a_miss(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = sqlite(tmp_path)
    take(store, bundle(2), OTHER)
    kept = KeptBundles.beside(store.path)
    key = shapes(1)[0].record.key
    assert store.load(key) is not None, "pointless unless it is there"
    trusting = TrustingStore(store, kept, [KEY.public])
    with caplog.at_level(logging.WARNING):
        assert trusting.load(key) is None
        assert trusting.load(key) is None
    assert caplog.text.count("no trusted key signed") == 1
    assert list(trusting.records()) == []
    assert trusting.nearest(parts()) is None
    assert TrustingStore(store, None, [OTHER.public]).load(key) is None
    assert TrustingStore(store, kept, [OTHER.public]).load(key) is not None


def test_a_bundle_that_a_trusted_key_signed_counts_as_soon_as_it_is_there(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    trusting = TrustingStore(store, KeptBundles.beside(store.path), [KEY.public])
    take(store, bundle(2))
    key = shapes(1)[0].record.key
    assert trusting.load(key) is None
    take(store, bundle(2), KEY)
    assert trusting.load(key) == imported(shapes(1)[0]).record
    assert len(list(trusting.records())) == 2
    found = trusting.nearest(parts())
    assert found is not None
    assert found.stored.record.origin is Origin.IMPORTED


def test_a_signed_record_that_was_changed_in_the_store_does_not_count(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    take(store, bundle(1), KEY)
    trusting = TrustingStore(store, KeptBundles.beside(store.path), [KEY.public])
    right = imported(shapes(1)[0])
    assert trusting.load(right.record.key) is not None
    store.save(evolve(right.record, blocks=right.record.blocks + 1), right.key_text)
    assert trusting.load(right.record.key) is None


def test_a_kept_bundle_that_was_changed_vouches_for_nothing(tmp_path: Path) -> None:
    store = sqlite(tmp_path)
    take(store, bundle(1), KEY)
    kept = KeptBundles.beside(store.path)
    (path,) = kept.files()
    path.write_bytes(path.read_bytes().replace(b"threads=2", b"threads=3"))
    assert TrustingStore(store, kept, [KEY.public]).load(shapes(1)[0].record.key) is None


def test_a_decision_made_here_takes_the_place_of_one_that_is_not_trusted() -> None:
    store = MemoryStore(wall_clock_s=lambda: NOW_S)
    trusting = TrustingStore(store, None, [KEY.public])
    theirs, own = imported(shapes(1)[0]), shapes(1)[0].record
    store.save(evolve(theirs.record, created_s=NOW_S), theirs.key_text)
    trusting.save(own, "")
    assert trusting.load(own.key) == own
    assert trusting.has_records()
    trusting.remove(own.key)
    assert not trusting.has_records()
    trusting.after_fork_in_child()
    trusting.close()
