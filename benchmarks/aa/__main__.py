"""How often an identical plan is promoted.

Each trial is a whole search with one candidate: the reference itself under another name, in new
processes, with another order of blocks. The default policy allows one promotion in a hundred
searches. With `--min-speedup 1` nothing but the evidence rule stands against a promotion.
"""

import statistics
import sys
from collections import Counter
from fractions import Fraction
from functools import partial

from attrs import evolve

from benchmarks.measuring.cases import Case, zoo_cases
from benchmarks.measuring.proportion import clopper_pearson
from benchmarks.measuring.results import Results, Row, arguments, table
from benchmarks.measuring.searching import REFERENCE, search_alone
from spec.policy import Policy
from spec.report import Outcome

TRIALS, QUICK_TRIALS = 200, 4
WON = {Outcome.PROMOTED.value, Outcome.FASTER.value}


def trial(case: Case, number: int, min_speedup: Fraction) -> Row:
    """Search once."""
    policy = Policy(seed=number, min_speedup=min_speedup)
    same = evolve(REFERENCE, name="the-same")
    report = search_alone(case.path, case.feed(), REFERENCE, same, policy)
    return {
        "case": case.name,
        "outcome": report.outcome.value,
        "blocks": report.blocks,
        "ratio": None if report.ratio is None else float(report.ratio),
        "dispersion": None if report.dispersion is None else float(report.dispersion),
        "states": report.states,
    }


def main() -> int:
    """Run as many trials as the time allows."""
    parser = arguments("aa", __doc__)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--min-speedup", type=Fraction, default=Policy().min_speedup)
    options = parser.parse_args()
    trials = QUICK_TRIALS if options.quick else options.trials
    cases = zoo_cases(options.zoo, options.site, options.only, quick=options.quick)
    results = Results.begun("aa", options, min_speedup=float(options.min_speedup))
    tasks = [
        (f"{number}: {case.name}", partial(trial, case, number, options.min_speedup))
        for number in range(trials)
        for case in (cases[number % len(cases)],)
    ]
    results.carry_out(tasks, trials, lambda row: f"{row['outcome']} after {row['blocks']} blocks")
    return _finish(results, trials)


def _finish(results: Results, trials: int) -> int:
    rows = results.good
    lines = []
    for name in sorted({row["case"] for row in rows}):
        mine = [row for row in rows if row["case"] == name]
        ratios = [row["ratio"] for row in mine if row["ratio"] is not None]
        lines.append(
            [
                name,
                str(len(mine)),
                str(sum(row["outcome"] in WON for row in mine)),
                f"{statistics.fmean(row['blocks'] for row in mine):.1f}",
                "-" if not ratios else f"{min(ratios):.3f}",
                "-" if not ratios else f"{max(ratios):.3f}",
            ]
        )
    table(["case", "trials", "promoted", "mean blocks", "least ratio", "greatest"], lines)
    if not rows:
        return results.finish({}, trials)
    promoted = sum(row["outcome"] in WON for row in rows)
    low, high = clopper_pearson(promoted, len(rows))
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
    figures = {
        "models": len({row["case"].partition("#")[0] for row in rows}),
        "outcomes": dict(Counter(row["outcome"] for row in rows)),
        "promoted": promoted,
        "promotion_rate": promoted / len(rows),
        "promotion_rate_low_95": low,
        "promotion_rate_high_95": high,
        "mean_blocks": statistics.fmean(row["blocks"] for row in rows),
        "median_ratio": statistics.median(ratios) if ratios else None,
        "target": "rate at most 0.01",
    }
    return results.finish(figures, trials)


if __name__ == "__main__":
    sys.exit(main())
