"""How often a faster plan is found, and after how many blocks.

The candidate is the model as it is; the reference is the same, slowed by a known factor: each call
is followed by busy work of its own time times the factor less one. So the candidate is faster by
exactly that factor, under all of the machine's own noise.
"""

import statistics
import sys
from fractions import Fraction
from functools import partial

from attrs import evolve

from benchmarks.measuring.cases import Case, zoo_cases
from benchmarks.measuring.proportion import clopper_pearson
from benchmarks.measuring.results import Results, Row, arguments, table
from benchmarks.measuring.searching import REFERENCE, search_alone
from benchmarks.power.slowed_worker import SLOWED
from spec.policy import Policy
from spec.report import Outcome

FACTORS = ("1.03", "1.05", "1.1", "1.5")
TRIALS, QUICK_TRIALS = 20, 1
"""Of each factor."""
WORKER = "benchmarks.power.slowed_worker"


def trial(case: Case, factor: str, number: int, min_speedup: Fraction) -> Row:
    """Search once."""
    policy = Policy(seed=number, min_speedup=min_speedup)
    slowed = evolve(REFERENCE, settings=REFERENCE.settings.with_config(SLOWED, factor))
    plain = evolve(REFERENCE, name="plain")
    report = search_alone(case.path, case.feed(), slowed, plain, policy, WORKER)
    return {
        "case": case.name,
        "factor": factor,
        "outcome": report.outcome.value,
        "found": report.outcome is Outcome.PROMOTED,
        "blocks": report.blocks,
        "speedup": None if not report.ratio else float(1 / report.ratio),
        "dispersion": None if report.dispersion is None else float(report.dispersion),
    }


def main() -> int:
    """Run as many trials as the time allows."""
    parser = arguments("power", __doc__)
    parser.add_argument("--trials", type=int, default=TRIALS, help="of each factor")
    parser.add_argument("--min-speedup", type=Fraction, default=Policy().min_speedup)
    options = parser.parse_args()
    trials = QUICK_TRIALS if options.quick else options.trials
    cases = zoo_cases(options.zoo, options.site, options.only, quick=options.quick)
    results = Results.begun("power", options, min_speedup=float(options.min_speedup))
    tasks = [
        (
            f"{number}: {case.name} by {factor}",
            partial(trial, case, factor, number, options.min_speedup),
        )
        for number in range(trials)
        for case in (cases[number % len(cases)],)
        for factor in FACTORS
    ]
    results.carry_out(tasks, len(tasks), lambda row: f"{row['outcome']}, {row['blocks']} blocks")
    figures = {}
    lines = []
    for factor in FACTORS:
        mine = [row for row in results.good if row["factor"] == factor]
        if not mine:
            continue
        hits = [row for row in mine if row["found"]]
        low, high = clopper_pearson(len(hits), len(mine))
        all_blocks = [row["blocks"] for row in mine]
        needed = [row["blocks"] for row in hits]
        measured = [row["speedup"] for row in mine if row["speedup"] is not None]
        figures[factor] = {
            "trials": len(mine),
            "detection_rate": len(hits) / len(mine),
            "detection_rate_low_95": low,
            "detection_rate_high_95": high,
            "mean_blocks": statistics.fmean(all_blocks),
            "median_blocks_when_found": statistics.median(needed) if needed else None,
            "most_blocks_when_found": max(needed, default=None),
            "median_speedup": statistics.median(measured) if measured else None,
        }
        lines.append(
            [
                factor,
                str(len(mine)),
                f"{len(hits) / len(mine):.1%}",
                f"{low:.1%} to {high:.1%}",
                f"{statistics.fmean(all_blocks):.1f}",
                "-" if not needed else f"{statistics.median(needed):g}",
                "-" if not needed else str(max(needed)),
                "-" if not measured else f"{statistics.median(measured):.3f}",
            ]
        )
    header = ["factor", "trials", "found", "95 % interval", "mean blocks", "median if found"]
    table([*header, "most if found", "median speed-up"], lines)
    return results.finish({"by_factor": figures}, len(tasks))


if __name__ == "__main__":
    sys.exit(main())
