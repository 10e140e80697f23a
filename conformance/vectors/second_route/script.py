"""A script gone through again: keys, orders of blocks, ratios, medians, deadlines, one answer each.

It does not know who should win. It knows what every figure in an effect must be, given the events.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from statistics import median
from typing import Final

from conformance.vectors.second_route.evidence import assess, order_of, relative_mad, shared
from conformance.vectors.second_route.keys import cache_key
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

BLOCK: Final = 4


def _fits(candidate: Plain, room: Plain) -> bool:
    """Say whether a candidate may have a turn in so much workspace; none given is no limit."""
    if text(member(candidate, "ineligible")):
        return False
    need = member(candidate, "workspace_bytes")
    return room is None or (need is not None and whole(need) <= whole(room))


class Request:
    """What is known of a request under way."""

    def __init__(self, event: Plain, policy: Plain) -> None:
        self.names = [text(member(one, "name")) for one in items(member(event, "candidates"))]
        room = member(policy, "max_workspace_bytes")
        self.fit = [_fits(one, room) for one in items(member(event, "candidates"))]
        self.reference = whole(member(event, "reference"))
        asked: dict[str, Plain] = {"policy": policy}
        for name in ("problem", "candidates", "reference"):
            asked[name] = member(event, name)
        self.key = text(member(cache_key(asked), "digest"))
        started = whole(member(member(event, "now"), "monotonic_ns"))
        self.deadline_ns = started + whole(member(policy, "budget_ns"))
        self.seed = whole(member(policy, "seed"))
        self.limit = whole(member(policy, "max_candidates"))
        others = max(1, min(len(self.names), self.limit) - 1)
        self.rule = shared(member(policy, "evidence"), others)
        self.least = ratio(member(policy, "min_speedup"))
        self.reuse = whole(member(policy, "reuse"))
        self.turn = -1
        """Candidate whose turn it is."""
        self.turns = 0
        """Begun so far, the reference's included."""
        self.ends_ns = self.deadline_ns
        self.awaited: Plain = None
        self.paired: list[tuple[int, int]] = []
        """Candidate and time of the turn's paired measurements."""
        self.evidence: dict[str, list[tuple[int, int]]] = {}
        self.baseline_ns: Plain = None
        self.firsts_ns: dict[int, int] = {}
        """The first measurement of each candidate."""

    def measured(self, event: Plain) -> None:
        """Take a measurement."""
        if member(self.awaited, "type") != "measure":
            return
        purpose, latency = member(self.awaited, "purpose"), whole(member(event, "latency_ns"))
        self.firsts_ns.setdefault(whole(member(self.awaited, "candidate")), latency)
        if purpose == "paired":
            self.paired.append((whole(member(self.awaited, "candidate")), latency))
            self.evidence[self.names[self.turn]] = self.paired
        elif purpose == "baseline":
            self.baseline_ns = latency

    def await_(self, effect: Plain, now_ns: int) -> Iterator[str]:
        """Take an effect that waits for an outcome."""
        self.awaited = effect
        is_measure = member(effect, "type") == "measure"
        if is_measure and member(effect, "purpose") == "warmup":
            self._begin(whole(member(effect, "candidate")), now_ns)
        if "deadline_ns" in _names(effect) and whole(member(effect, "deadline_ns")) != self.ends_ns:
            yield f"the deadline is {member(effect, 'deadline_ns')}, the turn ends {self.ends_ns}"
        if is_measure and member(effect, "purpose") == "paired":
            block, place = divmod(len(self.paired), BLOCK)
            order = order_of(self.seed, self.key, self.names[self.turn], block)
            side = self.reference if order[place] == "reference" else self.turn
            if side != member(effect, "candidate"):
                yield f"block {block} measures another candidate in place {place}"

    def _begin(self, candidate: int, now_ns: int) -> None:
        if candidate == self.turn:
            return
        self.turn, self.paired = candidate, []
        if candidate != self.reference:
            waiting = [
                one
                for one in range(candidate, len(self.names))
                if one != self.reference and self.fit[one]
            ]
            share = min(len(waiting), self.limit - self.turns)
            left_ns = self.deadline_ns - now_ns
            self.ends_ns = now_ns + min(left_ns, 2 * left_ns // share)
        self.turns += 1

    def figures(self, name: str) -> dict[str, Plain]:
        """Return what a record of this winner must say."""
        if name == self.names[self.reference]:
            return {"ratio": [1, 1], "dispersion": [0, 1], "blocks": 0,
                    "reference_ns": self.baseline_ns, "winner_ns": self.baseline_ns}  # fmt: skip
        runs = self.evidence[name]
        mine = [time for candidate, time in runs if candidate != self.reference]
        others = [time for candidate, time in runs if candidate == self.reference]
        blocks = [runs[at : at + BLOCK] for at in range(0, len(runs), BLOCK)]
        ratios = [_ratio(block, self.reference) for block in blocks]
        lived = Fraction(sum(mine), sum(others))
        sides = [[_sums(block, self.reference)[side] for block in blocks] for side in (0, 1)]
        apart = any(_fall_apart(sums) for sums in sides)
        return {
            "ratio": pair(lived if apart else Fraction(median(ratios))),
            "dispersion": pair(relative_mad(ratios)),
            "blocks": len(ratios),
            "reference_ns": int(Fraction(sum(sorted(others)[_middle(others)]), 2)),
            "winner_ns": int(Fraction(sum(sorted(mine)[_middle(mine)]), 2)),
        }

    def verdict(self, name: str) -> Plain:
        """Return what the evidence of a candidate shows, the cost of its first call included."""
        runs = self.evidence.get(name, [])
        blocks = [runs[at : at + BLOCK] for at in range(0, len(runs), BLOCK)]
        ratios = [pair(_ratio(block, self.reference)) for block in blocks]
        firsts = self.firsts_ns[self.names.index(name)], self.firsts_ns[self.reference]
        extra = Fraction(max(0, firsts[0] - firsts[1]), self.reuse * whole(self.baseline_ns))
        needed = pair(1 / (1 / self.least - extra))
        asked: Plain = {"rule": self.rule, "min_speedup": needed, "ratios": [*ratios]}
        return member(assess(asked), "verdict")


def complaints(policy: Plain, steps: Sequence[Plain]) -> Iterator[str]:
    """Say what is wrong with the figures of a script's effects."""
    under_way: dict[int, Request] = {}
    answered: set[int] = set()
    saved: dict[str, Plain] = {}
    for place, step in enumerate(steps):
        if "effects" not in _names(step):
            continue
        event = member(step, "event")
        number = whole(member(event, "request")) if "request" in _names(event) else None
        if member(event, "type") == "requested" and number is not None:
            with suppress(Odd, IndexError):  # A request that must be refused has no key.
                under_way[number] = Request(event, policy)
        known = under_way.get(number) if number is not None else None
        if known is not None and member(event, "type") == "measured":
            known.measured(event)
        if member(event, "type") == "record-loaded":
            record = member(event, "record")
            saved[text(member(record, "key"))] = record
        now_ns = whole(member(member(event, "now"), "monotonic_ns"))
        for effect in items(member(step, "effects")):
            found = _effect(effect, known, number, now_ns, saved, answered)
            yield from (f"step {place}: {one}" for one in found)


def _effect(
    effect: Plain,
    known: Request | None,
    number: int | None,
    now_ns: int,
    saved: dict[str, Plain],
    answered: set[int],
) -> Iterator[str]:
    word = member(effect, "type")
    if word == "remove-record" and known is None:
        return
    if word == "answer" and member(member(effect, "result"), "type") == "failure":
        yield from _once(effect, number, answered)
        return
    if known is None:
        yield f"{word} without a request"
        return
    if "key" in _names(effect) and member(effect, "key") != known.key:
        yield "another key"
    if word == "save-record":
        record = member(effect, "record")
        saved[known.key] = record
        yield from _record(record, known)
    elif word == "answer":
        yield from _once(effect, number, answered)
        yield from _decision(member(effect, "result"), known, saved)
    elif word != "remove-record":
        yield from known.await_(effect, now_ns)


def _once(effect: Plain, number: int | None, answered: set[int]) -> Iterator[str]:
    if member(effect, "request") != number or number is None:
        yield "an answer to another request"
    elif number in answered:
        yield "a second answer"
    else:
        answered.add(number)


def _record(record: Plain, known: Request) -> Iterator[str]:
    if member(record, "key") != known.key:
        yield "a record under another key"
    if member(record, "reference") != known.names[known.reference]:
        yield "a record against another reference"
    winner = text(member(record, "winner"))
    if winner != known.names[known.reference] and known.verdict(winner) != "faster":
        yield f"{winner} is saved, by the second way it is {known.verdict(winner)}"
    for name, one in known.figures(winner).items():
        if member(record, name) != one:
            yield f"{name} is {member(record, name)}, by the second way {one}"


def _decision(decision: Plain, known: Request, saved: dict[str, Plain]) -> Iterator[str]:
    name, index = text(member(decision, "name")), whole(member(decision, "index"))
    source, stated = member(decision, "source"), member(decision, "ratio")
    if known.names[index] != name or member(decision, "reference_index") != known.reference:
        yield "an index that is not the name's"
    if member(decision, "key") != known.key:
        yield "a decision under another key"
    if source == "tuned" and stated != known.figures(name)["ratio"]:
        yield f"ratio {stated}, by the second way {known.figures(name)['ratio']}"
    if source == "stored" and known.key in saved and stated != member(saved[known.key], "ratio"):
        yield "a ratio that is not the record's"
    claims = index != known.reference or stated is not None or member(decision, "verified")
    if claims and source not in {"tuned", "stored", "memory"}:
        yield "a fallback that claims something"


def _names(value: Plain) -> frozenset[str]:
    return frozenset(value) if isinstance(value, dict) else frozenset()


def _middle(times: Sequence[int]) -> slice:
    return slice(len(times) // 2 - 1, len(times) // 2 + 1)


def _fall_apart(sums: list[int]) -> bool:
    """Say whether a side's blocks are of two states: two or more of half as much again."""
    ordered = sorted(sums)
    steps = zip(ordered[1:], ordered, strict=False)
    return any(Fraction(high, low) >= Fraction(3, 2) for high, low in list(steps)[1:-1])


def _ratio(block: Sequence[tuple[int, int]], reference: int) -> Fraction:
    return Fraction(*_sums(block, reference))


def _sums(block: Sequence[tuple[int, int]], reference: int) -> tuple[int, int]:
    mine = sum(time for candidate, time in block if candidate != reference)
    return mine, sum(time for candidate, time in block if candidate == reference)
