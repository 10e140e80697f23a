"""Which of two records of one key is kept, when several processes decided at once."""

from typing import Final

from ortsel.store.codec import encode
from spec.record import CLOCK_SKEW_S, Origin, Record

CONCURRENT_S: Final = 300
"""Decisions made within this time of each other count as made at once: neither saw the other. It
is longer than a search and no longer than the clocks of two machines may differ."""


def supersedes(new: Record, old: Record, now_s: int) -> bool:
    """Whether `new` takes the place of `old`, both of the same key.

    In this order: a record that is not dated in the future beats one that is; one measured here
    beats an imported one; the newer beats the older, unless they were made at once; then the better
    evidence wins: verified on real feeds, complete search, more blocks, more feeds; last, the
    newer, and the greater text, so that the order of arrival never decides between records that
    were all made at once.
    """
    for new_is, old_is in (
        (_is_dated(new, now_s), _is_dated(old, now_s)),
        (new.origin is Origin.LOCAL, old.origin is Origin.LOCAL),
    ):
        if new_is != old_is:
            return new_is
    if abs(new.created_s - old.created_s) > CONCURRENT_S:
        return new.created_s > old.created_s
    if _evidence(new) != _evidence(old):
        return _evidence(new) > _evidence(old)
    return encode(new) > encode(old)


def _is_dated(record: Record, now_s: int) -> bool:
    return record.created_s <= now_s + CLOCK_SKEW_S


def _evidence(record: Record) -> tuple[bool, bool, int, int, int]:
    serves = record.verified and not record.provisional
    return serves, record.complete, record.blocks, record.feeds, record.created_s
