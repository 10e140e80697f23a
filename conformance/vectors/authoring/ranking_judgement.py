"""Questions about how good an order was (R15 to R17)."""

from collections.abc import Sequence
from fractions import Fraction

from immutables import Map

from conformance.vectors.authoring.question import question, raw_question
from conformance.vectors.questions.ranking import (
    BEST,
    HINDSIGHT,
    SELECTIONS,
    Benchmark,
    Choice,
    Selections,
)
from conformance.vectors.vector import Vector
from spec.ranking import (
    BenchmarkResult,
)


def vectors() -> tuple[Vector, ...]:
    """Return the vectors of the groups about judgement."""
    return (
        *_benchmarks(),
        *_hindsights(),
        *_selections(),
    )


def _benchmarks() -> tuple[Vector, ...]:
    def best(name: str, comment: str, *results: BenchmarkResult, workload: str = "w",
             found: bool = True) -> Vector:  # fmt: skip
        return question(f"ranking/benchmark/{name}", BEST, Benchmark(results, workload), comment,
                        holds="R15" if found else "", breaks="" if found else "R15",
                        flags="exact")  # fmt: skip

    def result(name: str, *latencies: int, workload: str = "w", moved: int = 0
               ) -> BenchmarkResult:  # fmt: skip
        return BenchmarkResult(name, workload, latencies, bytes_moved=moved)

    return (
        best("one", "1, 2, 3: mean 2, deviation sqrt(2/3) rounds to 1.", result("a", 1, 2, 3)),
        best("halves-up", "1 and 2: mean 3/2 rounds up to 2, deviation 1/2 rounds up to 1.",
             result("a", 1, 2)),
        best("throughput", "Exact: 3 * 10^9 / 10.", result("a", 3, 3, 4, moved=7)),
        best("smaller-mean", "By exact mean: 10/3 beats 7/2.", result("a", 3, 4),
             result("b", 3, 3, 4)),
        best("ties-by-id", "Equal means: the smaller id.", result("b", 5), result("a", 4, 6)),
        best("other-workload", "Results of other workloads don't count.",
             result("a", 1, workload="other"), result("b", 9)),
        best("none", "No result of that workload.", result("a", 1), workload="x", found=False),
        best("two-of-one-kernel", "Two results of one kernel.", result("a", 1), result("a", 2),
             found=False),
        raw_question("ranking/benchmark/no-success", BEST.name, {
            "results": [{"kernel_id": "a", "workload": "w", "latencies_ns": []}],
            "workload": "w"}, "There is no result without a success.", breaks="R15",
            flags="empty"),
        raw_question("ranking/benchmark/zero-latency", BEST.name, {
            "results": [{"kernel_id": "a", "workload": "w", "latencies_ns": [0]}],
            "workload": "w"}, "A latency of 0 ns.", breaks="R15", flags="boundary"),
    )  # fmt: skip


def _choice(chosen: str, margin: Fraction = Fraction(1, 20), **measured_ns: int) -> Choice:
    return Choice(chosen, Map(measured_ns), margin)


def _hindsights() -> tuple[Vector, ...]:
    def judged(name: str, comment: str, choice: Choice, *, clear: bool = True, flags: str = "exact"
               ) -> Vector:  # fmt: skip
        return question(f"ranking/hindsight/{name}", HINDSIGHT, choice, comment,
                        holds="R16" if clear else "", breaks="" if clear else "R16",
                        flags=flags)  # fmt: skip

    return (
        judged("best", "Nothing better was measured: regret 0.", _choice("a", a=100, b=200)),
        judged("twice-as-slow", "Regret 1.", _choice("b", a=100, b=200)),
        judged("at-the-margin", "105 against 100: 1/20, accurate.", _choice("b", a=100, b=105),
               flags="boundary exact"),
        judged("over-the-margin", "106 against 100.", _choice("b", a=100, b=106),
               flags="boundary exact"),
        judged("ppm-rounded-up", "4 against 3: 333333.3 ppm, rounded up to 333334.",
               _choice("b", a=3, b=4)),
        judged("equal", "Among equals the chosen one is best.", _choice("b", a=100, b=100),
               flags="ties"),
        judged("equal-others", "Among equal others the smaller name.",
               _choice("c", a=100, b=100, c=101), flags="ties"),
        judged("alone", "Nothing else was measured: neither right nor wrong.",
               _choice("a", a=100), clear=False, flags="empty"),
        judged("nothing-measured", "Nothing at all.", _choice("a"), clear=False, flags="empty"),
        judged("only-another", "Another was measured, the chosen one was not.",
               _choice("a", b=100), clear=False, flags="trust"),
        judged("zero", "0 ns is no latency.", _choice("a", a=100, b=0), clear=False,
               flags="boundary"),
        judged("negative-margin", "A margin under 0.",
               _choice("a", Fraction(-1, 20), a=100, b=200), clear=False, flags="boundary"),
        judged("margin-zero", "No margin: 101 against 100 is inaccurate.",
               _choice("b", Fraction(0), a=100, b=101), flags="boundary exact"),
    )  # fmt: skip


def _selections() -> tuple[Vector, ...]:
    def told(name: str, comment: str, selected: str, judged: Sequence[Choice], limit: int = 10,
             *, counts: bool = True) -> Vector:  # fmt: skip
        asked = Selections(tuple(selected.split()), tuple(judged), limit)
        return question(f"ranking/statistics/{name}", SELECTIONS, asked, comment,
                        holds="R17" if counts else "", breaks="" if counts else "R17",
                        flags="exact")  # fmt: skip

    good, bad = _choice("a", a=100, b=200), _choice("b", a=3, b=4)
    return (
        told("nothing", "Accuracy of nothing is no number.", "", (), counts=False),
        told("popular", "By count, then by id.", "b a c b a d", ()),
        told("popular-limited", "The first two.", "b a c b a d", (), 2),
        told("popular-none", "None.", "b a", (), 0),
        told("judged", "One right, one wrong: accuracy 1/2, mean regret 333334/2 ppm.", "a b",
             (good, bad)),
        told("unjudged-is-neither", "An unjudged choice is neither hit nor miss.", "a b",
             (good, _choice("a", a=1))),
        told("more-judged-than-selected", "Nobody judges what was not selected.", "a",
             (good, bad), counts=False),
        told("ids-by-code-point", "Equal counts: Z before a.", "a Z \u00e9", ()),
    )  # fmt: skip
