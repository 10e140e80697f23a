"""What the second way says to a question."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from conformance.vectors.second_route import attention, evidence, keys, ranking, watching
from conformance.vectors.second_route.plain import Odd, Plain

Way: TypeAlias = Callable[[Plain], Plain]

WAYS: Final[Mapping[str, Way]] = MappingProxyType(
    {
        "assess": evidence.assess,
        "best-benchmark": ranking.best_benchmark,
        "block-order": evidence.block_order,
        "block-ratio": evidence.block_ratio,
        "cache-key": keys.cache_key,
        "canonical-json": keys.canonical_json,
        "extrapolated": ranking.extrapolated,
        "half-life": ranking.half_life,
        "hindsight": ranking.hindsight,
        "incidents": watching.incidents,
        "rank": ranking.rank,
        "record-freshness": watching.freshness,
        "spread": evidence.spread,
        "unmet": ranking.unmet,
        "usage": ranking.usage,
        "watch": watching.watch,
        "work": attention.work,
    }
)
"""By kind of question."""


def opinion(kind: str, asked: Plain) -> Plain:
    """Return the second way's answer; None where it has none."""
    way = WAYS.get(kind)
    if way is None:
        return None
    try:
        return way(asked)
    except Odd:
        return {"refused": True}
