"""Freshness, watching and incidents, told again from their rules."""

from fractions import Fraction
from statistics import median
from typing import Final

from conformance.vectors.second_route.plain import Odd, Plain, items, member, pair, ratio, whole

SKEW_S: Final = 300
UNIT: Final = 2**32
LAST: Final = 9


def freshness(asked: Plain) -> Plain:
    """How old a record is, and whether it holds."""
    record = member(asked, "record")
    age_s = whole(member(member(asked, "now"), "wall_s")) - whole(member(record, "created_s"))
    ttl_s, retry_s = whole(member(asked, "ttl_s")), whole(member(asked, "retry_after_s"))
    lifetime_s = ttl_s if member(record, "complete") is True else min(ttl_s, retry_s)
    fresh = age_s >= -SKEW_S and age_s < lifetime_s
    return {"age_s": age_s, "lifetime_s": lifetime_s, "fresh": fresh}


def watch(asked: Plain) -> Plain:
    """What a rule says after every pair."""
    rule = member(asked, "rule")
    times = [
        (whole(member(one, "selected_ns")), whole(member(one, "reference_ns")))
        for one in items(member(asked, "pairs"))
    ]
    if any(selected < 1 or reference < 1 for selected, reference in times):
        raise Odd("a time of nothing")
    since = 0
    verdicts: list[Plain] = []
    for place in range(len(times)):
        seen = [Fraction(*one) for one in times[since : place + 1]]
        found = _degraded(rule, seen)
        if found is None:
            verdicts.append({"type": "holds"})
        else:
            since = place + 1
            verdicts.append({"type": "degraded", "ratio": pair(found), "observations": len(seen)})
    return {"verdicts": verdicts}


def _degraded(rule: Plain, seen: list[Fraction]) -> Fraction | None:
    limit = ratio(member(rule, "ratio"))
    if member(rule, "type") == "window-median":
        window = whole(member(rule, "pairs"))
        over = len(seen) >= window and median(seen[-window:]) > limit
        return Fraction(median(seen[-window:])) if over else None
    # All bets since the last alarm, each stake settled from the first pair on.
    quarters = {2: 0, 3: 0, 4: 0}
    for one in seen:
        sign = 1 if one > limit else -1
        quarters = {
            stake: (held + UNIT) * (4 + sign * stake) // 4 for stake, held in quarters.items()
        }
    total = Fraction(quarters[2] + quarters[3] + 2 * quarters[4], 4 * UNIT)
    threshold = whole(member(rule, "horizon")) / ratio(member(rule, "false_alarm_rate"))
    return Fraction(median(seen[-LAST:])) if total >= threshold else None


def incidents(asked: Plain) -> Plain:
    """What degradations lead to."""
    policy = member(asked, "policy")
    near, length = whole(member(policy, "recurrence_ns")), whole(member(policy, "ban_ns"))
    last: int | None = None
    until: int | None = None
    where = ""
    replies: list[Plain] = []
    for one in items(member(asked, "incidents")):
        word = member(one, "type")
        if word == "move":
            place = str(member(one, "environment"))
            if place != where:
                last, until, where = None, None, place
            replies.append({"type": "moved", "banned_until_ns": until})
            continue
        now = whole(member(one, "at_ns"))
        banned = last is not None and until is not None and last <= now < until
        if word == "question":
            replies.append({"type": "banned", "banned": banned})
            continue
        recurs = last is not None and until is None and 0 <= now - last <= near
        last, until = now, now + length if banned or recurs else None
        consequence: Plain = {"type": "demote"}
        if until is not None:
            consequence = {"type": "ban", "until_ns": until}
        replies.append({"type": "following", "consequence": consequence})
    return {"replies": replies}
