"""Taking a bundle into a store, whole or not at all."""

from attrs import evolve, frozen

from ortsel.bundle.bundle import Bundle
from ortsel.bundle.errors import CorruptBundleError
from ortsel.bundle.kept_bundles import KeptBundles
from ortsel.bundle.records import parts_of
from ortsel.store.place import DirectStore
from ortsel.store.store import StoredRecord
from spec.canonical_json import Json, canonical
from spec.moment import Moment
from spec.record import Origin


@frozen
class Imported:
    """What became of a bundle's records."""

    records: int
    kept: int
    """Those that the store took. Of the others it holds better ones: measured here, or newer."""
    for_this_machine: int
    """Those whose environment is this one: they serve here, after a verification. The others say
    only what was fast elsewhere."""


def as_imported(bundle: Bundle, now_s: int) -> tuple[StoredRecord, ...]:
    """Return the records marked as imported. Raises `CorruptBundleError` for one from the future.

    A record that is dated ahead would be a miss, and outlive every measured one, until its time.
    """
    for one in bundle.records:
        if one.record.is_from_the_future(Moment(0, now_s)):
            ahead_s = one.record.created_s - now_s
            place = f"record {one.record.key[:12]}"
            raise CorruptBundleError(place, f"a date {ahead_s} s ahead of this clock", "the past")
    return tuple(
        evolve(one, record=evolve(one.record, origin=Origin.IMPORTED)) for one in bundle.records
    )


def import_bundle(
    bundle: Bundle,
    data: bytes,
    store: DirectStore,
    environment: Json,
    now_s: int,
) -> Imported:
    """Take a bundle's records into a store, all of them or none.

    A signed bundle (`data` is its file) is kept beside the store, or in the cache folder where the
    store is on a server; there sessions of this machine with `trusted_keys` check it again.
    `environment` is this machine's. Raises `StoreError`, `OSError`,
    `CorruptBundleError`.
    """
    records = as_imported(bundle, now_s)
    here = count_for(bundle, environment)
    if bundle.signer is not None:
        KeptBundles.for_import(store).keep(data)
    return Imported(len(records), store.save_all(records), here)


def count_for(bundle: Bundle, environment: Json) -> int:
    """Return how many records belong to an environment."""
    wanted = canonical(environment)
    texts: dict[str, bool] = {}
    count = 0
    for one in bundle.records:
        text = canonical(parts_of(one.key_text, "record")["environment"])
        texts.setdefault(text, text == wanted)
        count += texts[text]
    return count
