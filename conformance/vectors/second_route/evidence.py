"""Medians by `statistics`, orders by `hashlib`, and bets written out as the sum that they are."""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from statistics import median
from typing import Final

from conformance.vectors.second_route.plain import (
    Odd,
    Plain,
    items,
    member,
    pair,
    ratio,
    text,
    whole,
)

SEEN_FROM_OUTSIDE: Final = ("reference", "candidate", "candidate", "reference")
MIRRORED: Final = ("candidate", "reference", "reference", "candidate")


def spread(asked: Plain) -> Plain:
    """Median and relative median absolute deviation."""
    values = [ratio(one) for one in items(member(asked, "ratios"))]
    if not values or median(values) <= 0:
        raise Odd("no positive median")
    return {"median": pair(median(values)), "relative_mad": pair(relative_mad(values))}


def relative_mad(values: Sequence[Fraction]) -> Fraction:
    """Return the median distance from the median, over the median."""
    middle = median(values)
    return Fraction(median([abs(one - middle) for one in values])) / middle


def block_ratio(asked: Plain) -> Plain:
    """Sum over sum."""
    sides = []
    for name in ("candidate_ns", "reference_ns"):
        times = [whole(one) for one in items(member(asked, name))]
        if len(times) != len(SEEN_FROM_OUTSIDE) // 2 or min(times) < 1:
            raise Odd(name)
        sides.append(sum(times))
    return {"ratio": pair(Fraction(*sides))}


def order_of(seed: int, key: str, candidate: str, block: int) -> tuple[str, ...]:
    """Return who runs when in a block."""
    parts = [str(seed).encode(), key.encode(), candidate.encode(), str(block).encode()]
    hashed = b"".join(_size(one) + one for one in parts)
    return MIRRORED if int(hashlib.sha256(hashed).hexdigest(), 16) % 2 else SEEN_FROM_OUTSIDE


def _size(part: bytes) -> bytes:
    return len(part).to_bytes(8, "big")


def block_order(asked: Plain) -> Plain:
    """The coin of one block."""
    block = whole(member(asked, "block"))
    if block < 0:
        raise Odd("block")
    seed = whole(member(asked, "seed"))
    key, candidate = text(member(asked, "key")), text(member(asked, "candidate"))
    return {"order": list(order_of(seed, key, candidate, block))}


def wealth(wins: int, losses: int) -> Fraction:
    """Return what 1 has become: a quarter at a half, a quarter at three quarters, half at all."""
    half = Fraction(1, 4) * Fraction(3, 2) ** wins * Fraction(1, 2) ** losses
    most = Fraction(1, 4) * Fraction(7, 4) ** wins * Fraction(1, 4) ** losses
    everything = Fraction(1, 2) * 2**wins if losses == 0 else Fraction(0)
    return half + most + everything


def shared(rule: Plain, candidates: int) -> Plain:
    """Return the rule that a search of so many candidates applies to each of them."""
    if not isinstance(rule, dict) or rule["type"] != "anytime-valid":
        return rule
    rate = ratio(rule["false_promotion_rate"]) / candidates
    most = whole(rule["max_blocks"])
    while wealth(most, 0) < 1 / rate:
        most += 1
    return {**rule, "false_promotion_rate": pair(rate), "max_blocks": most}


def assess(asked: Plain) -> Plain:
    """What block ratios show."""
    ratios = [ratio(one) for one in items(member(asked, "ratios"))]
    minimum = ratio(member(asked, "min_speedup"))
    if minimum < 1 or any(one <= 0 for one in ratios):
        raise Odd("ratios")
    needed = 1 / minimum
    beaten = member(asked, "to_beat") if isinstance(asked, dict) and "to_beat" in asked else None
    if beaten is not None:
        if ratio(beaten) <= 0:
            raise Odd("to_beat")
        needed = min(needed, ratio(beaten))
    rule = member(asked, "rule")
    if member(rule, "type") == "median-mad":
        return _fixed(rule, ratios, minimum)
    for blocks in range(1, len(ratios) + 1):
        seen = ratios[:blocks]
        word = _looked_at(rule, seen, minimum, needed)
        if word:
            return _answer(word, seen)
    return _answer("undecided", ratios)


def _fixed(rule: Plain, ratios: list[Fraction], minimum: Fraction) -> Plain:
    samples = whole(member(rule, "samples"))
    if len(ratios) < samples:
        return _answer("undecided", ratios)
    seen = ratios[:samples]
    if relative_mad(seen) > ratio(member(rule, "max_relative_mad")):
        return _answer("too-noisy", seen)
    return _answer("faster" if median(seen) <= 1 / minimum else "not-faster", seen)


def _looked_at(rule: Plain, seen: list[Fraction], minimum: Fraction, needed: Fraction) -> str:
    blocks, most = len(seen), whole(member(rule, "max_blocks"))
    if blocks < whole(member(rule, "min_blocks")):
        return ""
    promotion = 1 / ratio(member(rule, "false_promotion_rate"))
    rejection = 1 / ratio(member(rule, "false_rejection_rate"))
    losses = len([one for one in seen if one >= 1])
    missed = len([one for one in seen if one > needed])
    if wealth(blocks - losses, losses) >= promotion and median(seen) * minimum <= 1:
        return "faster"
    if wealth(missed, blocks - missed) >= rejection:
        return "not-faster"
    if wealth(most - losses, losses) < promotion:
        return "too-noisy"
    return "not-faster" if blocks == most else ""


def _answer(word: str, seen: Sequence[Fraction]) -> Plain:
    known = pair(Fraction(median(seen))) if seen else None
    spread_ = pair(relative_mad(seen)) if seen else None
    return {"verdict": word, "ratio": known, "dispersion": spread_, "blocks": len(seen)}
