"""Scripts about who wins (S7), how long failures last (S8), and events out of turn (S13)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    CANDIDATES,
    GPU,
    POLICY,
    SOFTMAX,
    THREE_BLOCKS,
    WORLD,
    Scenario,
    Timing,
    World,
)
from conformance.vectors.authoring.selection_search import (
    CRASHED,
    DEVICE,
    REJECTED,
    TRANSIENT,
    UNSUPPORTED,
    searched,
)
from conformance.vectors.vector import Vector
from spec import (
    Abandoned,
    AnytimeValid,
    Compared,
    Event,
    Failure,
    FailureKind,
    Invalidated,
    Measured,
    Moment,
    Policy,
    RecordAbsent,
    RecordUnreadable,
    Requested,
    TrialFailed,
    Unverifiable,
    Validated,
)

PAIR: Final = CANDIDATES[:2]


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "promotion", "failures" and "protocol"."""
    groups = (_promotion, _identical, _first_calls, _rivals, _states, _meanwhile)
    rest = (_failures, _quarantine, _protocol)
    return tuple(vector for group in (*groups, *rest) for vector in group())


def _pair(
    reference: Timing, fast: Timing, policy: Policy = POLICY, slow: Timing | None = None
) -> Scenario:
    times: dict[str, Timing] = {"reference": reference, "fast": fast}
    if slow is None:
        return searched(times, policy=policy, candidates=PAIR)
    return searched({**times, "slow": slow}, policy=policy)


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
        f"selection/{name}", comment, *answers, holds=holds, breaks=breaks, flags=flags
    )


def _promotion() -> tuple[Vector, ...]:
    any_gain = evolve(POLICY, min_speedup=Fraction(1))
    twofold = evolve(POLICY, min_speedup=Fraction(2))
    tight = evolve(POLICY, evidence=evolve(THREE_BLOCKS, max_relative_mad=Fraction(1, 100)))
    # Warm-up, then blocks of two: ratios 0.5, 0.9, 0.1 -> median 0.5, MAD 0.4, relative 0.8.
    noisy: Timing = (500, 500, 500, 900, 900, 100, 100)
    # The reference is measured twice before its blocks; block sums 1999 and 2001 over 3 blocks.
    odd: Timing = (1000, 1000, 999, 1000, 1001, 1000, 1000, 1001)
    return (
        _one("promotion/clearly-faster", "Ratio 1/2.", _pair(1000, 500), "tuned fast",
             holds="S7"),
        _one("promotion/exactly-the-minimum", "1000 against 1030 ns: the speed-up is exactly "
             "103/100, which is enough. In floating point 1000/1030*1.03 may fall short.",
             _pair(1030, 1000), "tuned fast", holds="S7", flags="boundary exact"),
        _one("promotion/just-under-the-minimum", "1001 against 1030 ns: too little.",
             _pair(1030, 1001), "tuned reference", breaks="S7", flags="boundary exact"),
        _one("promotion/by-a-millionth", "103000001 against 106090000 ns is over 100/103.",
             _pair(106_090_000, 103_000_001), "tuned reference", breaks="S7",
             flags="boundary exact"),
        _one("promotion/equal", "Ratio 1: ties keep the reference.", _pair(1000, 1000),
             "tuned reference", breaks="S7", flags="ties"),
        _one("promotion/equal-where-any-gain-counts", "min_speedup is 1 and the ratio is 1: equal "
             "is not faster.", _pair(1000, 1000, any_gain), "tuned reference", breaks="S7",
             flags="boundary ties"),
        _one("promotion/any-gain", "min_speedup is 1: 999999 against 1000000 ns is enough.",
             _pair(1_000_000, 999_999, any_gain), "tuned fast", holds="S7",
             flags="boundary policy"),
        _one("promotion/exactly-twofold", "min_speedup is 2, and it is met exactly.",
             _pair(1000, 500, twofold), "tuned fast", holds="S7", flags="boundary policy"),
        _one("promotion/not-quite-twofold", "501 against 1000 ns.", _pair(1000, 501, twofold),
             "tuned reference", breaks="S7", flags="boundary policy"),
        _one("promotion/best-of-two", "Two qualify: the smaller ratio wins.",
             _pair(1000, 500, slow=400), "tuned slow", holds="S7"),
        _one("promotion/first-of-equals", "Two qualify with equal ratios: the first in order.",
             _pair(1000, 500, slow=500), "tuned fast", holds="S7", flags="ties order"),
        _one("promotion/noisy", "Ratios 1/2, 9/10, 1/10: the median is fast, the blocks disagree.",
             _pair(1000, noisy), "tuned reference", breaks="S7", flags="noise"),
        _one("promotion/one-outlier", "One block at 5, two at 1/2: the median does not care.",
             _pair(1000, (500, 500, 500, 5000, 5000, 500, 500)), "tuned fast", holds="S7",
             flags="noise"),
        _one("promotion/dispersion-at-the-limit", "Ratios 99/200, 1/2, 101/200: relative MAD "
             "1/100 under a limit of 1/100.",
             _pair(1000, (500, 495, 495, 500, 500, 505, 505), tight), "tuned fast",
             holds="S7", flags="boundary exact noise"),
        _one("promotion/dispersion-over-the-limit", "Ratios 494/1000, 1/2, 506/1000: relative "
             "MAD 12/1000.", _pair(1000, (500, 494, 494, 500, 500, 506, 506), tight),
             "tuned reference", breaks="S7", flags="boundary exact noise"),
        _one("promotion/medians-rounded-down", "The record's times are medians of an even count, "
             "rounded down to whole nanoseconds; its ratio is exact.", _pair(odd, 501),
             "tuned fast", holds="S7 S13", flags="even-count exact"),
        _one("promotion/uneven-latencies", "Six different times on each side: medians and ratios "
             "from the same measurements.",
             _pair((1000, 1000, 997, 1003, 991, 1009, 983, 1019),
                   (600, 601, 607, 613, 617, 619, 631)), "tuned fast", holds="S7 S13",
             flags="exact even-count"),
    )  # fmt: skip


def _identical() -> tuple[Vector, ...]:
    anytime = evolve(POLICY, evidence=AnytimeValid())
    jitter: Timing = (1000, 1010, 990, 1005, 995, 1003, 997, 1001, 999)
    strict = AnytimeValid(
        false_promotion_rate=Fraction(1, 4),
        false_rejection_rate=Fraction(1, 100),
        min_blocks=1,
        max_blocks=6,
    )
    return (
        _one("promotion/identical-median-mad", "Two names for one plan: times that jitter around "
             "the same value on both sides.", _pair(jitter, jitter), "tuned reference",
             holds="E5", breaks="S7", flags="aa noise"),
        _one("promotion/identical-anytime-valid", "The same under the sequential rule, which "
             "stops early.", _pair(jitter, jitter, anytime), "tuned reference", holds="E5",
             breaks="S7", flags="aa noise"),
        _one("promotion/identical-to-the-nanosecond", "Every ratio is 1: every block is a loss.",
             _pair(1000, 1000, anytime), "tuned reference", holds="E5", breaks="S7",
             flags="aa ties"),
        _one("promotion/not-identical", "The same names and another 10 %: that is no chance.",
             _pair(1000, 900, anytime), "tuned fast", breaks="E5", holds="S7", flags="usual"),
        _one("promotion/three-wins-at-one-in-four", "At a rate of 1/4, three wins in a row are "
             "enough: wealth 1/4*(3/2)^3 + 1/4*(7/4)^3 + 1/2*2^3 = 6 + 47/256 >= 4; after two "
             "wins it is 3 + 21/64 < 4.",
             _pair(1000, 900, evolve(POLICY, evidence=strict)), "tuned fast", holds="E4 S7",
             flags="boundary exact"),
    )  # fmt: skip


def _first_calls() -> tuple[Vector, ...]:
    def reused(reuse: int) -> Policy:
        return evolve(POLICY, reuse=reuse)

    def first(first_ns: int, then_ns: int) -> Timing:
        return (first_ns, *(then_ns,) * 20)

    compiled = first(101_000, 500)
    # Steady 1000 ns; the first call of the reference takes 1000 ns as well.
    return (
        _one("promotion/first-call-repaid", "100 us more for the first call are 10 ns for each of "
             "10000: cost 1/2 + 1/100.", _pair(1000, compiled), "tuned fast", holds="S7"),
        _one("promotion/first-call-not-repaid", "For each of 150 it is 2/3 of a reference call: "
             "cost 7/6.", _pair(1000, compiled, reused(150)), "tuned reference", breaks="S7",
             flags="policy"),
        _one("promotion/first-call-never-repaid", "For each of 100 it is a whole reference call, "
             "which no time at all could make up for: the turn ends there, and the search has its "
             "verdict.", _pair(1000, compiled, reused(100)), "tuned reference", breaks="S7",
             flags="policy boundary"),
        _one("promotion/first-call-exactly-repaid", "1030 against 500 ns, and 500 x 1030 ns more "
             "for a first call that 1030 calls share: cost 500/1030 + 500/1030 = 100/103.",
             _pair(1030, first(516_030, 500), reused(1030)), "tuned fast", holds="S7",
             flags="boundary exact policy"),
        _one("promotion/first-call-just-not-repaid", "1 ns more.",
             _pair(1030, first(516_031, 500), reused(1030)), "tuned reference", breaks="S7",
             flags="boundary exact policy"),
        _one("promotion/first-call-cheaper", "A first call that costs less than the reference's "
             "counts for nothing: 990 against 1000 ns is too little.",
             _pair(first(90_000, 1000), first(1000, 990), reused(1)), "tuned reference",
             breaks="S7",
             flags="policy"),
        _one("promotion/first-call-decides-between-two", "Ratio 4/10 with a first call that adds "
             "2/10 loses to 5/10.", _pair(1000, 500, reused(1000), slow=first(201_000, 400)),
             "tuned fast", holds="S7", flags="policy"),
        _one("promotion/first-call-shared-by-many", "The same among 10000: 4/10 + 2/100 wins.",
             _pair(1000, 500, slow=first(201_000, 400)), "tuned slow", holds="S7", flags="policy"),
        _one("promotion/first-call-against-the-best", "The best so far costs 1/2. A first call "
             "that adds as much leaves nothing to show: no block is spent.",
             _pair(1000, 500, reused(1000), slow=first(501_000, 1)), "tuned fast", holds="S7",
             flags="policy boundary"),
        _one("promotion/first-call-of-two-warm-ups", "The first of two warm-ups is the first "
             "call.", _pair(1000, first(1_000_000, 500), evolve(POLICY, warmups=2, reuse=500)),
             "tuned reference", breaks="S7", flags="policy"),
    )  # fmt: skip


def _rivals() -> tuple[Vector, ...]:
    anytime = evolve(POLICY, evidence=AnytimeValid())
    return (
        _one("promotion/slower-than-the-best", "Twice as fast as the reference, and clearly slower "
             "than the best so far: out after five blocks.",
             _pair(1000, 300, anytime, slow=500), "tuned fast", holds="S7", flags="usual"),
        _one("promotion/faster-than-the-best", "In the other order both are measured to the end.",
             _pair(1000, 500, anytime, slow=300), "tuned slow", holds="S7", flags="order"),
        _one("promotion/as-fast-as-the-best", "Equal to the best so far: it keeps up, qualifies, "
             "and loses the tie.", _pair(1000, 500, anytime, slow=500), "tuned fast", holds="S7",
             flags="ties"),
    )  # fmt: skip


def _states() -> tuple[Vector, ...]:
    def blocks(count: int) -> Policy:
        rule = evolve(THREE_BLOCKS, samples=count, max_relative_mad=Fraction(99, 100))
        return evolve(POLICY, evidence=rule)

    def course(reference: Timing, fast: Timing, count: int) -> Scenario:
        return _pair(reference, fast, blocks(count)).look("reports")

    # A warm-up, a baseline, then two measurements of 1000 ns for each block of the first state.
    jumping: Timing = (*(1000,) * 6, *(2000,) * 4)
    return (
        _one("promotion/two-states", "Two blocks against 1000 ns, two against 2000, 900 ns each: "
             "the median is 27/40, all time over all time 7200 / 12000.",
             course(jumping, 900, 4), "tuned fast", holds="E9 S7", flags="noise exact"),
        _one("promotion/one-state", "The same blocks against 1000 ns: no jump.",
             course(1000, 900, 4), "tuned fast", holds="S7", breaks="E9"),
        _one("promotion/states-of-the-candidate", "Three blocks at 9/10, then two in which the "
             "candidate takes 3000 ns and the reference its 1000: the median says faster, the "
             "mixture 17400 / 10000 does not.",
             course(1000, (*(900,) * 7, *(3000,) * 4), 5), "tuned reference", holds="E9",
             breaks="S7", flags="noise"),
        _one("promotion/one-slow-block-is-no-state", "The same with one such block: an accident.",
             course(1000, (*(900,) * 9, *(3000,) * 2), 5), "tuned fast", holds="S7", breaks="E9",
             flags="noise"),
        _one("promotion/states-exactly-half-as-slow-again", "Sums of 2000 and 3000 ns are a "
             "factor of exactly 3/2: two states, 3600 x 2 / 10000.",
             course((*(1000,) * 6, *(1500,) * 4), 900, 4), "tuned fast", holds="E9 S7",
             flags="boundary exact"),
        _one("promotion/states-not-quite-half-as-slow-again", "2999 ns is one state, and a median.",
             course((*(1000,) * 6, 1500, 1499, 1500, 1499), 900, 4), "tuned fast", holds="S7",
             breaks="E9", flags="boundary exact"),
        _one("promotion/states-in-turns", "Blocks of two states that alternate are told apart as "
             "well: by their times, not by their places.",
             course((1000, 1000, *(1000, 1000, 2000, 2000) * 2), 900, 4), "tuned fast",
             holds="E9 S7", flags="noise order"),
        _one("promotion/mixture-exactly-the-minimum", "Two blocks at 1000 against 1030 ns, two at "
             "2000 against 2060: the mixture is exactly 100/103.",
             course((*(1030,) * 6, *(2060,) * 4), (1, *(1000,) * 4, *(2000,) * 4), 4),
             "tuned fast", holds="E9 S7", flags="boundary exact"),
        _one("promotion/mixture-just-under-the-minimum", "1 ns more in one of them.",
             course((*(1030,) * 6, *(2060,) * 4), (1, *(1000,) * 4, 2000, 2000, 2000, 2001), 4),
             "tuned reference", holds="E9", breaks="S7", flags="boundary exact"),
    )  # fmt: skip


def _meanwhile() -> tuple[Vector, ...]:
    def interrupted(ban: str, times: dict[str, Timing]) -> Scenario:
        scenario = Scenario(world=World({**WORLD.times, **times}))
        number = scenario.ask()
        scenario.until_paired(number, "slow")
        event = Invalidated(scenario.now, scenario.key, ban, "reference", True, "wrong")
        return scenario.interrupt(event).finish(number)

    abandoned = Scenario()
    number = abandoned.ask()
    abandoned.until_paired(number, "slow").abandon(number)
    abandoned.decide()
    late = Scenario()
    number = late.ask()
    late.until_paired(number, "slow").abandon(number)
    late.refuse(Measured(number, late.now, 2000))
    return (
        _one("promotion/banned-meanwhile", "The best was banned while the search went on: the "
             "next best wins.", interrupted("fast", {"fast": 500, "slow": 700}), "tuned slow",
             holds="S7 S9", flags="bans concurrency"),
        _one("promotion/all-banned-meanwhile", "The only one that qualified was banned.",
             interrupted("fast", {}), "tuned reference", holds="S9", breaks="S7",
             flags="bans concurrency"),
        _one("promotion/abandoned", "A search that is given up promotes and saves nothing.",
             abandoned, "bypassed reference", "tuned fast", breaks="S7", flags="concurrency"),
        _one("protocol/outcome-after-abandoning", "What comes late answers nothing.", late,
             "bypassed reference", breaks="S13", flags="protocol concurrency"),
    )  # fmt: skip


def _failures() -> tuple[Vector, ...]:
    short = evolve(POLICY, ttl_s=60, retry_after_s=5)

    def lasting(failure: Failure) -> Scenario:
        """It failed, and a year of searches later it is still out."""
        scenario = searched({"fast": failure}, policy=short)
        scenario.world = WORLD
        scenario.pass_time(seconds=60).decide()
        scenario.pass_time(seconds=10**7).decide()
        return scenario

    passing = searched({"fast": TRANSIENT}, policy=short)
    passing.world = WORLD
    passing.pass_time(-1, seconds=5)
    passing.ask()
    passing.pass_time(1).decide()
    back_early = _excluded_until(short, -1)
    back = _excluded_until(short, 0)
    evicted = searched({"fast": REJECTED}, policy=evolve(short, capacity=1))
    evicted.world = WORLD
    evicted.decide(evolve(SOFTMAX, operation="other")).pass_time(seconds=60)
    evicted.decide()
    other_key = searched({"fast": REJECTED})
    other_key.world = WORLD
    other_key.decide(evolve(SOFTMAX, operation="other"))
    return (
        _one("failures/unsupported-lasts", "Unsupported lasts as long as the key is held.",
             lasting(UNSUPPORTED), "tuned reference", "tuned reference", "tuned reference",
             holds="S8", flags="bans clock"),
        _one("failures/rejected-lasts", "Wrong output lasts as long as the key is held.",
             lasting(REJECTED), "tuned reference", "tuned reference", "tuned reference",
             holds="S8", flags="bans clock"),
        _one("failures/crashed-lasts", "A crash bans for as long as the key is held.",
             lasting(CRASHED), "tuned reference", "tuned reference", "tuned reference",
             holds="S8", flags="bans clock"),
        _one("failures/transient-passes", "A timeout makes the decision incomplete: it holds for "
             "retry_after_s; then the candidate is tried again and wins.", passing,
             "tuned reference", "memory reference", "tuned fast", breaks="S8",
             flags="boundary clock"),
        _one("failures/transient-one-nanosecond-early", "Asked 1 ns before the exclusion ends: "
             "the candidate is still out.", back_early, "tuned fast", "bypassed reference",
             "tuned reference", holds="S8", flags="boundary clock bans"),
        _one("failures/transient-exactly-over", "Asked at the very moment: it is tried again.",
             back, "tuned fast", "bypassed reference", "tuned fast", breaks="S8",
             flags="boundary clock bans"),
        _one("failures/forgotten-with-the-key", "Another key took its place in memory: what was "
             "wrong under the first is not known any more, and is tried again.", evicted,
             "tuned reference", "tuned fast", "tuned fast", breaks="S8", holds="S11",
             flags="eviction bans"),
        _one("failures/another-key-is-unaffected", "A candidate wrong under one key is tried "
             "under another.", other_key, "tuned reference", "tuned fast", holds="S8",
             flags="bans"),
    )  # fmt: skip


def _excluded_until(policy: Policy, early_ns: int) -> Scenario:
    """A winner fails later for a reason that passes, and the search is given up."""
    scenario = Scenario(policy)
    scenario.decide()
    scenario.pass_time(seconds=policy.ttl_s)
    scenario.world = World({**WORLD.times, "fast": TRANSIENT})
    number = scenario.ask()
    scenario.finish(number, 5)
    failed_at = scenario.now
    scenario.abandon(number)
    scenario.world = WORLD
    wait_ns = policy.retry_after_s * 10**9 + early_ns - 2000
    assert scenario.now == failed_at, "the exclusion counts from the failure"
    scenario.pass_time(wait_ns)
    return scenario.decide()


def _quarantine() -> tuple[Vector, ...]:
    def lost(problem_environment: object = None) -> Scenario:
        assert problem_environment is None, "one environment is enough"
        return searched({"fast": DEVICE})

    elsewhere = lost()
    elsewhere.world = WORLD
    elsewhere.decide(evolve(SOFTMAX, environment=GPU))
    lasting = lost()
    lasting.world = WORLD
    lasting.pass_time(seconds=10**8)
    lasting.ask()
    other_key = lost()
    other_key.ask(evolve(SOFTMAX, operation="other"))
    running = Scenario(evolve(POLICY, max_parallel=2))
    number = running.ask()
    other = running.ask(evolve(SOFTMAX, environment=GPU))
    running.world = World({**WORLD.times, "fast": DEVICE})
    running.finish(number)
    running.world = WORLD
    running.finish(other)
    running.ask()
    return (
        _one("failures/device-another-environment", "Another device is not in doubt.",
             elsewhere, "device device-lost", "tuned fast", breaks="S8", flags="device"),
        _one("failures/device-lasts", "A quarantine lasts until a new process: three years later "
             "it still holds.", lasting, "device device-lost", "quarantined quarantined",
             holds="S8", flags="device clock"),
        _one("failures/device-another-key", "Every key of the environment is out.", other_key,
             "device device-lost", "quarantined quarantined", holds="S8", flags="device"),
        _one("failures/device-search-elsewhere-goes-on", "A search in another environment is not "
             "touched.", running, "device device-lost", "tuned fast", "quarantined quarantined",
             holds="S8 S4", flags="device concurrency"),
    )  # fmt: skip


def _protocol() -> tuple[Vector, ...]:
    now = Moment(10**9, 1_700_000_000)

    def loading() -> tuple[Scenario, int]:
        scenario = Scenario()
        return scenario, scenario.ask()

    def measuring() -> tuple[Scenario, int]:
        scenario, number = loading()
        return scenario.finish(number, 1), number

    def validating() -> tuple[Scenario, int]:
        scenario, number = loading()
        return scenario.finish(number, 2), number

    def refused(
        name: str,
        comment: str,
        at: Callable[[], tuple[Scenario, int]],
        make: Callable[[int], Event],
        breaks: str = "S13",
        flags: str = "protocol",
    ) -> Vector:
        scenario, number = at()
        scenario.refuse(make(number)).finish(number)
        return _one(f"protocol/{name}", f"{comment} The search goes on as if nothing had been "
                    "said.", scenario, "tuned fast", breaks=breaks, flags=flags)  # fmt: skip

    def foreign(_: int) -> Event:
        return Measured(99, now, 1000)

    twice = Scenario()
    number = twice.ask()
    twice.refuse(Requested(number, twice.now, SOFTMAX, CANDIDATES, 0))
    twice.finish(number)
    answered = Scenario().decide()
    answered.refuse(Measured(1, answered.now, 1000))
    unasked = Scenario()
    unasked.refuse(Measured(1, now, 1000)).refuse(RecordAbsent(1, now))
    unasked.refuse(Validated(1, now)).refuse(Abandoned(1, now, "closing"))
    invalid = Failure(FailureKind.INVALID, "no-candidates")
    quarantined = Failure(FailureKind.QUARANTINED, "quarantined")
    unchecked = Compared(now, "0" * 64, "fast", "reference", 1000, 500, False)
    return (
        refused("unknown-request", "A measurement for a request that nobody made.", measuring,
                foreign),
        refused("measured-while-loading", "The store was asked, not the clock.", loading,
                lambda number: Measured(number, now, 1000)),
        refused("validated-while-measuring", "A measurement was asked for.", measuring,
                lambda number: Validated(number, now)),
        refused("unverifiable-while-measuring", "A measurement was asked for.", measuring,
                lambda number: Unverifiable(number, now, "opaque")),
        refused("measured-while-validating", "A validation was asked for.", validating,
                lambda number: Measured(number, now, 1000)),
        refused("absent-while-measuring", "The store has answered already.", measuring,
                lambda number: RecordAbsent(number, now)),
        refused("unreadable-while-validating", "The store has answered already.", validating,
                lambda number: RecordUnreadable(number, now, "damaged")),
        refused("failed-as-invalid", "A trial cannot fail as invalid: that word is an answer.",
                measuring, lambda number: TrialFailed(number, now, invalid), breaks="S8"),
        refused("failed-as-quarantined", "Nor as quarantined.", validating,
                lambda number: TrialFailed(number, now, quarantined), breaks="S8"),
        refused("failed-while-loading", "Nothing was tried.", loading,
                lambda number: TrialFailed(number, now, TRANSIENT), breaks="S8"),
        refused("negative-latency", "A time under 0 ns.", measuring,
                lambda number: Measured(number, now, -1), flags="protocol types boundary"),
        refused("no-feeds", "Validated on 0 feeds proves nothing.", validating,
                lambda number: Validated(number, now, 0), breaks="E7",
                flags="protocol boundary verification"),
        _one("protocol/request-number-twice", "A number that is under way.", twice, "tuned fast",
             breaks="S13", flags="protocol concurrency"),
        _one("protocol/outcome-after-the-answer", "Nothing is outstanding any more.", answered,
             "tuned fast", breaks="S13", flags="protocol"),
        _one("protocol/outcome-before-any-request", "Outcomes of nothing.", unasked,
             breaks="S13", flags="protocol"),
        _one("protocol/unchecked-comparison", "A pair whose outputs were not compared is no "
             "observation.", Scenario().refuse(unchecked), breaks="S10",
             flags="protocol verification"),
    )  # fmt: skip
