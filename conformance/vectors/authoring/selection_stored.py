"""Scripts about records from another time or process (S5)."""

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    CANDIDATES,
    POLICY,
    SECOND,
    SOFTMAX,
    SYNTHETIC,
    WALL_S,
    WORLD,
    Check,
    Scenario,
    World,
)
from conformance.vectors.vector import Vector
from spec import (
    Candidate,
    Failure,
    FailureKind,
    Invalidated,
    Mode,
    Origin,
    Policy,
    Problem,
    Record,
    Scope,
)
from spec.keys import cache_key

REFUTED: Final = Failure(FailureKind.REJECTED, "wrong-output", "output 0: 3 of 8 differ")
CACHE_ONLY: Final = evolve(POLICY, mode=Mode.CACHE_ONLY)


def record_for(policy: Policy = POLICY, problem: Problem = SOFTMAX) -> Record:
    """Return a record of another process: "fast" at half the reference's time."""
    return Record(
        key=cache_key(problem, CANDIDATES, 0, policy).digest,
        scope=problem.scope,
        winner="fast",
        reference="reference",
        created_s=WALL_S - 100,
        reference_ns=1000,
        winner_ns=500,
        ratio=Fraction(1, 2),
        dispersion=Fraction(0),
        blocks=3,
        verified=True,
        feeds=2,
    )


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the group "stored"."""
    return (*_validated(), *_believed(), *_aged(), *_faults(), *_meanwhile())


def _with(
    change: Callable[[Record], Record] = lambda record: record,
    policy: Policy = POLICY,
    check: Check | None = None,
    problem: Problem = SOFTMAX,
) -> Scenario:
    checks: dict[str, Check] = {} if check is None else {"fast": check}
    scenario = Scenario(policy, World(WORLD.times, checks))
    record = record_for(policy, problem)
    scenario.store[record.key] = change(record)
    return scenario


def _one(
    name: str,
    comment: str,
    scenario: Scenario,
    *answers: str,
    holds: str = "",
    breaks: str = "",
    flags: str = "trust",
) -> Vector:
    return scenario.vector(
        f"selection/stored/{name}", comment, *answers, holds=holds, breaks=breaks, flags=flags
    )


def _validated() -> tuple[Vector, ...]:
    twice = _with().decide()
    twice.ask()
    transient = Failure(FailureKind.TRANSIENT, "out-of-memory")
    crashed = Failure(FailureKind.CRASHED, "signal-11")
    device = Failure(FailureKind.DEVICE, "device-lost")
    unsupported = Failure(FailureKind.UNSUPPORTED, "no-kernel")
    waived = evolve(POLICY, require_validation=False)
    after_device = _with(check=device).decide()
    after_device.ask()
    only_refuted = _with(policy=CACHE_ONLY, check=REFUTED).decide().decide()
    return (
        _one("validated-once", "The winner is validated once in this process; after that it is a "
             "memory hit.", twice, "stored fast", "memory fast", holds="S5 S3", flags="usual"),
        _one("refuted", "Its outputs differ here: removed, excluded, and searched without it.",
             _with(check=REFUTED).decide(), "tuned reference", breaks="S5", holds="S8",
             flags="verification"),
        _one("transient-failure", "Out of memory is no proof against it, but the record goes: "
             "removed, and the search passes it over.",
             _with(check=transient).decide(), "tuned reference", breaks="S5", holds="S8",
             flags="verification"),
        _one("crashed", "A crash in isolation bans it.", _with(check=crashed).decide(),
             "tuned reference", breaks="S5", holds="S8", flags="verification"),
        _one("unsupported-here", "It cannot run here.", _with(check=unsupported).decide(),
             "tuned reference", breaks="S5", holds="S8", flags="verification"),
        _one("device-lost", "A device failure quarantines; the record is kept, nobody knows.",
             after_device, "device device-lost", "quarantined quarantined",
             breaks="S5", holds="S8", flags="device"),
        _one("unverifiable", "Outputs that cannot be compared prove nothing: removed.",
             _with(check="opaque type").decide(), "tuned reference", breaks="S5",
             flags="verification"),
        _one("unverifiable-where-waived", "Where validation is waived it may pass unchecked; the "
             "decision says so.", _with(policy=waived, check="opaque type").decide(),
             "stored fast", holds="S5", flags="verification policy"),
        _one("cache-only", "Cache-only serves what was validated here.",
             _with(policy=CACHE_ONLY).decide(), "stored fast", holds="S5", flags="policy"),
        _one("cache-only-refuted", "Cache-only removes what is refuted, and answers with the "
             "reference; the second request finds nothing.", only_refuted,
             "cache-miss reference", "cache-miss reference", breaks="S5", flags="verification"),
        _one("provisional-confirmed", "Verified on synthetic feeds elsewhere, on real ones here.",
             _with(lambda one: evolve(one, provisional=True)).decide().decide(),
             "stored fast", "memory fast", holds="S5 E7", flags="verification"),
        _one("provisional-here", "Verified here on synthetic feeds only: served as provisional, "
             "and validated again with the next request, without asking the store.",
             _with(check=SYNTHETIC).decide().decide(), "stored fast", "stored fast",
             holds="S5", breaks="E7", flags="verification"),
        _one("reference-won-elsewhere", "That the reference is best is validated against itself.",
             _with(_reference_won).decide().decide(), "stored reference", "memory reference",
             holds="S5", flags="usual"),
        _one("not-persistent", "A problem that is not persistent neither loads nor saves.",
             _with(problem=evolve(SOFTMAX, persistent=False)).decide(
                 evolve(SOFTMAX, persistent=False)), "tuned fast", breaks="S5", flags="usual"),
        _one("imported", "A shipped record is treated like any other.",
             _with(lambda one: evolve(one, origin=Origin.IMPORTED)).decide(), "stored fast",
             holds="S5", flags="usual"),
    )  # fmt: skip


def _reference_won(record: Record) -> Record:
    return evolve(
        record, winner="reference", ratio=Fraction(1), reference_ns=1000, winner_ns=1000, blocks=0
    )


def _believed() -> tuple[Vector, ...]:
    other_key = "0" * 64
    ineligible = _with().decide(
        candidates=(CANDIDATES[0], Candidate("fast", ineligible="gone"), CANDIDATES[2])
    )
    small = evolve(POLICY, max_workspace_bytes=10)
    over = _with(policy=small).decide(
        candidates=(CANDIDATES[0], Candidate("fast", 11), CANDIDATES[2])
    )

    def rated(ratio: Fraction) -> Scenario:
        return _with(lambda one: evolve(one, ratio=ratio)).decide()

    moved = _with()
    moved.store = {}
    key = record_for().key
    moved.store[key] = evolve(record_for(), key=other_key)
    moved.decide()
    return (
        _one("another-key", "A store that answers with somebody else's record: a warning, a miss, "
             "and nothing is removed.", moved, "tuned fast", breaks="S5",
             flags="store-fault trust"),
        _one("another-scope", "A pipeline's record for an operator.",
             _with(lambda one: evolve(one, scope=Scope.PIPELINE)).decide(), "tuned fast",
             breaks="S5"),
        _one("another-reference", "Measured against another reference.",
             _with(lambda one: evolve(one, reference="slow")).decide(), "tuned fast",
             breaks="S5"),
        _one("unverified", "The policy asks for verification, the record has none: a miss.",
             _with(lambda one: evolve(one, verified=False)).decide(), "tuned fast", breaks="S5",
             flags="verification"),
        _one("ratio-exactly-at-the-minimum", "100/103 is a speed-up of exactly 103/100.",
             rated(Fraction(100, 103)), "stored fast", holds="S5 S7", flags="boundary exact"),
        _one("ratio-over-the-minimum", "101/103 is a speed-up of less than 103/100: its own "
             "evidence would not promote it.", rated(Fraction(101, 103)), "tuned fast",
             breaks="S5 S7", flags="boundary exact trust"),
        _one("ratio-just-over-the-minimum", "1000001/1030000 is over 100/103 by a millionth.",
             rated(Fraction(1_000_001, 1_030_000)), "tuned fast", breaks="S5 S7",
             flags="boundary exact trust"),
        _one("ratio-one", "No faster than the reference.", rated(Fraction(1)), "tuned fast",
             breaks="S5 S7"),
        _one("slower-than-the-reference", "A ratio of 2.", rated(Fraction(2)), "tuned fast",
             breaks="S5 S7"),
        _one("no-blocks", "A guess on disk: no block was measured.",
             _with(lambda one: evolve(one, blocks=0)).decide(), "tuned fast", breaks="S5 S8"),
        _one("winner-ineligible", "The winner can't run here.", ineligible, "tuned reference",
             breaks="S5"),
        _one("winner-over-workspace", "11 bytes under a limit of 10.", over, "tuned reference",
             breaks="S5", flags="boundary workspace"),
        _one("winner-unknown", "The winner is no candidate.",
             _with(lambda one: evolve(one, winner="other")).decide(), "tuned fast", breaks="S5"),
    )  # fmt: skip


def _aged() -> tuple[Vector, ...]:
    policy = evolve(POLICY, ttl_s=1000, retry_after_s=50)

    def aged(seconds: int, *, complete: bool = True) -> Scenario:
        def dated(record: Record) -> Record:
            return evolve(record, created_s=WALL_S - seconds, complete=complete)

        return _with(dated, policy).decide()

    return (
        _one("last-fresh-second", "999 s old with a lifetime of 1000 s.", aged(999),
             "stored fast", holds="S5", flags="boundary clock"),
        _one("stale", "1000 s old with a lifetime of 1000 s: a miss, and the new record takes "
             "its place.", aged(1000), "tuned fast", breaks="S5", flags="boundary clock"),
        _one("incomplete-fresh", "An incomplete search holds for retry_after_s: 49 of 50 s.",
             aged(49, complete=False), "stored fast", holds="S5", flags="boundary clock"),
        _one("incomplete-stale", "50 of 50 s.", aged(50, complete=False), "tuned fast",
             breaks="S5", flags="boundary clock"),
        _one("from-the-future", "Dated 300 s ahead: clocks may differ by that much.", aged(-300),
             "stored fast", holds="S5", flags="boundary clock"),
        _one("from-the-far-future", "Dated 301 s ahead: its age is unknown.", aged(-301),
             "tuned fast", breaks="S5", flags="boundary clock trust"),
    )  # fmt: skip


def _faults() -> tuple[Vector, ...]:
    damaged = Scenario()
    damaged.unreadable = True
    damaged.decide()
    damaged_only = Scenario(CACHE_ONLY)
    damaged_only.unreadable = True
    damaged_only.decide()
    absent = Scenario(CACHE_ONLY).decide()
    return (
        _one("unreadable", "What cannot be read is a miss; nobody removes what he does not "
             "understand.", damaged, "tuned fast", breaks="S5", flags="store-fault"),
        _one("unreadable-cache-only", "The same where nothing may be measured.", damaged_only,
             "cache-miss reference", breaks="S5", flags="store-fault policy"),
        _one("absent-cache-only", "Nothing stored, nothing removed.", absent,
             "cache-miss reference", breaks="S5", flags="policy"),
    )  # fmt: skip


def _meanwhile() -> tuple[Vector, ...]:
    policy = evolve(POLICY, ttl_s=110)
    expired = _with(policy=policy)
    number = expired.ask()
    expired.until_validating(number, "fast").pass_time(seconds=10)
    expired.finish(number)
    in_time = _with(policy=policy)
    number = in_time.ask()
    in_time.until_validating(number, "fast").pass_time(10 * SECOND - 1)
    in_time.finish(number)
    banned = _with()
    number = banned.ask()
    banned.until_validating(number, "fast")
    banned.interrupt(Invalidated(banned.now, banned.key, "fast", "reference", True, "wrong"))
    banned.finish(number)
    later = _with(policy=policy).decide()
    later.pass_time(10 * SECOND - 1)
    later.ask()
    later.pass_time(1)
    later.decide()
    return (
        _one("expires-while-validated", "It has 10 s left, and its validation takes 10 s.",
             expired, "tuned fast", breaks="S5", flags="boundary clock"),
        _one("validated-just-in-time", "It has 10 s left, and its validation takes 1 ns less.",
             in_time, "stored fast", holds="S5", flags="boundary clock"),
        _one("banned-while-validated", "Taken back and banned while it was being validated: the "
             "validation that passes comes too late.", banned, "tuned reference",
             breaks="S5", holds="S9", flags="bans concurrency"),
        _one("keeps-its-age", "A record of 100 s with a lifetime of 110 s holds 10 s in memory: "
             "being loaded does not make it younger.", later,
             "stored fast", "memory fast", "tuned fast", holds="S3 S5", breaks="S3",
             flags="boundary clock"),
    )  # fmt: skip
