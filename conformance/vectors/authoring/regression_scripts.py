"""Scripts about watching a served choice (S9, S10)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    POLICY,
    SECOND,
    SOFTMAX,
    WORLD,
    Scenario,
    World,
)
from conformance.vectors.vector import Vector
from spec import (
    AnytimeValidRegression,
    Compared,
    IncidentPolicy,
    Invalidated,
    Policy,
    WindowMedian,
)

WINDOW: Final = WindowMedian(pairs=3)
INCIDENT_POLICY: Final = IncidentPolicy(recurrence_ns=20 * SECOND, ban_ns=5 * SECOND)
WATCHED: Final = evolve(POLICY, regression=WINDOW, incidents=INCIDENT_POLICY)
FASTER: Final = (1000, 500)
SLOWER: Final = (1000, 1001)
EQUAL: Final = (1000, 1000)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the group "watched"."""
    return (
        *_watched(),
        *_recurring(),
    )


def _compare(
    scenario: Scenario,
    pairs: Sequence[tuple[int, int]],
    candidate: str = "fast",
    reference: str = "reference",
    key: str = "",
) -> Scenario:
    for reference_ns, selected_ns in pairs:
        scenario.tell(
            Compared(
                scenario.now,
                key or scenario.key,
                candidate,
                reference,
                reference_ns,
                selected_ns,
                True,
            )
        )
    return scenario


def _served(policy: Policy = WATCHED, world: World = WORLD) -> Scenario:
    return Scenario(policy, world).decide()


def _one(
    name: str,
    comment: str,
    scenario: Scenario,
    *answers: str,
    holds: str = "",
    breaks: str = "",
    flags: str = "usual",
) -> Vector:
    return scenario.vector(
        f"regression/watched/{name}", comment, *answers, holds=holds, breaks=breaks, flags=flags
    )


def _watched() -> tuple[Vector, ...]:
    holds = _compare(_served(), [FASTER] * 5)
    holds.ask()
    ties = _compare(_served(), [EQUAL] * 5)
    ties.ask()
    degraded = _compare(_served(), [SLOWER] * 3).decide()
    stale = _served(evolve(WATCHED, ttl_s=10)).pass_time(seconds=100)
    _compare(stale, [SLOWER] * 3).decide()
    one_slow = _compare(_served(), [FASTER, SLOWER, FASTER, FASTER, SLOWER])
    one_slow.ask()
    two_slow = _compare(_served(), [FASTER, SLOWER, SLOWER]).decide()
    other = _compare(_served(), [SLOWER] * 4, candidate="slow")
    other.ask()
    reference = _compare(_served(world=World({**WORLD.times, "fast": 1500})), [SLOWER] * 4,
                         candidate="reference")  # fmt: skip
    reference.ask()
    other_key = _compare(_served(), [SLOWER] * 4, key="0" * 64)
    other_key.ask()
    evicted = _served(evolve(WATCHED, capacity=1))
    key = evicted.key
    evicted.decide(evolve(SOFTMAX, operation="other"))
    _compare(evicted, [SLOWER] * 4, key=key)
    apart = _served()
    first = apart.key
    apart.decide(evolve(SOFTMAX, operation="other"))
    _compare(apart, [SLOWER] * 2, key=first)
    _compare(apart, [SLOWER] * 2)
    apart.ask()
    _compare(apart, [SLOWER], key=first)
    return (
        _one("holds", "Half the reference's time in every pair.", holds, "tuned fast",
             "memory fast", holds="S10"),
        _one("equal-holds", "A limit of 1 must be exceeded: equal times hold.", ties,
             "tuned fast", "memory fast", holds="S10", flags="boundary ties"),
        _one("degraded", "Slower by a thousandth in three pairs of a window of three: removed, "
             "and searched again; a first finding bans nobody.", degraded, "tuned fast",
             "tuned fast", breaks="S10"),
        _one("stale-and-degraded", "A decision whose time is up is watched as long as it is "
             "held.", stale, "tuned fast", "tuned fast", breaks="S10", flags="clock"),
        _one("one-slow-pair-of-three", "The median of the window holds.", one_slow, "tuned fast",
             "memory fast", holds="S10", flags="noise"),
        _one("two-slow-pairs-of-three", "The median of the window is over the limit.", two_slow,
             "tuned fast", "tuned fast", breaks="S10", flags="noise"),
        _one("another-candidate", "A pair of a plan that is not the decision is ignored.", other,
             "tuned fast", "memory fast", holds="S10", flags="trust"),
        _one("reference-against-itself", "The reference is not watched.", reference,
             "tuned reference", "memory reference", holds="S10", flags="trust"),
        _one("unknown-key", "A key that is not held.", other_key, "tuned fast", "memory fast",
             holds="S10", flags="trust"),
        _one("evicted-key", "A key that has left memory: its pairs are ignored, the store is not "
             "touched.", evicted, "tuned fast", "tuned fast", holds="S10 S11",
             flags="eviction"),
        _one("keys-apart", "Each key has a history of its own.", apart, "tuned fast",
             "tuned fast", "memory fast", holds="S10", breaks="S10", flags="usual"),
    )  # fmt: skip


def _recurring() -> tuple[Vector, ...]:
    def twice(between_ns: int) -> Scenario:
        scenario = _served()
        _compare(scenario, [SLOWER] * 3)
        degraded_at = scenario.now
        scenario.decide()
        scenario.pass_time(degraded_at.monotonic_ns + between_ns - scenario.now.monotonic_ns)
        return _compare(scenario, [SLOWER] * 3)

    recurred = twice(20 * SECOND).decide()
    apart = twice(20 * SECOND + 1).decide()
    early = twice(SECOND)
    early.pass_time(5 * SECOND - 1 - 2000).decide()
    over = twice(SECOND)
    over.pass_time(5 * SECOND - 2000).decide()
    fresh = _compare(_served(), [SLOWER] * 2)
    fresh.tell(Invalidated(fresh.now, fresh.key, "fast", "reference", False, "by hand"))
    fresh.decide()
    _compare(fresh, [SLOWER] * 2)
    fresh.ask()
    forgotten = _served(evolve(WATCHED, capacity=1))
    _compare(forgotten, [SLOWER] * 3)
    forgotten.decide(evolve(SOFTMAX, operation="other")).decide()
    _compare(forgotten, [SLOWER] * 3).decide()
    zero = _served()
    zero.refuse(Compared(zero.now, zero.key, "fast", "reference", 0, 1, True))
    zero.refuse(Compared(zero.now, zero.key, "fast", "reference", 1, 0, True))
    zero.refuse(Compared(zero.now, zero.key, "fast", "reference", -5, 1, True))
    unchecked = _served()
    unchecked.refuse(Compared(unchecked.now, unchecked.key, "fast", "reference", 9, 1, False))
    bets = evolve(WATCHED, regression=AnytimeValidRegression(horizon=1, false_alarm_rate=_half()))
    alarmed = _compare(_served(bets), [SLOWER] * 6).decide()
    ban_kept = twice(SECOND).decide()
    ban_kept.pass_time(seconds=5).pass_time(seconds=POLICY.ttl_s).decide()
    return (
        _one("recurs-in-time", "Degraded twice, 20 s apart with recurrence_ns of 20 s: banned, "
             "and searched again without it.", recurred, "tuned fast", "tuned fast",
             "tuned reference", breaks="S10", holds="S9", flags="boundary bans clock"),
        _one("recurs-too-late", "1 ns more: a first finding again.", apart, "tuned fast",
             "tuned fast", "tuned fast", breaks="S10", flags="boundary bans clock"),
        _one("ban-one-nanosecond-left", "The ban lasts 5 s. The reference takes 2000 ns; when "
             "the candidate's turn comes, 1 ns is left.", early, "tuned fast", "tuned fast",
             "tuned reference", holds="S9", flags="boundary bans clock"),
        _one("ban-exactly-over", "When its turn comes the ban is over: it is tried, and wins.",
             over, "tuned fast", "tuned fast", "tuned fast", breaks="S9",
             flags="boundary bans clock"),
        _one("ban-ends-after-all", "A ban that regression made ends; the decision made without "
             "it was incomplete.", ban_kept, "tuned fast", "tuned fast", "tuned reference",
             "tuned fast", holds="S9", breaks="S9", flags="bans clock"),
        _one("new-decision-new-history", "Two slow pairs before and two after a new decision are "
             "no three.", fresh, "tuned fast", "tuned fast", "memory fast", holds="S10"),
        _one("incidents-leave-with-the-key", "Another key took its place: the second degradation "
             "is a first again.", forgotten, "tuned fast", "tuned fast", "tuned fast",
             "tuned fast", holds="S11", breaks="S10",
             flags="eviction bans"),
        _one("times-of-nothing", "0 ns, and less, compare with nothing.", zero, "tuned fast",
             breaks="S10", flags="boundary types protocol"),
        _one("unchecked", "A pair whose outputs were not compared.", unchecked, "tuned fast",
             breaks="S10", flags="verification protocol"),
        _one("by-bets", "The anytime-valid rule with a horizon of 1 and a rate of 1/2 alarms at "
             "a wealth of 2: the first slower pair makes 1/4*3/2 + 1/4*7/4 + 1/2*2 = 29/16; "
             "the second makes 1/4*(15/4) + 1/4*(77/16) + 1/2*6 over 2.", alarmed,
             "tuned fast", "tuned fast", breaks="S10", flags="exact peeking"),
    )  # fmt: skip


def _half() -> Fraction:
    return Fraction(1, 2)
