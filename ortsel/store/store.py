"""What a store of decisions does, wherever it keeps them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

import attrs
from attrs import field, frozen

from ortsel.errors import UsageError
from spec.canonical_json import Json
from spec.record import Record

DAY_S: Final = 86_400


def _within(low: int, high: int) -> Callable[[object, "attrs.Attribute[int]", int], None]:
    def check(_: object, attribute: "attrs.Attribute[int]", value: int) -> None:
        if type(value) is not int or not low <= value <= high:
            raise UsageError(attribute.name, repr(value), f"an integer from {low} to {high}")

    return check


@frozen
class StoreLimits:
    """How much a store keeps. Both limits are enforced when something is saved."""

    capacity: int = field(default=2**20, validator=_within(1, 2**31))
    """Keys. A record leaves once this many keys were first stored after it: first in, first out."""
    max_age_s: int = field(default=400 * DAY_S, validator=_within(1, 2**40))
    """Seconds since the decision was made, by the wall clock. Of records that are older, the oldest
    leave, at most `AGED_PER_SAVE` with each save, so that a clock that jumps ahead cannot empty the
    store at once."""
    max_bytes: int = field(default=2**30, validator=_within(2**16, 2**42))
    """Size of the file from which the records that came first leave."""


AGED_PER_SAVE: Final = 64
"""How many records one save removes because of their age, or because of the file's size."""


@frozen
class StoredRecord:
    """A record with the text that was hashed to its key."""

    record: Record
    key_text: str
    """Canonical JSON of the named parts, as `spec.keys.CacheKey.text`; may be empty where
    whoever saved it did not say."""


@frozen
class Nearest:
    """The stored record whose key differs least, and in which parts."""

    stored: StoredRecord
    differing: tuple[str, ...]
    """Names of the parts that differ, dotted where only a part of a part does; sorted."""


class Store(Protocol):
    """Records by key. Every method may raise a `StoreError`, and nothing else."""

    def load(self, key: str) -> Record | None:
        """Return the record of a key, or None where there is none."""

    def save(self, record: Record, key_text: str) -> None:
        """Keep a record, unless the one that is there is better (`supersedes`)."""

    def remove(self, key: str) -> None:
        """Forget a key. Nothing happens where there is none."""

    def records(self) -> Iterator[StoredRecord]:
        """Give every record that can be understood, first stored first."""

    def has_records(self) -> bool:
        """Say whether there is any record, understood or not. None is decoded for it."""

    def nearest(self, parts: Mapping[str, Json]) -> Nearest | None:
        """Return the record whose key parts differ least from `parts`, or None in an empty store.

        Only the last `NEAREST_AMONG` records of the same model are looked at, or of any model where
        there are none of the same.
        """

    def close(self) -> None:
        """Let go of files. What was saved stays; a store that was closed is not used again."""


NEAREST_AMONG: Final = 1024
