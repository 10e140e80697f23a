"""Questions about stored records: how old, how long they hold."""

from typing import Final

from attrs import frozen

from conformance.vectors.questions.kind import Kind, kind
from spec.moment import Moment
from spec.record import Record


@frozen
class Aged:
    """A record at a moment, under a policy's lifetimes."""

    record: Record
    now: Moment
    ttl_s: int
    retry_after_s: int


@frozen
class Freshness:
    """Whether it may still be used."""

    age_s: int
    lifetime_s: int
    fresh: bool


def _freshness(asked: Aged) -> Freshness:
    record = asked.record
    return Freshness(
        record.age_s(asked.now),
        record.lifetime_s(asked.ttl_s, asked.retry_after_s),
        record.is_fresh(asked.now, asked.ttl_s, asked.retry_after_s),
    )


KINDS: Final[tuple[Kind[Aged, Freshness], ...]] = (
    kind("record-freshness", Aged, Freshness, _freshness),
)
