"""Scripts about the search: what is measured, in which order, within which limits (S6)."""

from typing import Final

from attrs import evolve

from conformance.vectors.authoring.scenario import (
    CANDIDATES,
    MILLISECOND,
    POLICY,
    SOFTMAX,
    WORLD,
    Check,
    Scenario,
    Timing,
    World,
)
from conformance.vectors.vector import Vector
from spec import AnytimeValid, Candidate, Failure, FailureKind, Invalidated, Policy
from spec.problem import Problem

UNSUPPORTED: Final = Failure(FailureKind.UNSUPPORTED, "no-kernel", "needs a newer device")
TRANSIENT: Final = Failure(FailureKind.TRANSIENT, "timeout", "1000 ms")
REJECTED: Final = Failure(FailureKind.REJECTED, "wrong-output", "output 0: 3 of 8 differ")
CRASHED: Final = Failure(FailureKind.CRASHED, "signal-11")
DEVICE: Final = Failure(FailureKind.DEVICE, "device-lost")
WORSE: Final[dict[str, Timing]] = {"slower": 3000, "slowest": 4000}
WAIVED: Final = evolve(POLICY, require_validation=False)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the group "search"."""
    return (*_course(), *_reference(), *_candidates(), *_limits(), *_budget())


def searched(
    times: dict[str, Timing],
    checks: dict[str, Check] | None = None,
    policy: Policy = POLICY,
    candidates: tuple[Candidate, ...] = CANDIDATES,
    reference: int = 0,
    problem: Problem = SOFTMAX,
) -> Scenario:
    """Return a scenario with one search from beginning to end."""
    world = World({**WORLD.times, **times}, checks or {})
    return Scenario(policy, world).decide(problem, candidates, reference)


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
        f"selection/search/{name}", comment, *answers, holds=holds, breaks=breaks, flags=flags
    )


def _course() -> tuple[Vector, ...]:
    seeded = Scenario(evolve(POLICY, seed=1)).decide()
    tolerant = Scenario(evolve(POLICY, seed=2**53 - 1)).decide()
    middle = Scenario().decide(candidates=(CANDIDATES[1], CANDIDATES[0], CANDIDATES[2]),
                               reference=1)  # fmt: skip
    last = Scenario().decide(candidates=(CANDIDATES[2], CANDIDATES[1], CANDIDATES[0]),
                             reference=2)  # fmt: skip
    warm = Scenario(evolve(POLICY, warmups=3)).decide()
    cold_first = searched({"fast": (90_000, *(500,) * 6), "slow": 2000})
    anytime = Scenario(evolve(POLICY, evidence=AnytimeValid())).decide(candidates=CANDIDATES[:2])
    unsaved = (
        Scenario()
        .decide(evolve(SOFTMAX, persistent=False))
        .decide(evolve(SOFTMAX, persistent=False))
    )
    return (
        _one("in-full", "Reference: warm-up, validation against itself, baseline. Each candidate: "
             "warm-up, validation, then blocks of four with the reference.",
             Scenario().decide(), "tuned fast", holds="S6 S7 E3"),
        _one("another-seed", "The seed decides who stands outside in each block.", seeded,
             "tuned fast", holds="S6 E3 S13"),
        _one("largest-seed", "2**53 - 1 as a seed.", tolerant, "tuned fast", holds="S6 E3 S13",
             flags="boundary"),
        _one("reference-in-the-middle", "The reference is measured first wherever it stands; the "
             "others follow in their order.", middle, "tuned fast", holds="S6", flags="order"),
        _one("reference-last", "The same with the reference last.", last, "tuned fast",
             holds="S6", flags="order"),
        _one("three-warm-ups", "Three unscored measurements of every candidate.", warm,
             "tuned fast", holds="S6", flags="policy"),
        _one("slow-first-call", "90 us for the first call are a warm-up's business, not the "
             "ratio's.", cold_first, "tuned fast", holds="S6 S7"),
        _one("anytime-valid", "The sequential rule promotes after 8 blocks won in a row.",
             anytime, "tuned fast", holds="S6 E4"),
        _one("not-persistent", "Nothing is loaded and nothing saved, but memory remembers.",
             unsaved, "tuned fast", "memory fast", holds="S6 S3"),
    )  # fmt: skip


def _reference() -> tuple[Vector, ...]:
    def again(scenario: Scenario) -> Scenario:
        scenario.ask()
        return scenario

    zero = searched({"reference": (1000, 0)})
    transient = searched({"reference": TRANSIENT})
    transient.pass_time(seconds=POLICY.retry_after_s).pass_time(-1)
    transient.ask()
    transient.pass_time(1)
    transient.world = WORLD
    transient.decide()
    return (
        _one("reference-disagrees-with-itself", "A reference that differs from itself can verify "
             "nothing: bypassed for as long as the key is held.",
             again(searched({}, {"reference": REJECTED})), "bypassed reference",
             "bypassed reference", breaks="S6", holds="S8", flags="verification"),
        _one("reference-unverifiable", "Outputs of a type that nobody can compare: bypassed.",
             again(searched({}, {"reference": "opaque type"})), "bypassed reference",
             "bypassed reference", breaks="S6", flags="verification"),
        _one("reference-unverifiable-where-waived", "Where validation is waived the search goes "
             "on.", searched({}, {"reference": "opaque type"}, WAIVED), "tuned fast",
             holds="S6", flags="verification policy"),
        _one("reference-unsupported", "It cannot be measured: bypassed, nothing remembered on "
             "disk.", again(searched({"reference": UNSUPPORTED})), "bypassed reference",
             "bypassed reference", breaks="S6", holds="S8"),
        _one("reference-crashed", "The reference crashed in isolation: bypassed.",
             again(searched({"reference": CRASHED})), "bypassed reference",
             "bypassed reference", breaks="S6", holds="S8"),
        _one("reference-timed-out", "What may pass is looked at again after retry_after_s: "
             "bypassed 1 ns before, searched at that moment.", transient, "bypassed reference",
             "bypassed reference", "tuned fast", breaks="S6", holds="S8",
             flags="boundary clock"),
        _one("reference-on-a-lost-device", "The device is in doubt, the reference with it: a "
             "failure, no fallback.", again(searched({"reference": DEVICE})),
             "device device-lost", "quarantined quarantined", breaks="S6", holds="S8",
             flags="device"),
        _one("reference-takes-no-time", "0 ns: a clock too coarse. Bypassed.", again(zero),
             "bypassed reference", "bypassed reference", breaks="S6", flags="boundary clock"),
        _one("warm-up-takes-no-time", "0 ns in a warm-up is not scored and does not matter.",
             searched({"reference": (0, *(1000,) * 12)}), "tuned fast", holds="S6",
             flags="boundary clock"),
        _one("baseline-fails", "It worked once and fails when timed.",
             searched({"reference": (1000, UNSUPPORTED)}), "bypassed reference", breaks="S6"),
    )  # fmt: skip


def _candidates() -> tuple[Vector, ...]:
    beside = searched({"reference": (1000, 1000, 1000, TRANSIENT, *(1000,) * 6)})
    no_time = searched({"fast": (500, 0)}, policy=evolve(POLICY, ttl_s=10))
    no_time.world = WORLD
    no_time.pass_time(seconds=10).decide()
    mid_block = searched({"fast": (500, 500, 500, UNSUPPORTED)})
    return (
        _one("candidate-fails-warm-up", "The next one gets its turn.",
             searched({"fast": UNSUPPORTED, "slow": 700}), "tuned slow", holds="S6 S8"),
        _one("candidate-fails-mid-block", "Half a block is no evidence.", mid_block,
             "tuned reference", holds="S6 S8"),
        _one("candidate-wrong", "Its outputs differ: rejected before it is timed.",
             searched({}, {"fast": REJECTED}), "tuned reference", breaks="S7", holds="S6 S8",
             flags="verification"),
        _one("candidate-unverifiable", "Outputs that nobody can compare are never passed.",
             searched({}, {"fast": "opaque type"}), "tuned reference", breaks="S7", holds="S6",
             flags="verification"),
        _one("candidate-unverifiable-where-waived", "Waived: measured and promoted, unverified.",
             searched({}, {"fast": "opaque type"}, WAIVED), "tuned fast", holds="S7",
             flags="verification policy"),
        _one("candidate-takes-no-time", "A paired measurement of 0 ns is no ratio.",
             searched({"fast": (500, 0)}), "tuned reference", breaks="S7", flags="boundary clock"),
        _one("candidate-that-took-no-time-is-tried-again", "It is not excluded: when the "
             "decision's time is up it is tried again, and wins.", no_time, "tuned reference",
             "tuned fast", breaks="S8", flags="boundary clock bans"),
        _one("reference-takes-no-time-beside-it", "0 ns for the reference in a block.",
             searched({"reference": (1000, 1000, 0, 1000), "slow": 100}), "tuned reference",
             breaks="S7", flags="boundary clock"),
        _one("reference-fails-beside-it", "The reference worked alone and fails in this block: "
             "nobody knows whose fault it is, so the candidate is out for a while only, and the "
             "decision is incomplete.", beside, "tuned reference", holds="S6 S8"),
        _one("all-fail", "Nobody is left: the reference, decided but not saved, since no "
             "candidate was measured to a verdict.",
             searched({"fast": UNSUPPORTED, "slow": CRASHED}), "tuned reference", breaks="S7",
             holds="S8"),
        _one("device-lost-in-a-block", "The search ends with a failure; the rest is not tried.",
             searched({"fast": (500, 500, DEVICE)}), "device device-lost", breaks="S6",
             holds="S8", flags="device"),
        _one("device-lost-while-validating", "The same in a validation.",
             searched({}, {"fast": DEVICE}), "device device-lost", breaks="S6", holds="S8",
             flags="device"),
    )  # fmt: skip


def _limits() -> tuple[Vector, ...]:
    sized = (Candidate("reference"), Candidate("fast", 101), Candidate("slow", 100))
    unknown = (Candidate("reference"), Candidate("fast", None), Candidate("slow", 100))
    hopeless = (CANDIDATES[0], Candidate("fast", ineligible="needs tensor cores"), CANDIDATES[2])
    limited = evolve(POLICY, max_workspace_bytes=100)
    quick: dict[str, Timing] = {"slow": 700}
    return (
        _one("only-the-reference", "One candidate: measured, remembered, not saved.",
             Scenario().decide(candidates=CANDIDATES[:1]), "tuned reference", holds="S6",
             breaks="S8", flags="boundary"),
        _one("limit-of-one", "max_candidates counts the reference: with 1 nothing else is tried.",
             Scenario(evolve(POLICY, max_candidates=1)).decide(), "tuned reference",
             breaks="S6", flags="boundary policy"),
        _one("limit-of-two", "With 2 the first candidate is tried; the second is skipped and the "
             "decision is incomplete.", Scenario(evolve(POLICY, max_candidates=2)).decide(),
             "tuned fast", breaks="S6", flags="boundary policy"),
        _one("limit-met-exactly", "Three candidates under a limit of 3: complete.",
             Scenario(evolve(POLICY, max_candidates=3)).decide(), "tuned fast", holds="S6",
             flags="boundary policy"),
        _one("over-workspace", "101 bytes under a limit of 100: passed over, and complete all "
             "the same.", searched(quick, policy=limited, candidates=sized), "tuned slow",
             breaks="S6", flags="boundary workspace"),
        _one("unknown-workspace", "A need that nobody knows is not tried under a limit.",
             searched(quick, policy=limited, candidates=unknown), "tuned slow", breaks="S6",
             flags="workspace"),
        _one("unknown-workspace-without-limit", "Without a limit it is.",
             searched(quick, candidates=unknown), "tuned fast", holds="S6", flags="workspace"),
        _one("ineligible", "A candidate that a rule excludes is not tried, and does not count "
             "against the limit.",
             searched(quick, policy=evolve(POLICY, max_candidates=2), candidates=hopeless),
             "tuned slow", breaks="S6"),
    )  # fmt: skip


def _budget() -> tuple[Vector, ...]:
    """Measuring takes time: the reference 3 times 1000 ns, and so on; the budget is exact."""

    def within(budget_ns: int, **times: Timing) -> Scenario:
        return searched(dict(times), policy=evolve(POLICY, budget_ns=budget_ns))

    # The reference's warm-up and baseline take 2000 ns; a candidate of 500 ns takes 500 for its
    # warm-up and 3 blocks of 2 * (500 + 1000): 9500 ns in all, 11500 with the reference.
    late = searched({"reference": (5000, 5000)}, policy=evolve(POLICY, budget_ns=4000))
    return (
        _one("budget-ends-before-any-verdict", "2000 ns go to the reference; the candidates are "
             "skipped. Nothing is known, so the key is bypassed for a while.",
             within(2000), "bypassed reference", breaks="S6", flags="boundary clock"),
        _one("budget-cuts-a-warm-up", "The candidate's warm-up ends at 2500 ns, which is the end "
             "of the budget.", within(2500), "bypassed reference", breaks="S6",
             flags="boundary clock"),
        _one("budget-cuts-the-last-block", "The last measurement ends at 11500 ns, exactly the "
             "budget: cut, unfinished, not promoted.", within(11_500), "bypassed reference",
             breaks="S6 S7", flags="boundary clock"),
        _one("verdict-one-nanosecond-in-time", "One nanosecond more: a verdict, and a decision "
             "that is incomplete since the last candidate was not tried to the end.",
             within(11_501), "tuned fast", holds="S7", breaks="S6", flags="boundary clock"),
        _one("budget-outlasts-the-search", "Both candidates get their verdicts.",
             within(40 * MILLISECOND), "tuned fast", holds="S6"),
        _one("reference-overruns", "The reference alone takes longer than the budget: it is "
             "measured to the end, and nothing else is.", late, "bypassed reference",
             breaks="S6", flags="clock"),
        _one("budget-of-one-nanosecond", "The smallest budget.", within(1),
             "bypassed reference", breaks="S6", flags="boundary policy"),
        *_turns(),
        _one("bypass-for-budget-ends", "Looked at again after retry_after_s, counted from the "
             "end of the search.", _retried(), "bypassed reference", "bypassed reference",
             "bypassed reference", breaks="S6", flags="boundary clock"),
    )  # fmt: skip


def _turns() -> tuple[Vector, ...]:
    """Five candidates: the budget is shared, and a turn may take up to twice its share."""
    names = ("reference", "stubborn", "fast", "slow", "last")
    five = tuple(Candidate(name) for name in names)
    slow: dict[str, Timing] = {"stubborn": 20_000, "last": 900}
    tight = evolve(POLICY, budget_ns=102_000)
    late = Failure(FailureKind.TRANSIENT, "timeout", "cut by the deadline")
    anytime = evolve(POLICY, evidence=AnytimeValid(), budget_ns=10**9)
    # With 4 candidates W must reach 400: 9 wins make 304, 10 make 593.
    return (
        _one("turn-is-cut", "Of 102000 ns the reference takes 2000; 4 turns are left, so the "
             "first may take 2 * 100000 / 4 = 50000 ns. It is cut, and the others get theirs.",
             searched(slow, policy=tight, candidates=five), "tuned fast", breaks="S6",
             holds="S7", flags="clock boundary"),
        _one("turn-of-a-limit", "With max_candidates 2 there is one turn: it may take all.",
             searched(slow, policy=evolve(tight, max_candidates=2, budget_ns=300_000),
                      candidates=five), "tuned reference", breaks="S7", holds="S6",
             flags="clock boundary"),
        _one("unfit-has-no-share", "Two of five cannot be tried, so 2 turns are left, and the "
             "first may take all of 100000 ns. It takes 76000 to its verdict; a share of 4 turns "
             "would have cut it at 50000, and left the search incomplete.",
             searched({"stubborn": 10_000}, policy=tight, candidates=_two_unfit()), "tuned fast",
             breaks="S6", holds="S7", flags="clock boundary"),
        _one("timeout-at-the-end-of-a-turn", "A transient failure at or past the turn's end is "
             "a cut and excludes nobody.", _timed_out(five, late), "tuned fast",
             "tuned stubborn", breaks="S6", holds="S8", flags="clock boundary"),
        _one("wrong-at-the-end-of-a-turn", "Any other failure counts as such, however late: "
             "excluded.", _timed_out(five, REJECTED), "tuned fast", "tuned fast", holds="S8",
             breaks="S6", flags="clock boundary bans"),
        _one("rate-is-shared", "Four candidates share a rate of 1/100: at 1/400 eight wins are "
             "not enough, and nine neither; ten are.",
             searched(dict(WORSE), policy=anytime, candidates=_four()), "tuned fast", holds="E5 S6",
             flags="boundary exact"),
        _one("rate-is-not-shared-by-the-reference", "With one candidate the rate is 1/100, and "
             "eight wins are enough.",
             searched({}, policy=anytime, candidates=CANDIDATES[:2]), "tuned fast",
             holds="E5 S6", flags="boundary exact"),
        _one("rate-is-shared-by-the-limit", "max_candidates 2 leaves one to share it.",
             searched(dict(WORSE), policy=evolve(anytime, max_candidates=2), candidates=_four()),
             "tuned fast", holds="E5", breaks="S6", flags="boundary exact"),
    )  # fmt: skip


def _two_unfit() -> tuple[Candidate, ...]:
    return (
        Candidate("reference"),
        Candidate("stubborn"),
        Candidate("barred", ineligible="not on this device"),
        Candidate("fast"),
        Candidate("barred too", ineligible="not on this device"),
    )


def _four() -> tuple[Candidate, ...]:
    return (*CANDIDATES, Candidate("slower"), Candidate("slowest"))


def _timed_out(candidates: tuple[Candidate, ...], failure: Failure) -> Scenario:
    """Time runs out in the first turn; then the decision is taken back, and all is searched."""
    times: dict[str, Timing] = {**WORLD.times, "stubborn": failure, "last": 900}
    scenario = Scenario(evolve(POLICY, budget_ns=102_000), World(times))
    number = scenario.ask(candidates=candidates)
    scenario.finish(number, 4).pass_time(50_000)
    scenario.finish(number)
    scenario.world = World({**times, "stubborn": 400})
    scenario.tell(
        Invalidated(scenario.now, scenario.key, "fast", "reference", False, "to look again")
    )
    return scenario.decide(candidates=candidates)


def _retried() -> Scenario:
    scenario = searched({}, policy=evolve(POLICY, budget_ns=2000, retry_after_s=5))
    scenario.pass_time(-1, seconds=5)
    scenario.ask()
    scenario.pass_time(1)
    return scenario.decide()
