"""The truth under load: the same as `truth` while another process keeps one core busy.

The regret is against the truth under that load. Then the load ends, and chosen plan and reference
are timed alone again, in pairs: a promotion that is wrong on the idle machine must be caught by the
regression rule that watches a served decision (S10).
"""

import sys
from functools import partial
from typing import Any, Final

from benchmarks.measuring.alone import Alone, means, rounds
from benchmarks.measuring.cases import Case, zoo_cases
from benchmarks.measuring.choosing import tuned
from benchmarks.measuring.results import Results, Row, arguments, table
from benchmarks.noise.competitor import competitor
from benchmarks.truth.case import LEAST_ROUNDS, found
from benchmarks.truth.summary import geometric_mean, percentile, words
from spec.policy import Policy
from spec.regression import Degraded, RegressionHistory, observe

WRONG: Final = 1.02
"""A promoted plan that is slower than the reference by more is a wrong one."""
PAIRS: Final = 64
"""Of a wrong one, for the regression rule to catch it in."""
QUICK_CASES, QUICK_BUDGET_S, QUICK_WINDOW_S = 1, 15.0, 4.0


def noise_of(case: Case, budget_s: float, window_s: float) -> Row:
    """Choose and measure under load, and look again without."""
    feed = case.feed()
    with competitor():
        choice = tuned(case, feed, budget_s)
        with Alone(case.path, feed) as alone:
            times = rounds(alone, choice.plans, window_s, LEAST_ROUNDS, case.name)
    row = {"case": case.name, **found(choice, times)}
    if choice.chosen == choice.reference.name:
        return {**row, "idle_against_reference": 1.0, "caught_after_pairs": None}
    both = [plan for plan in choice.plans if plan.name in (choice.reference.name, choice.chosen)]
    with Alone(case.path, feed) as alone:
        idle = means(rounds(alone, both, window_s / 4, LEAST_ROUNDS, case.name))
        ratio = idle[choice.chosen] / idle[choice.reference.name]
        caught = None
        if ratio > WRONG:
            pairs = rounds(alone, both, 0.0, PAIRS, case.name)
            caught = pairs_until_caught(pairs[choice.reference.name], pairs[choice.chosen])
    return {**row, "idle_against_reference": ratio, "caught_after_pairs": caught}


def pairs_until_caught(reference_ns: list[float], chosen_ns: list[float]) -> int | None:
    """Return after how many pairs the default rule finds a degradation; None for never."""
    history, rule = RegressionHistory(), Policy().regression
    for count, (one, other) in enumerate(zip(reference_ns, chosen_ns, strict=True), start=1):
        history, verdict = observe(rule, history, max(1, round(one)), max(1, round(other)))
        if isinstance(verdict, Degraded):
            return count
    return None


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the figures over all cases."""
    if not rows:
        return {}
    wrong = [row for row in rows if row["idle_against_reference"] > WRONG]
    return {
        "regret_geometric_mean": geometric_mean([row["regret"] for row in rows]),
        "regret_95th_percentile": percentile([row["regret"] for row in rows], 0.95),
        "held_out_regret_geometric_mean": geometric_mean([row["regret_held_out"] for row in rows]),
        "worst_against_reference_under_load": max(row["against_reference"] for row in rows),
        "promoted": sum(row["chosen"] != "reference" for row in rows),
        "wrong_when_idle": len(wrong),
        "wrong_and_not_caught": sum(row["caught_after_pairs"] is None for row in wrong),
        "target": "wrong_and_not_caught 0",
    }


def main() -> int:
    """Run as many cases as the time allows."""
    parser = arguments("noise", __doc__)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for one search")
    parser.add_argument("--window", type=float, default=60.0, help="seconds of one case's rounds")
    options = parser.parse_args()
    budget_s = QUICK_BUDGET_S if options.quick else options.budget
    window_s = QUICK_WINDOW_S if options.quick else options.window
    cases = zoo_cases(options.zoo, options.site, options.only, quick=options.quick)
    cases = cases[:QUICK_CASES] if options.quick else cases
    results = Results.begun("noise", options, budget_s=budget_s, window_s=window_s)
    tasks = [(case.name, partial(noise_of, case, budget_s, window_s)) for case in cases]
    results.carry_out(tasks, len(tasks), words)
    header = ["case", "reference ms", "chosen ms", "regret", "held out", "vs reference"]
    lines = [
        [
            row["case"],
            f"{row['reference_ms']:.3f}",
            f"{row['chosen_ms']:.3f}",
            f"{row['regret']:.3f}",
            f"{row['regret_held_out']:.3f}",
            f"{row['against_reference']:.3f}",
            f"{row['idle_against_reference']:.3f}",
            str(row["caught_after_pairs"] or "-"),
            row["chosen"],
        ]
        for row in results.good
    ]
    table([*header, "vs reference, idle", "caught after pairs", "chosen"], lines)
    return results.finish(summary(results.good), len(tasks))


if __name__ == "__main__":
    sys.exit(main())
