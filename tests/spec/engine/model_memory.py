"""What the rules say is remembered: written from S8 to S11, without the engine's own code."""

import hashlib
import json
from fractions import Fraction
from statistics import median
from typing import TypeAlias

from attrs import define, field, frozen
from immutables import Map

from spec import AnytimeValid, MedianMad, Policy, Requested, WindowMedian
from spec.canonical_json import Json

SECOND_NS = 10**9


@frozen
class Kept:
    """A decision in memory."""

    winner: str
    reference: str
    ratio: Fraction
    fresh_until_ns: int
    verified: bool
    provisional: bool
    is_lower: bool


@frozen
class Bypassed:
    """A key that answers with the reference."""

    reference: str
    until_ns: int | None
    is_lower: bool


Settled: TypeAlias = Kept | Bypassed


@define
class Memory:
    """Keys in order of arrival, with everything that belongs to each."""

    policy: Policy
    keys: list[str] = field(factory=list)
    settled: dict[str, Settled] = field(factory=dict)
    bans: dict[str, dict[str, int | None]] = field(factory=dict)
    pairs: dict[str, list[Fraction]] = field(factory=dict)
    degraded: dict[str, dict[str, tuple[int, int | None]]] = field(factory=dict)
    evictions: int = 0

    def hold(self, key: str) -> None:
        if key in self.keys:
            return
        while len(self.keys) >= self.policy.capacity:
            oldest = self.keys.pop(0)
            self.evictions += 1
            for part in (self.settled, self.bans, self.pairs, self.degraded):
                part.pop(oldest, None)
        self.keys.append(key)

    def settle(self, key: str, answer: Settled) -> None:
        self.hold(key)
        self.settled[key] = answer
        self.pairs.pop(key, None)

    def forget(self, key: str) -> None:
        self.settled.pop(key, None)
        self.pairs.pop(key, None)

    def ban(self, key: str, name: str, until_ns: int | None) -> None:
        self.hold(key)
        bans = self.bans.setdefault(key, {})
        ends = [bans[name], until_ns] if name in bans else [until_ns]
        bans[name] = None if None in ends else max(end for end in ends if end is not None)

    def is_banned(self, key: str, name: str, now_ns: int) -> bool:
        bans = self.bans.get(key, {})
        if name not in bans:
            return False
        until_ns = bans[name]
        return until_ns is None or now_ns < until_ns

    def retry_at(self, now_ns: int) -> int:
        return now_ns + self.policy.retry_after_s * SECOND_NS

    def observe(self, key: str, name: str, ratio: Fraction, now_ns: int) -> bool:
        """Add one pair of the held winner; say whether it is degraded, and apply what follows."""
        rule = self.policy.regression
        assert isinstance(rule, WindowMedian), "the strategies draw this one"
        pairs = [*self.pairs.get(key, []), ratio][-rule.pairs :]
        self.pairs[key] = pairs
        if len(pairs) < rule.pairs or median(pairs) <= rule.ratio:
            return False
        incidents = self.policy.incidents
        last = self.degraded.get(key, {}).get(name)
        recurs = last is not None and (
            (last[1] is None and now_ns - last[0] <= incidents.recurrence_ns)
            or (last[1] is not None and now_ns < last[1])
        )
        until_ns = now_ns + incidents.ban_ns if recurs else None
        self.degraded.setdefault(key, {})[name] = (now_ns, until_ns)
        self.forget(key)
        if until_ns is not None:
            self.ban(key, name, until_ns)
        return True


def key_digest(event: Requested, policy: Policy) -> str:
    """Return the key of a request, by the standard library's JSON instead of our own."""
    problem = event.problem
    rule = policy.evidence
    evidence: dict[str, object] = {}
    match rule:
        case MedianMad():
            evidence = {
                "rule": "median-mad",
                "samples": rule.samples,
                "max_relative_mad": _pair(rule.max_relative_mad),
            }
        case AnytimeValid():
            evidence = {
                "rule": "anytime-valid",
                "false_promotion_rate": _pair(rule.false_promotion_rate),
                "false_rejection_rate": _pair(rule.false_rejection_rate),
                "min_blocks": rule.min_blocks,
                "max_blocks": rule.max_blocks,
            }
    parts = {
        "schema": 1,
        "scope": problem.scope.value,
        "operation": problem.operation,
        "workload": thawed(problem.workload),
        "environment": thawed(problem.environment),
        "model": thawed(problem.model),
        "options": thawed(problem.options),
        "lower_level": problem.lower_level,
        "candidates": sorted(candidate.name for candidate in event.candidates),
        "reference": event.candidates[event.reference].name,
        "policy": {
            "evidence": evidence,
            "min_speedup": _pair(policy.min_speedup),
            "require_validation": policy.require_validation,
            "reuse": policy.reuse,
            "tolerance": policy.tolerance,
        },
    }
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def lane_of(event: Requested) -> str:
    """Return a name of the environment, equal for equal environments."""
    return json.dumps(thawed(event.problem.environment), sort_keys=True)


def thawed(value: Json) -> object:
    """Return plain dictionaries and lists, which the standard library can write."""
    if isinstance(value, Map):
        return {name: thawed(member) for name, member in value.items()}
    if isinstance(value, tuple):
        return [thawed(item) for item in value]
    return value


def _pair(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]
