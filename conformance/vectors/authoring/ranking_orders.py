"""Questions about history, terms, order and doubt (R4 to R14)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from immutables import Map

from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.authoring.sample_kernels import (
    DAY,
    HISTORY,
    INPUTS,
    A,
    B,
    C,
    kernel,
)
from conformance.vectors.questions.ranking import (
    HALF_LIFE,
    RANK,
    USAGE,
    Elapsed,
    RankQuestion,
    Try,
    UsageQuestion,
)
from conformance.vectors.vector import Vector
from spec.ranking import (
    Characteristics,
    Constraints,
    Estimate,
    Kernel,
    KernelInputs,
    RankingPolicy,
    RankingRequest,
    SizeRange,
    Weights,
)

USUAL: Final = RankingPolicy()


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about order."""
    return (
        *_half_lives(),
        *_usages(),
        *_terms(),
        *_orders(),
        *_doubts(),
    )


def _half_lives() -> tuple[Vector, ...]:
    def left(name: str, comment: str, elapsed_ns: int, half_life_ns: int, *, gone: bool = False
             ) -> Vector:  # fmt: skip
        return question(f"ranking/half-life/{name}", HALF_LIFE,
                        Elapsed(elapsed_ns, half_life_ns), comment,
                        holds="" if gone else "R8", breaks="R8" if gone else "",
                        flags="exact boundary")  # fmt: skip

    week = 7 * DAY
    return (
        left("none", "Just used: 1.", 0, 1000),
        left("one", "One half-life: exactly 1/2.", 1000, 1000),
        left("two", "Two: 1/4.", 2000, 1000),
        left("half", "Half a half-life: (6 - 2 + 1/4)/6 = 17/24.", 500, 1000),
        left("one-and-a-half", "Half of that: 17/48.", 1500, 1000),
        left("one-nanosecond", "(6*10^6 - 4000 + 1)/(6*10^6).", 1, 1000),
        left("one-nanosecond-short", "999 of 1000.", 999, 1000),
        left("a-third", "(6 - 4/3 + 1/9)/6 = 43/54.", 1, 3),
        left("week", "Seven days at the default.", week, week),
        left("day-of-a-week", "One day of seven.", DAY, week),
        left("sixty-three", "63 half-lives: 2^-63.", 63_000, 1000),
        left("last-before-nothing", "One nanosecond before 64.", 63_999, 1000),
        left("sixty-four", "64 half-lives leave nothing.", 64_000, 1000, gone=True),
        left("long-gone", "A million.", 10**9, 1000, gone=True),
        left("clock-went-back", "A use in the future counts as now.", -5, 1000),
        raw_question("ranking/half-life/of-nothing", HALF_LIFE.name,
                     {"elapsed_ns": 1, "half_life_ns": 0}, "A half-life of 0 ns.", breaks="R8",
                     flags="boundary"),
    )  # fmt: skip


def _tried(*latencies: int | None, name: str = "a", at_ns: int = 0) -> tuple[Try, ...]:
    return tuple(Try("w", name, latency, at_ns) for latency in latencies)


def _usages() -> tuple[Vector, ...]:
    def usage(
        name: str,
        comment: str,
        tries: Sequence[Try],
        now_ns: int = 0,
        kernel_id: str = "a",
        *,
        known: bool = True,
    ) -> Vector:
        asked = UsageQuestion(HISTORY, tuple(tries), "w", kernel_id, now_ns)
        return question(f"ranking/usage/{name}", USAGE, asked, comment,
                        holds="R14" if known else "", breaks="" if known else "R14",
                        flags="exact boundary")  # fmt: skip

    five = [Try("w", one, 10, 0) for one in "abcde"]
    return (
        usage("nothing", "Never tried.", (), known=False),
        usage("one", "One latency: variance 0.", _tried(100)),
        usage("two", "1 and 2: mean 3/2, rounded up to 2; variance 1/4, deviation 1/2, rounded "
              "up to 1.", _tried(1, 2)),
        usage("three", "1, 2, 4: mean 7/3 rounds to 2; variance 14/9; deviation 1.247 rounds "
              "to 1.", _tried(1, 2, 4)),
        usage("mean-is-not-the-last", "100, 100, 1: mean 67.", _tried(100, 100, 1)),
        usage("failures-count-as-tries", "Two failures, one success.", _tried(None, 50, None)),
        usage("only-failures", "No latency, no mean.", _tried(None, None)),
        usage("large", "Sums of squares beyond 2**53.", _tried(10**12, 10**12 + 1, 10**12 + 5)),
        usage("at-the-end-of-retention", "8000 ns of 8000: eight half-lives leave 1/256.",
              _tried(100), 8000),
        usage("after-retention", "8001 ns: forgotten.", _tried(100), 8001, known=False),
        usage("afresh-after-retention", "What is forgotten is not added to.",
              (*_tried(100), *_tried(300, at_ns=8001)), 8001),
        usage("kept-by-use", "A use at 8000 ns keeps the first.",
              (*_tried(100), *_tried(300, at_ns=8000)), 8001),
        usage("in-the-future", "A use after now counts as just used.", _tried(100, at_ns=50), 0),
        usage("first-in-first-out", "Five kernels in room for four: the first is gone.", five,
              known=False),
        usage("second-stays", "The second is not.", five, kernel_id="b"),
        usage("using-does-not-keep", "A second use does not make a kernel younger.",
              [*five[:4], Try("w", "a", 20, 0), five[4]], known=False),
        usage("another-workload", "A latency at one workload says nothing about another.",
              [Try("other", "a", 10, 0)], known=False),
    )  # fmt: skip


def _question(
    kernels: Sequence[Kernel],
    tries: Sequence[Try] = (),
    default_id: str | None = None,
    *,
    now_ns: int = 0,
    estimates: dict[str, tuple[int, int]] | None = None,
    served: str | None = None,
    expected_calls: int = 1,
    inputs: KernelInputs = INPUTS,
    policy: RankingPolicy = USUAL,
) -> RankQuestion:
    request = RankingRequest(
        "softmax",
        "cpu",
        "w",
        inputs,
        now_ns,
        Map({name: Estimate(*one) for name, one in (estimates or {}).items()}),
        served,
        expected_calls,
    )
    return RankQuestion(tuple(kernels), default_id, tuple(tries), HISTORY, request, policy)


def _rank(
    name: str,
    comment: str,
    asked: RankQuestion,
    *,
    holds: str = "",
    breaks: str = "",
    flags: str = "exact",
) -> Vector:
    return question(f"ranking/{name}", RANK, asked, comment, holds=holds, breaks=breaks,
                    flags=flags)  # fmt: skip


def _terms() -> tuple[Vector, ...]:
    slow_start = Characteristics(initialisation_ns=900)
    ranged = Characteristics(optimal_size=SizeRange(1024, 2048), cache_efficiency=Fraction(4, 5))
    small = Characteristics(optimal_size=SizeRange(0, 256), cache_efficiency=Fraction(4, 5))
    inside = Characteristics(optimal_size=SizeRange(512, 512), cache_efficiency=Fraction(4, 5))
    estimates = {"a": (10**6, 2**20), "b": (500_000, 2**22)}
    starting = kernel("a", characteristics=slow_start)
    return (
        _rank("terms/nothing-known", "Every term is neutral.", _question((A,)),
              breaks="R4 R5 R7", holds="R10"),
        _rank("terms/estimate-of-one-unit", "1 ms at a unit of 1 ms: 1/2. 1 MiB: 1/2.",
              _question((A, B), estimates=estimates), holds="R4 R5"),
        _rank("terms/relative-to-the-default", "The default's latency is the unit: b takes half "
              "of it, 2/3.", _question((A, B), default_id="a", estimates=estimates),
              holds="R4 R5"),
        _rank("terms/measured-before-estimated", "A measured mean of 200 replaces the estimate.",
              _question((A, B), _tried(100, 300), "b", estimates=estimates), holds="R4 R14"),
        _rank("terms/failure-is-no-latency", "Failures leave the estimate.",
              _question((A, B), _tried(None), "b", estimates=estimates), holds="R4",
              breaks="R7"),
        _rank("terms/initialisation", "900 ns are spread over 9 calls: 100 + 100.",
              _question((starting, B), (*_tried(100), *_tried(100, name="b")), "b",
                        expected_calls=9), holds="R4"),
        _rank("terms/served-is-initialised", "The served kernel has paid already.",
              _question((starting, B), (*_tried(100), *_tried(100, name="b")), "b",
                        served="a", expected_calls=9), holds="R4 R9"),
        _rank("terms/small-memory-is-no-reason", "The least unit is 1 MiB.",
              _question((A, B), default_id="a", estimates={"a": (1, 10), "b": (1, 0)}),
              holds="R5", flags="boundary exact"),
        _rank("terms/default-of-much-memory", "The default's 4 MiB are the unit.",
              _question((A, B), default_id="b", estimates=estimates), holds="R5"),
        _rank("terms/cache-below", "512 of 1024 bytes: 4/5 * 1/2.",
              _question((kernel("a", characteristics=ranged),)), breaks="R6"),
        _rank("terms/cache-above", "256 of 512 bytes: 4/5 * 1/2.",
              _question((kernel("a", characteristics=small),)), breaks="R6"),
        _rank("terms/cache-inside", "Both ends belong to the range.",
              _question((kernel("a", characteristics=inside),)), holds="R6",
              flags="boundary exact"),
        _rank("terms/cache-of-nothing", "An optimal range up to 0 bytes leaves 0.",
              _question((kernel("a", characteristics=Characteristics(
                  optimal_size=SizeRange(0, 0))),)), breaks="R6", flags="boundary exact"),
        _rank("terms/old-success", "A success one half-life old: 1/2 + 1/2 * 1/2.",
              _question((A,), _tried(100), now_ns=1000), holds="R7 R8"),
        _rank("terms/old-failure", "A failure one half-life old: 1/2 - 1/2 * 1/2.",
              _question((A,), _tried(None), now_ns=1000), holds="R7 R8"),
        _rank("terms/mixed-history", "Two of three: 1/2 + 1/6.",
              _question((A,), _tried(100, None, 100)), holds="R7"),
        _rank("terms/switching", "Replacing what is served costs its term.",
              _question((A, B), served="b"), holds="R9", breaks="R9"),
        _rank("terms/nothing-served", "Nothing is replaced.", _question((A, B)), holds="R9"),
        _rank("terms/served-unknown-kernel", "What is served is none of these.",
              _question((A, B), served="z"), breaks="R9"),
        _rank("terms/other-weights", "Only the time counts.",
              _question((A, B), default_id="a", estimates=estimates, policy=RankingPolicy(
                  weights=Weights(Fraction(1), Fraction(0), Fraction(0), Fraction(0),
                                  Fraction(0)))), holds="R10"),
    )  # fmt: skip


def _orders() -> tuple[Vector, ...]:
    no_exploration = RankingPolicy(exploration=Fraction(0))
    only_exploration = RankingPolicy(exploration=Fraction(1))
    faster_b = (*_tried(100, 100), *_tried(50, 50, name="b"))
    wants_half = Constraints(frozenset({"float16"}))
    return (
        _rank("order/ties-by-id", "Equal priorities: by id, whatever the order they came in.",
              _question((C, A, B)), holds="R12", flags="ties order"),
        _rank("order/ties-default-first", "Equal priorities: the default first.",
              _question((C, A, B), default_id="c"), holds="R12", flags="ties order"),
        _rank("order/by-priority", "The faster one first.", _question((A, B), faster_b),
              holds="R12", breaks="R12"),
        _rank("order/exploration", "The one never tried gets 1/10 of a whole, the others of a "
              "third.", _question((A, B, C), faster_b), holds="R11"),
        _rank("order/no-exploration", "At 0 only the score counts.",
              _question((A, B, C), faster_b, policy=no_exploration), breaks="R11",
              flags="boundary exact"),
        _rank("order/only-exploration", "At 1 only the number of tries counts.",
              _question((A, B, C), (*faster_b, *_tried(50, name="b")),
                        policy=only_exploration), holds="R11", flags="boundary exact"),
        _rank("order/excluded", "Who can't run is left out, with reasons.",
              _question((A, kernel("b", wants_half), C)), holds="R12 R3"),
        _rank("order/nobody", "Nobody can run.", _question((kernel("b", wants_half),)),
              breaks="R12 R3", flags="empty"),
        _rank("order/nothing-registered", "Nobody is there.", _question(()), breaks="R12",
              flags="empty"),
        _rank("order/default-cannot-run", "A default that can't run sets no unit and gets no "
              "place.", _question((A, kernel("b", wants_half), C), default_id="b"),
              holds="R12", breaks="R13"),
        _rank("order/unicode", "Ids by code point.",
              _question((kernel("\U0001f600"), kernel("\ufb33"), kernel("a"))), holds="R12",
              flags="unicode ties"),
    )  # fmt: skip


def _doubts() -> tuple[Vector, ...]:
    four = (*_tried(100, 100, 100, 100), *_tried(50, 50, 50, 50, name="b"))
    three = (*_tried(100, 100, 100, 100), *_tried(50, 50, 50, name="b"))
    trusting = RankingPolicy(minimum_confidence=Fraction(0))
    strict = RankingPolicy(minimum_confidence=Fraction(1))
    flawed = (*_tried(100), *_tried(50, 50, 50, 50, 50, None, name="b"))
    return (
        _rank("doubt/four-successes", "4/(4+1) = 4/5, the minimum: the faster one first.",
              _question((A, B), four, "a"), holds="R13", flags="boundary exact"),
        _rank("doubt/three-successes", "3/4 is under it: the default first, for that reason.",
              _question((A, B), three, "a"), breaks="R13", flags="boundary exact"),
        _rank("doubt/without-default", "Without a default there is nothing to fall back on.",
              _question((A, B), three), holds="R13"),
        _rank("doubt/default-is-first-anyway", "The default leads by its score.",
              _question((A, B), three, "b"), holds="R13"),
        _rank("doubt/trusting", "A minimum of 0 trusts everybody.",
              _question((A, B), (), "b", policy=trusting, estimates={"a": (1, 0)}), holds="R13",
              flags="boundary"),
        _rank("doubt/strict", "A minimum of 1 trusts nobody.",
              _question((A, B), four, "a", policy=strict), breaks="R13", flags="boundary"),
        _rank("doubt/old-successes", "Four successes one half-life old: 2/(2+1) = 2/3.",
              _question((A, B), four, "a", now_ns=1000), breaks="R13 R8"),
        _rank("doubt/one-failure", "5 of 6: 5/7.", _question((A, B), flawed, "a"),
              breaks="R13"),
        _rank("doubt/never-tried", "A good estimate is no confidence.",
              _question((A, B), (), "a", estimates={"b": (1, 0), "a": (1000, 0)}),
              breaks="R13"),
        _rank("doubt/others-keep-their-order", "Only the default moves.",
              _question((A, B, C), (), "c", estimates={"b": (1, 0), "a": (2, 0), "c": (9, 0)}),
              breaks="R13", flags="order"),
    )  # fmt: skip
