"""Scripts about what answers a request at once (S2 to S4)."""

from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    CANDIDATES,
    GPU,
    POLICY,
    SECOND,
    SOFTMAX,
    SYNTHETIC,
    WORLD,
    Scenario,
    World,
)
from conformance.vectors.vector import Happens, Script, Vector
from spec import (
    Candidate,
    Failure,
    FailureKind,
    Invalidated,
    Mode,
    Policy,
    RecordAbsent,
    RecordUnreadable,
)
from spec.canonical_json import Json

OTHER: Final = evolve(SOFTMAX, operation="attention")
ELSEWHERE: Final = evolve(SOFTMAX, environment=GPU)
LOST_DEVICE: Final = Failure(FailureKind.DEVICE, "device-lost", "sticky error")
DEVICE_FAILS: Final = World({"reference": 1000, "fast": LOST_DEVICE, "slow": 2000})
NO_REFERENCE: Final = World(
    {"reference": Failure(FailureKind.UNSUPPORTED, "no-kernel"), "fast": 500, "slow": 2000}
)
SHORT_S: Final = 10
UNCHECKED: Final = World(WORLD.times, {"reference": "opaque", "fast": "opaque"})


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups "order", "memory" and "busy"."""
    return (*_order(), *_memory(), *_memory_again(), *_busy())


def _decided(policy: Policy = POLICY) -> Scenario:
    """One decision in memory: "fast" at half the reference's time."""
    return Scenario(policy).decide()


def _order() -> tuple[Vector, ...]:
    quarantined = Scenario(world=DEVICE_FAILS).decide()
    bad = quarantined.ask(candidates=())
    held = _decided()
    held.ask(OTHER)
    held.ask()
    nested_hit = _decided()
    nested_hit.ask(nested=True)
    bypass_nested = Scenario(world=NO_REFERENCE).decide()
    bypass_nested.ask(nested=True)
    bypass_busy = Scenario(world=NO_REFERENCE).decide()
    bypass_busy.ask(OTHER)
    bypass_busy.ask()
    nested_busy = Scenario()
    nested_busy.ask()
    nested_busy.ask(nested=True)
    nested_first = Scenario()
    nested_first.ask(nested=True)
    quarantined_hit = _decided()
    quarantined_hit.world = DEVICE_FAILS
    quarantined_hit.decide(OTHER).decide()
    quarantined_nested = Scenario(world=DEVICE_FAILS).decide()
    quarantined_nested.ask(nested=True)
    disabled = Scenario(evolve(POLICY, mode=Mode.DISABLED))
    disabled.ask(nested=True)
    disabled.ask()
    disabled_invalid = Scenario(evolve(POLICY, mode=Mode.DISABLED))
    disabled_invalid.ask(reference=3)
    cache_only = Scenario(evolve(POLICY, mode=Mode.CACHE_ONLY))
    cache_only.decide()
    stored = _stored_then(Mode.CACHE_ONLY)
    explored = Scenario().decide()
    assert bad, "a request has a number"
    return (
        quarantined.vector(
            "selection/order/invalid-before-quarantined",
            "A bad request in a quarantined environment is told that it is bad.",
            "device device-lost",
            "invalid no-candidates",
            holds="S8",
            breaks="S1 S2",
            flags="order device",
        ),
        quarantined_hit.vector(
            "selection/order/quarantined-before-memory",
            "A decision in memory does not answer once its environment is in doubt.",
            "tuned fast",
            "device device-lost",
            "quarantined quarantined",
            holds="S2 S8",
            breaks="S3",
            flags="order device",
        ),
        quarantined_nested.vector(
            "selection/order/quarantined-before-nested",
            "Nested or not: nothing runs on a device in doubt, and that is a failure.",
            "device device-lost",
            "quarantined quarantined",
            holds="S2 S8",
            flags="order device",
        ),
        disabled.vector(
            "selection/order/disabled-before-all-else",
            "A disabled selector answers with the reference and asks the store nothing.",
            "disabled reference",
            "disabled reference",
            holds="S2",
            flags="order policy",
        ),
        disabled_invalid.vector(
            "selection/order/invalid-before-disabled",
            "Disabled or not, a bad request is bad.",
            "invalid reference-index",
            breaks="S1 S2",
            flags="order policy",
        ),
        held.vector(
            "selection/order/memory-before-busy",
            "What is known is served while something else is being tuned.",
            "tuned fast",
            "memory fast",
            holds="S2 S3",
            flags="order concurrency",
        ),
        nested_hit.vector(
            "selection/order/memory-before-nested",
            "What is known is served inside a trial as well.",
            "tuned fast",
            "memory fast",
            holds="S2 S3",
            flags="order",
        ),
        bypass_nested.vector(
            "selection/order/bypass-before-nested",
            "A bypassed key says so, also inside a trial.",
            "bypassed reference",
            "bypassed reference",
            holds="S2",
            breaks="S6",
            flags="order",
        ),
        bypass_busy.vector(
            "selection/order/bypass-before-busy",
            "A bypassed key says so, also while its environment is being tuned.",
            "bypassed reference",
            "bypassed reference",
            holds="S2",
            flags="order concurrency",
        ),
        nested_busy.vector(
            "selection/order/nested-before-busy",
            "Inside a trial the key is being tuned by definition; nested is the better word.",
            "nested reference",
            holds="S2 S4",
            flags="order concurrency",
        ),
        nested_first.vector(
            "selection/order/nested-before-store",
            "A nested request never asks the store nor measures.",
            "nested reference",
            holds="S2",
            flags="order",
        ),
        stored,
        cache_only.vector(
            "selection/order/cache-only-miss",
            "Nothing stored and no leave to measure: the reference, with its own word.",
            "cache-miss reference",
            holds="S2",
            flags="policy",
        ),
        explored.vector(
            "selection/order/exploration-last",
            "Nothing known, nothing stored: the search begins.",
            "tuned fast",
            holds="S2 S6 S7",
        ),
    )


def _stored_then(mode: Mode) -> Vector:
    first = Scenario().decide()
    second = Scenario(evolve(POLICY, mode=mode))
    second.store = dict(first.store)
    second.decide()
    return second.vector(
        "selection/order/stored-before-cache-miss",
        "A stored record is looked for before a cache-only selector gives up.",
        "stored fast",
        holds="S2 S5",
        flags="order policy",
    )


def _memory() -> tuple[Vector, ...]:
    ttl_s = POLICY.ttl_s
    hit = _decided().pass_time(5)
    hit.ask()
    fresh = _decided(evolve(POLICY, ttl_s=10)).pass_time(10 * SECOND - 1)
    fresh.ask()
    stale = _decided(evolve(POLICY, ttl_s=10)).pass_time(10 * SECOND).decide()
    moved = _decided()
    moved.ask(candidates=(CANDIDATES[2], CANDIDATES[1], CANDIDATES[0]), reference=2)
    turned = _decided()
    turned.ask(candidates=(CANDIDATES[1], CANDIDATES[2], CANDIDATES[0]), reference=2)
    jumped = _decided(evolve(POLICY, ttl_s=10)).set_wall(2_000_000_000)
    jumped.ask()
    back = _decided(evolve(POLICY, ttl_s=10)).set_wall(1)
    back.ask()
    ineligible = _decided()
    ineligible.ask(candidates=(CANDIDATES[0], Candidate("fast", ineligible="gone"), CANDIDATES[2]))
    workspace = _decided(evolve(POLICY, max_workspace_bytes=100))
    workspace.ask(candidates=(CANDIDATES[0], Candidate("fast", 101), CANDIDATES[2]))
    fits = _decided(evolve(POLICY, max_workspace_bytes=100))
    fits.ask(candidates=(CANDIDATES[0], Candidate("fast", 100), CANDIDATES[2]))
    unknown = _decided(evolve(POLICY, max_workspace_bytes=100))
    unknown.ask(candidates=(CANDIDATES[0], Candidate("fast", None), CANDIDATES[2]))
    reference = Scenario(world=World({"reference": 1000, "fast": 1000, "slow": 2000})).decide()
    reference.ask()
    assert ttl_s > SHORT_S, "the twins would mean nothing"
    return (
        hit.vector("selection/memory/hit", "Decided once, served from then on.",
                   "tuned fast", "memory fast", holds="S3"),
        fresh.vector("selection/memory/one-nanosecond-fresh",
                     "ttl_s is 10; 1 ns before 10 s have passed the decision still holds.",
                     "tuned fast", "memory fast", holds="S3", flags="boundary clock"),
        stale.vector("selection/memory/stale",
                     "At exactly ttl_s the decision has expired, in memory and in the store.",
                     "tuned fast", "tuned fast", breaks="S3", flags="boundary clock"),
        moved.vector("selection/memory/candidates-reordered",
                     "The others trade places around the winner: the reference is at place 2.",
                     "tuned fast", "memory fast", holds="S3 S13", flags="order"),
        turned.vector("selection/memory/winner-moved",
                      "Decided at place 1, asked for again where it stands at place 0.",
                      "tuned fast", "memory fast", holds="S3 S13", flags="order"),
        jumped.vector("selection/memory/wall-clock-jumps-ahead",
                      "Inside a process only the monotonic clock ages a decision.",
                      "tuned fast", "memory fast", holds="S3", flags="clock"),
        back.vector("selection/memory/wall-clock-jumps-back",
                    "A wall clock of 1970 changes nothing in memory.",
                    "tuned fast", "memory fast", holds="S3", flags="clock"),
        ineligible.vector("selection/memory/winner-ineligible-now",
                          "A winner that can't run any more is not served; the store is asked.",
                          "tuned fast", breaks="S3", flags="trust"),
        workspace.vector("selection/memory/winner-over-workspace",
                         "The winner needs 101 bytes now, the limit is 100: not served.",
                         "tuned fast", breaks="S3", flags="boundary workspace"),
        fits.vector("selection/memory/winner-fits-exactly", "100 bytes under a limit of 100.",
                    "tuned fast", "memory fast", holds="S3", flags="boundary workspace"),
        unknown.vector("selection/memory/winner-of-unknown-size",
                       "Under a limit, a need that nobody knows does not fit.",
                       "tuned fast", breaks="S3", flags="workspace"),
        reference.vector("selection/memory/reference-won",
                         "That the reference is best is a decision too, and is remembered.",
                         "tuned reference", "memory reference", holds="S3", breaks="S7"),
    )  # fmt: skip


def _memory_again() -> tuple[Vector, ...]:
    banned = _decided()
    banned.tell(Invalidated(banned.now, banned.key, "fast", "reference", True, "wrong"))
    banned.decide()
    unverified = Scenario(evolve(POLICY, require_validation=False), UNCHECKED).decide()
    unverified.ask()
    synthetic = Scenario(world=World(WORLD.times, {"fast": SYNTHETIC})).decide()
    synthetic.world = WORLD
    synthetic.decide()
    synthetic.ask()
    again = Scenario(world=World(WORLD.times, {"fast": SYNTHETIC})).decide().decide().decide()
    worse = Scenario(world=World(WORLD.times, {"fast": SYNTHETIC})).decide()
    worse.world = World(WORLD.times, {"fast": Failure(FailureKind.REJECTED, "wrong-output")})
    worse.decide()
    waived = Scenario(
        evolve(POLICY, require_validation=False), World(WORLD.times, {"fast": SYNTHETIC})
    ).decide()
    waived.ask()
    incomplete = Scenario(evolve(POLICY, max_candidates=2, retry_after_s=5)).decide()
    incomplete.pass_time(5 * SECOND - 1)
    incomplete.ask()
    incomplete.pass_time(1).decide()
    keeps = Scenario(evolve(POLICY, ttl_s=10), World(WORLD.times, {"fast": SYNTHETIC})).decide()
    keeps.world = WORLD
    keeps.pass_time(seconds=5).decide().pass_time(5 * SECOND - 1)
    keeps.ask()
    keeps.pass_time(1).decide()
    nested = Scenario(world=World(WORLD.times, {"fast": SYNTHETIC})).decide()
    nested.ask(nested=True)
    return (
        banned.vector("selection/memory/winner-banned",
                      "Taken back and banned: the next search passes it over.",
                      "tuned fast", "tuned reference", breaks="S3", holds="S9", flags="bans"),
        unverified.vector("selection/memory/unverified-where-waived",
                          "Where the policy waives validation, an unverified winner is served.",
                          "tuned fast", "memory fast", holds="S3", flags="policy verification"),
        synthetic.vector("selection/memory/provisional-confirmed",
                         "Verified on synthetic feeds only: validated again before it is served, "
                         "and then it is verified. The store is not asked.",
                         "tuned fast", "stored fast", "memory fast",
                         holds="E7", breaks="S3", flags="verification trust"),
        again.vector("selection/memory/provisional-stays-provisional",
                     "As long as only synthetic feeds are there, every request validates.",
                     "tuned fast", "stored fast", "stored fast", breaks="E7 S3",
                     flags="verification trust"),
        worse.vector("selection/memory/provisional-refuted",
                     "Real feeds show that it is wrong: removed, and searched again without it.",
                     "tuned fast", "tuned reference", breaks="S3 E7", holds="S8",
                     flags="verification trust"),
        waived.vector("selection/memory/provisional-where-waived",
                      "Where validation is waived, a provisional winner is served.",
                      "tuned fast", "memory fast", holds="S3", flags="policy verification"),
        keeps.vector("selection/memory/provisional-keeps-its-end",
                     "Confirmed after 5 s of 10: that gives it no new lifetime.",
                     "tuned fast", "stored fast", "memory fast", "tuned fast",
                     holds="S3 S5", breaks="S3", flags="boundary clock verification"),
        nested.vector("selection/memory/provisional-nested",
                      "Inside a trial nothing can be validated: the reference.",
                      "tuned fast", "nested reference", breaks="S3", flags="verification"),
        incomplete.vector("selection/memory/incomplete-search-retried",
                          "One candidate did not get its turn, so the decision holds for "
                          "retry_after_s, which is 5, and not for ttl_s.",
                          "tuned fast", "memory fast", "tuned fast",
                          holds="S3", breaks="S6", flags="boundary clock"),
    )  # fmt: skip


def _busy() -> tuple[Vector, ...]:
    same_key = Scenario()
    first = same_key.ask()
    same_key.ask()
    same_key.finish(first)
    same_key.ask()
    same_lane = Scenario(evolve(POLICY, max_parallel=2))
    first = same_lane.ask()
    same_lane.ask(OTHER)
    same_lane.finish(first).decide(OTHER)
    limit = Scenario()
    first = limit.ask()
    limit.ask(ELSEWHERE)
    limit.finish(first).decide(ELSEWHERE)
    two = Scenario(evolve(POLICY, max_parallel=2))
    first, second = two.ask(), two.ask(ELSEWHERE)
    two.ask(evolve(ELSEWHERE, environment={"device": "npu"}))
    two.finish(second).finish(first)
    abandoned = Scenario()
    first = abandoned.ask()
    abandoned.abandon(first).decide()
    same_twice = Scenario(evolve(POLICY, max_parallel=2))
    first, second = same_twice.ask(), same_twice.ask()
    same_twice.finish(first).finish(second)
    members = Scenario(evolve(POLICY, max_parallel=2))
    first = members.ask(evolve(SOFTMAX, environment={"a": 1, "b": 2}))
    members.ask(evolve(OTHER, environment={"b": 2, "a": 1}))
    members.finish(first)
    failed = Scenario(world=NO_REFERENCE)
    first = failed.ask()
    failed.ask(OTHER)
    failed.finish(first).decide(OTHER)
    quick = Scenario(evolve(POLICY, mode=Mode.CACHE_ONLY))
    first = quick.ask()
    quick.ask(OTHER)
    quick.tell(RecordAbsent(first, quick.now))
    second = quick.ask(OTHER)
    quick.tell(RecordUnreadable(second, quick.now, "damaged"))
    return (
        same_key.vector("selection/busy/same-key",
                        "A second request for the key that is being tuned gets the reference at "
                        "once; when the search is over, it is served.",
                        "busy reference", "tuned fast", "memory fast",
                        holds="S4", flags="concurrency"),
        same_lane.vector("selection/busy/same-environment",
                         "Another key of the same environment waits for its own turn, though two "
                         "searches are allowed: they would disturb each other.",
                         "busy reference", "tuned fast", "tuned fast",
                         holds="S4", flags="concurrency"),
        limit.vector("selection/busy/parallel-limit",
                     "Another environment, but only one search at a time.",
                     "busy reference", "tuned fast", "tuned fast",
                     holds="S4", flags="concurrency boundary"),
        two.vector("selection/busy/two-environments",
                   "Two searches in two environments are allowed; a third is one too many. They "
                   "end in any order.",
                   "busy reference", "tuned fast", "tuned fast",
                   holds="S4", breaks="S4", flags="concurrency boundary"),
        abandoned.vector("selection/busy/released-when-abandoned",
                         "A search that is given up frees its key and its environment.",
                         "bypassed reference", "tuned fast", breaks="S4", flags="concurrency"),
        same_twice.vector("selection/busy/same-key-though-parallel",
                          "Two searches are allowed, but never two of one key.",
                          "busy reference", "tuned fast", holds="S4", flags="concurrency"),
        _reordered(members.vector("selection/busy/environment-in-another-order",
                       "An environment is the same whatever the order of its members.",
                       "busy reference", "tuned fast", holds="S4 S13",
                       flags="concurrency order")),
        failed.vector("selection/busy/released-when-bypassed",
                      "A search that ends without a ground to stand on frees its environment.",
                      "busy reference", "bypassed reference", "bypassed reference",
                      breaks="S4", flags="concurrency"),
        quick.vector("selection/busy/while-the-store-is-asked",
                     "Asking the store occupies key and environment as well.",
                     "busy reference", "cache-miss reference", "cache-miss reference",
                     holds="S4", flags="concurrency store-fault"),
    )  # fmt: skip


def _reordered(vector: Vector) -> Vector:
    """Let the second request write the members of its environment the other way round."""
    assert isinstance(vector.body, Script), "made by a scenario"
    first, second, *rest = vector.body.steps
    assert isinstance(second, Happens), "made by a scenario"
    event = second.event
    assert isinstance(event, dict), "events are objects"
    problem = event["problem"]
    assert isinstance(problem, dict), "problems are objects"
    environment = problem["environment"]
    assert isinstance(environment, dict), "made by this module"
    turned: Json = dict(reversed(environment.items()))
    changed: Json = {**event, "problem": {**problem, "environment": turned}}
    steps = (first, Happens(changed, second.effects), *rest)
    return evolve(vector, body=evolve(vector.body, steps=steps))
