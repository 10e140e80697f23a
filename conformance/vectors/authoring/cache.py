"""Scripts about what is kept and taken back: bans, eviction, store faults, scopes, looks inside."""

from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    CANDIDATES,
    GPU,
    POLICY,
    SOFTMAX,
    SYNTHETIC,
    WALL_S,
    WORLD,
    Scenario,
    World,
)
from conformance.vectors.authoring.selection_search import REJECTED, TRANSIENT, UNSUPPORTED
from conformance.vectors.vector import Vector
from spec import (
    Invalidated,
    Mode,
    Problem,
    RecordAbsent,
    Scope,
    StoreFailed,
)

A: Final = SOFTMAX
B: Final = evolve(SOFTMAX, operation="attention")
C: Final = evolve(SOFTMAX, operation="normalisation")
PIPELINE: Final = Problem(Scope.PIPELINE, "encoder", {"rows": 8}, {"device": "cpu"})
NOWHERE: Final = "f" * 64


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "bans", "eviction", "store", "scopes" and "looks"."""
    return (*_bans(), *_more_bans(), *_eviction(), *_store(), *_scopes(), *_looks())


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
        f"cache/{name}", comment, *answers, holds=holds, breaks=breaks, flags=flags
    )


def _back(
    scenario: Scenario,
    *,
    ban: bool,
    candidate: str = "fast",
    reference: str = "reference",
    key: str = "",
) -> Scenario:
    return scenario.tell(
        Invalidated(scenario.now, key or scenario.key, candidate, reference, ban, "shadow check")
    )


def _bans() -> tuple[Vector, ...]:
    without = _back(Scenario().decide(), ban=False).decide()
    banned = _back(Scenario().decide(), ban=True).decide()
    banned.ask()
    long = evolve(POLICY, ttl_s=10)
    outlived = _back(Scenario(long).decide(), ban=True).decide()
    outlived.pass_time(seconds=10).decide().pass_time(seconds=10**8).decide()
    other = _back(Scenario().decide(), ban=True).decide(B)
    slow = World({"reference": 1000, "fast": 500, "slow": 600})
    second = _back(Scenario(world=slow).decide(), ban=True).decide()
    both = _back(_back(Scenario(world=slow).decide(), ban=True).decide(), ban=True,
                 candidate="slow").decide()  # fmt: skip
    reference = Scenario(world=World({**WORLD.times, "fast": 1500})).decide()
    _back(reference, ban=True, candidate="reference").decide()
    return (
        _one("bans/taken-back", "Removed from the store and from memory, without a ban: searched "
             "again, and it wins again.", without, "tuned fast", "tuned fast", breaks="S9",
             flags="bans"),
        _one("bans/banned", "With a ban: searched again without it, and what wins then is served.",
             banned, "tuned fast", "tuned reference", "memory reference", holds="S9",
             flags="bans"),
        _one("bans/outlives-the-record", "The record expires twice, the second time after three "
             "years; the ban holds as long as the key is held.", outlived, "tuned fast",
             "tuned reference", "tuned reference", "tuned reference", holds="S9",
             flags="bans clock"),
        _one("bans/another-key", "A ban belongs to its key.", other, "tuned fast", "tuned fast",
             breaks="S9", flags="bans"),
        _one("bans/next-best", "Without the banned one the next best wins.", second,
             "tuned fast", "tuned slow", holds="S9", flags="bans"),
        _one("bans/both", "Two bans under one key.", both, "tuned fast", "tuned slow",
             "tuned reference", holds="S9", flags="bans"),
        _one("bans/reference", "The reference cannot be banned: it is taken back, searched again, "
             "and may win again.", reference, "tuned reference", "tuned reference", holds="S9",
             flags="bans"),
    )  # fmt: skip


def _more_bans() -> tuple[Vector, ...]:
    wrong_name = _back(Scenario().decide(), ban=True, candidate="reference", reference="slow")
    wrong_name.decide()
    stranger = _back(Scenario().decide(), ban=True, candidate="nobody").decide()
    unknown = _back(Scenario(), ban=True, key=_key_of_first_request())
    unknown.decide()
    nowhere = _back(Scenario(), ban=False, key=NOWHERE)
    bypass = Scenario(world=World({**WORLD.times, "reference": UNSUPPORTED})).decide()
    bypass.ask()
    bypass.world = WORLD
    _back(bypass, ban=False).decide()
    during = Scenario()
    number = during.ask()
    during.until_paired(number, "fast")
    during.interrupt(Invalidated(during.now, during.key, "slow", "reference", True, "wrong"))
    during.finish(number)
    only = evolve(POLICY, mode=Mode.CACHE_ONLY)
    stored = Scenario(only)
    stored.store = dict(Scenario().decide().store)
    _back(stored.decide(), ban=True).decide()
    twice = _back(_back(Scenario().decide(), ban=True), ban=True).decide()
    return (
        _one("bans/reference-under-another-name", "The event names another reference, but what "
             "is held knows better: not banned.", wrong_name, "tuned fast", "tuned fast",
             holds="S9", flags="bans trust"),
        _one("bans/stranger", "A candidate that nobody offered: banned all the same, and the "
             "record is gone.", stranger, "tuned fast", "tuned fast", holds="S9", flags="bans"),
        _one("bans/before-the-first-request", "A ban for a key without a decision is kept.",
             unknown, "tuned reference", holds="S9", flags="bans"),
        _one("bans/unknown-key", "Taking back what is not held removes it from the store, no "
             "more.", nowhere, holds="S9", flags="bans"),
        _one("bans/bypass-taken-back", "Invalidating clears a bypass: searched again.", bypass,
             "bypassed reference", "bypassed reference", "tuned fast", holds="S9", flags="bans"),
        _one("bans/during-the-search", "Banned before its turn came: passed over.", during,
             "tuned fast", holds="S9", flags="bans concurrency"),
        _one("bans/cache-only", "Cache-only: a stored decision that is taken back is removed, "
             "and the next request is a miss.", stored, "stored fast", "cache-miss reference",
             holds="S9", flags="bans policy"),
        _one("bans/twice", "Taken back twice: nothing is left to take, and nothing breaks.",
             twice, "tuned fast", "tuned reference", holds="S9", flags="bans"),
    )  # fmt: skip


def _key_of_first_request() -> str:
    scenario = Scenario(evolve(POLICY))
    scenario.ask()
    return scenario.key


def _eviction() -> tuple[Vector, ...]:
    def sized(capacity: int) -> Scenario:
        # Only memory is looked at: nothing is stored.
        scenario = Scenario(evolve(POLICY, capacity=capacity))
        for problem in (A, B):
            scenario.decide(evolve(problem, persistent=False))
        return scenario

    def again(scenario: Scenario, *problems: Problem) -> Scenario:
        for problem in problems:
            scenario.decide(evolve(problem, persistent=False))
        return scenario

    two = again(sized(2), A, B)
    one = again(sized(1), B, A)
    fifo = again(sized(2), A, C, B, A)
    bans = Scenario(evolve(POLICY, capacity=1)).decide()
    _back(bans, ban=True)
    bans.decide(B).decide()
    expired = again(Scenario(evolve(POLICY, capacity=2, ttl_s=10)), A, B)
    expired.pass_time(seconds=10)
    again(expired, A, C, A, B)
    kept_place = Scenario(evolve(POLICY, capacity=2))
    again(kept_place, A)
    first_key = kept_place.key
    again(kept_place, B)
    _back(kept_place, ban=False, key=first_key)
    again(kept_place, A, C, A)
    bypass = Scenario(evolve(POLICY, capacity=1), World({**WORLD.times, "reference": UNSUPPORTED}))
    bypass.decide()
    bypass.decide(B)
    bypass.decide()
    stored = Scenario(evolve(POLICY, capacity=1)).decide().decide(B).decide()
    during = Scenario(evolve(POLICY, capacity=1, max_parallel=2))
    number = during.ask()
    during.finish(number, 6)
    other = during.ask(evolve(B, environment=GPU))
    during.finish(other).finish(number)
    during.ask()
    during.decide(evolve(B, environment=GPU))
    unknown = again(Scenario(evolve(POLICY, capacity=1)), A)
    _back(unknown, ban=False, key=NOWHERE)
    again(unknown, A)
    reference = again(Scenario(evolve(POLICY, capacity=1)), A)
    _back(reference, ban=True, candidate="reference", key=NOWHERE)
    again(reference, A)
    banned = again(Scenario(evolve(POLICY, capacity=1)), A)
    _back(banned, ban=True, key=NOWHERE)
    again(banned, A)
    return (
        _one("eviction/unknown-key-takes-no-room", "Taking back what is not held takes no room.",
             unknown, "tuned fast", "memory fast", holds="S11 S9", flags="eviction bans"),
        _one("eviction/banned-reference-takes-no-room", "A ban of the reference is none, and "
             "takes no room.", reference, "tuned fast", "memory fast", holds="S11 S9",
             flags="eviction bans"),
        _one("eviction/ban-takes-room", "A ban of a key that is not held is held like a "
             "decision, and drives the oldest out.", banned, "tuned fast", "tuned fast",
             breaks="S11", holds="S9", flags="eviction bans boundary"),
        _one("eviction/two-of-two", "Two keys in room for two: both stay.", two, "tuned fast",
             "tuned fast", "memory fast", "memory fast", holds="S11", flags="boundary eviction"),
        _one("eviction/two-in-one", "Room for one: the second drives the first out.", one,
             "tuned fast", "tuned fast", "memory fast", "tuned fast", breaks="S11",
             flags="boundary eviction"),
        _one("eviction/first-in-first-out", "Being served does not keep a key: the first in "
             "leaves first.", fifo, "tuned fast", "tuned fast", "memory fast", "tuned fast",
             "memory fast", "tuned fast", holds="S11", flags="eviction order"),
        _one("eviction/ban-leaves-with-its-key", "The key leaves, and its ban with it: the "
             "candidate may win again.", bans, "tuned fast", "tuned fast", "tuned fast",
             holds="S11", breaks="S9", flags="eviction bans"),
        _one("eviction/decided-again-keeps-its-place", "A key that expired and was decided again "
             "is still the oldest.", expired, "tuned fast", "tuned fast", "tuned fast",
             "tuned fast", "tuned fast", "tuned fast", holds="S11", flags="eviction clock"),
        _one("eviction/taken-back-keeps-its-place", "A key whose decision was taken back is "
             "still the oldest.", kept_place, "tuned fast", "tuned fast", "tuned fast",
             "tuned fast", "tuned fast", holds="S11", flags="eviction bans"),
        _one("eviction/bypass-counts", "A bypass is held like a decision, and leaves like one.",
             bypass, "bypassed reference", "bypassed reference", "bypassed reference",
             holds="S11", flags="eviction"),
        _one("eviction/store-remembers", "What left memory is still in the store.", stored,
             "tuned fast", "tuned fast", "stored fast", holds="S11 S5", flags="eviction"),
        _one("eviction/two-searches-in-one-place", "The place goes to the search that ends last, "
             "whichever began first.", during, "tuned fast", "tuned fast", "memory fast",
             "stored fast", holds="S11", flags="eviction concurrency"),
    )  # fmt: skip


def _store() -> tuple[Vector, ...]:
    saving = Scenario().decide()
    saving.interrupt(StoreFailed(saving.now, saving.key, "disk full"))
    saving.ask()
    removing = _back(Scenario().decide(), ban=True)
    removing.interrupt(StoreFailed(removing.now, removing.key, "read only"))
    removing.decide()
    early = Scenario().interrupt(StoreFailed(Scenario().now, NOWHERE, "no such directory"))
    early.decide()
    shared = Scenario()
    shared.store = dict(Scenario().decide().store)
    shared.decide()
    jump_back = _stored_at(WALL_S - 10**6)
    jump_ahead = _stored_at(WALL_S + 10**9)
    kept = Scenario(evolve(POLICY, ttl_s=1000))
    kept.decide()
    kept.set_wall(WALL_S - 10**6).pass_time(seconds=999)
    kept.ask()
    undead = _back(Scenario().decide(), ban=True)
    undead.store = dict(Scenario().decide().store)
    undead.decide()
    undead_memory = _back(Scenario().decide(), ban=False)
    undead_memory.store = dict(Scenario().decide().store)
    undead_memory.decide()
    late = Scenario()
    number = late.ask()
    late.interrupt(StoreFailed(late.now, late.key, "disk full"))
    late.tell(RecordAbsent(number, late.now))
    late.finish(number)
    nothing = Scenario(world=World({**WORLD.times, "fast": UNSUPPORTED})).decide(
        candidates=CANDIDATES[:2]
    )
    return (
        _one("store/save-fails", "A decision that could not be saved is served from memory.",
             saving, "tuned fast", "memory fast", holds="S8", flags="store-fault"),
        _one("store/removal-fails", "What could not be removed is banned in memory all the same.",
             removing, "tuned fast", "tuned reference", holds="S9", flags="store-fault"),
        _one("store/fails-before-any-request", "A warning and no more.", early, "tuned fast",
             holds="S5", flags="store-fault"),
        _one("store/fails-while-asked", "A failure of another operation does not answer the "
             "load.", late, "tuned fast", holds="S5", flags="store-fault concurrency"),
        _one("store/second-process", "What one process saved, the next one validates and serves.",
             shared, "stored fast", holds="S5", flags="usual"),
        _one("store/wall-clock-behind", "This machine's clock is 11 days behind: the record is "
             "from the future and not believed.", jump_back, "tuned fast", breaks="S5",
             flags="clock"),
        _one("store/wall-clock-ahead", "This machine's clock is 31 years ahead: the record is "
             "stale.", jump_ahead, "tuned fast", breaks="S5", flags="clock"),
        _one("store/memory-ignores-the-wall-clock", "The wall clock falls back by 11 days; the "
             "decision in memory lasts exactly its 1000 s.", kept, "tuned fast",
             "memory fast", holds="S3", flags="clock"),
        _one("store/banned-record-comes-back", "A store that did not remove, or another process "
             "that saved again: the ban outlives the record.", undead, "tuned fast",
             "tuned reference", holds="S9", breaks="S5", flags="store-fault bans"),
        _one("store/record-comes-back", "Without a ban it is validated like any other.",
             undead_memory, "tuned fast", "stored fast", holds="S5", breaks="S9",
             flags="store-fault bans"),
        _one("store/nothing-measured", "Without one candidate measured to a verdict there is "
             "nothing to save.", nothing, "tuned reference", breaks="S8", flags="trust"),
    )  # fmt: skip


def _stored_at(wall_s: int) -> Scenario:
    scenario = Scenario()
    scenario.store = dict(Scenario().decide().store)
    return scenario.set_wall(wall_s).decide()


def _scopes() -> tuple[Vector, ...]:
    first = Scenario().decide()
    rests_on = first.fingerprint()
    first.look("fingerprint")
    first.decide(evolve(PIPELINE, lower_level=rests_on))
    first.ask(evolve(PIPELINE, lower_level=rests_on))
    first.look("fingerprint")
    changed = Scenario().decide()
    old = changed.fingerprint()
    changed.decide(evolve(PIPELINE, lower_level=old))
    _back(changed, ban=True, key=_key_of_first_request()).decide()
    assert changed.fingerprint() != old, "pointless unless the lower level changed"
    changed.decide(evolve(PIPELINE, lower_level=changed.fingerprint()))
    return (
        _one("scopes/pipeline-rests-on-operators", "The fingerprint covers the operator's "
             "decision; the pipeline's own decision does not change it.", first, "tuned fast",
             "tuned fast", "memory fast", holds="S12", flags="usual"),
        _one("scopes/lower-level-changed", "An operator's winner was banned: the fingerprint "
             "changes, so the pipeline has another key and is searched again.", changed,
             "tuned fast", "tuned fast", "tuned reference", "tuned fast", breaks="S12",
             flags="bans"),
        _one("scopes/same-names-another-scope", "Operator, fused graph and pipeline never share "
             "a key, whatever else is equal.",
             Scenario().decide(A).decide(evolve(A, scope=Scope.FUSED_GRAPH)).decide(
                 evolve(A, scope=Scope.PIPELINE)), "tuned fast", "tuned fast", "tuned fast",
             holds="S12", flags="usual"),
    )  # fmt: skip


def _looks() -> tuple[Vector, ...]:
    empty = Scenario().look("fingerprint")
    several = Scenario().decide(A).decide(B).decide(evolve(C, scope=Scope.FUSED_GRAPH))
    several.look("fingerprint")
    other_order = Scenario().decide(evolve(C, scope=Scope.FUSED_GRAPH)).decide(B).decide(A)
    other_order.look("fingerprint")
    short = Scenario(evolve(POLICY, ttl_s=10)).decide()
    short.pass_time(10**10 - 1).look("fingerprint").pass_time(1).look("fingerprint")
    bypassed = Scenario(world=World({**WORLD.times, "reference": UNSUPPORTED})).decide()
    bypassed.look("fingerprint")
    passing = Scenario(
        evolve(POLICY, retry_after_s=5), World({**WORLD.times, "reference": TRANSIENT})
    ).decide()
    passing.look("fingerprint").pass_time(seconds=5).look("fingerprint")
    provisional = Scenario(world=World(WORLD.times, {"fast": SYNTHETIC})).decide()
    provisional.look("fingerprint")
    waived = Scenario(
        evolve(POLICY, require_validation=False), World(WORLD.times, {"fast": SYNTHETIC})
    ).decide()
    waived.look("fingerprint")
    counted = Scenario(evolve(POLICY, capacity=1)).decide()
    counted.ask()
    counted.ask(nested=True)
    counted.ask(candidates=())
    counted.decide(B)
    _back(counted, ban=True)
    number = counted.ask(C)
    counted.ask(A)
    counted.abandon(number)
    counted.interrupt(StoreFailed(counted.now, counted.key, "disk full"))
    counted.look("statistics")
    reports = Scenario(world=World({**WORLD.times, "slow": REJECTED})).decide()
    reports.look("reports")
    bounded = Scenario(evolve(POLICY, reports=2)).decide(A).decide(B).decide(C)
    bounded.look("reports")
    none = Scenario(evolve(POLICY, reports=0)).decide().look("reports")
    return (
        _one("looks/fingerprint-of-nothing", "SHA-256 of the two characters [].", empty,
             holds="S12", flags="empty boundary"),
        _one("looks/fingerprint-of-three", "Two operators and a fused graph, sorted by key.",
             several, "tuned fast", "tuned fast", "tuned fast", holds="S12 S13", flags="order"),
        _one("looks/fingerprint-in-another-order", "The same decisions in another order: the "
             "same fingerprint.", other_order, "tuned fast", "tuned fast", "tuned fast",
             holds="S12 S13", flags="order"),
        _one("looks/fingerprint-forgets-the-stale", "1 ns before ttl_s it counts, then no more.",
             short, "tuned fast", holds="S12", breaks="S12", flags="boundary clock"),
        _one("looks/fingerprint-of-a-bypass", "A bypassed key counts as its reference.",
             bypassed, "bypassed reference", holds="S12", flags="usual"),
        _one("looks/fingerprint-of-a-bypass-that-ends", "For as long as it holds.", passing,
             "bypassed reference", holds="S12", breaks="S12", flags="boundary clock"),
        _one("looks/fingerprint-without-the-provisional", "A provisional winner would not be "
             "served, so it does not count.", provisional, "tuned fast", breaks="S12",
             flags="verification"),
        _one("looks/fingerprint-of-the-waived", "Where validation is waived it would be, and "
             "does.", waived, "tuned fast", holds="S12", flags="verification policy"),
        _one("looks/statistics", "Every request is counted under exactly one answer.", counted,
             "tuned fast", "memory fast", "memory fast", "invalid no-candidates", "tuned fast",
             "busy reference", "bypassed reference", holds="S13", flags="usual"),
        _one("looks/reports", "What became of each candidate.", reports, "tuned fast",
             holds="S6", flags="usual"),
        _one("looks/reports-bounded", "Room for two reports: the first is gone.", bounded,
             "tuned fast", "tuned fast", "tuned fast", holds="S11", flags="boundary eviction"),
        _one("looks/no-reports", "Room for none.", none, "tuned fast", breaks="S11",
             flags="boundary policy"),
    )  # fmt: skip
