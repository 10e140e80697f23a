"""What a search costs against measuring every candidate 50 times, at equal regret.

The tuner searches first. Then the same candidates are measured exhaustively: each is created in a
process of its own, called as often as warms it up, and timed in 50 samples; outputs are not even
compared. A sample is as many calls as the tuner takes for one time, below which clock and wake-up
show; what 50 single calls would have taken is given too. Then both choices and the reference are
timed alone, in rounds over one window, and their regret is against the better of the three.
"""

import statistics
import sys
import time
from functools import partial
from typing import Any

from attrs import frozen

from benchmarks.measuring.alone import Alone, PlanFailedError, means, rounds
from benchmarks.measuring.cases import Case, Feed, zoo_cases
from benchmarks.measuring.choosing import Choice, tuned
from benchmarks.measuring.results import Results, Row, arguments, table
from benchmarks.measuring.searching import LIMITS
from benchmarks.truth.summary import geometric_mean
from ortsel.plan import Plan
from ortsel.trial.rig import calls_for

SAMPLES = 50
QUICK_CASES, QUICK_BUDGET_S, QUICK_WINDOW_S = 1, 15.0, 2.0
LEAST_ROUNDS = 4


@frozen
class Exhaustive:
    """Everything measured, and what that took."""

    chosen: Plan
    samples_s: float
    single_calls_s: float
    plans: int


def exhaustive(case: Case, feed: Feed, choice: Choice) -> Exhaustive:
    """Measure every plan `SAMPLES` times, one after the other."""
    medians: dict[str, float] = {}
    single_s = 0.0
    calls: int | None = None
    began = time.monotonic()
    for plan in choice.plans:
        with Alone(case.path, feed) as alone:
            opened = time.monotonic()
            try:
                alone.open(plan)
                single_s += time.monotonic() - opened
                if calls is None:  # from the reference, as the tuner does
                    calls = calls_for(round(alone.time_ns(plan)), LIMITS)
                found = alone.samples_ns(plan, SAMPLES, calls)
            except PlanFailedError:
                continue
        medians[plan.name] = statistics.median(found)
        single_s += SAMPLES * medians[plan.name] / 1e9
    took_s = time.monotonic() - began
    best = min(medians, key=lambda name: medians[name])
    chosen = next(plan for plan in choice.plans if plan.name == best)
    return Exhaustive(chosen, took_s, single_s, len(medians))


def cost_of(case: Case, budget_s: float, window_s: float) -> Row:
    """Search both ways, then see what the choices are worth."""
    feed = case.feed()
    choice = tuned(case, feed, budget_s)
    rival = exhaustive(case, feed, choice)
    ours = next(plan for plan in choice.plans if plan.name == choice.chosen)
    three = {plan.name: plan for plan in (choice.reference, ours, rival.chosen)}
    with Alone(case.path, feed) as alone:
        mean = means(rounds(alone, list(three.values()), window_s, LEAST_ROUNDS, case.name))
    best = min(mean.values())
    return {
        "case": case.name,
        "plans": rival.plans,
        "search_s": choice.search_s,
        "exhaustive_s": rival.samples_s,
        "exhaustive_single_calls_s": rival.single_calls_s,
        "share": choice.search_s / rival.samples_s,
        "share_of_single_calls": choice.search_s / rival.single_calls_s,
        "chosen": choice.chosen,
        "exhaustive_chosen": rival.chosen.name,
        "regret": mean[choice.chosen] / best,
        "exhaustive_regret": mean[rival.chosen.name] / best,
    }


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the figures over all cases."""
    if not rows:
        return {}
    ours, rival = (sum(row[name] for row in rows) for name in ("search_s", "exhaustive_s"))
    single = sum(row["exhaustive_single_calls_s"] for row in rows)
    return {
        "search_s": ours,
        "exhaustive_s": rival,
        "exhaustive_single_calls_s": single,
        "share": ours / rival,
        "share_of_single_calls": ours / single,
        "regret_geometric_mean": geometric_mean([row["regret"] for row in rows]),
        "exhaustive_regret_geometric_mean": geometric_mean(
            [row["exhaustive_regret"] for row in rows]
        ),
        "target": "share at most 0.2 at equal regret",
    }


def main() -> int:
    """Run as many cases as the time allows."""
    parser = arguments("cost", __doc__)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for one search")
    parser.add_argument("--window", type=float, default=20.0, help="seconds of the last rounds")
    options = parser.parse_args()
    budget_s = QUICK_BUDGET_S if options.quick else options.budget
    window_s = QUICK_WINDOW_S if options.quick else options.window
    cases = zoo_cases(options.zoo, options.site, options.only, quick=options.quick)
    cases = cases[:QUICK_CASES] if options.quick else cases
    results = Results.begun("cost", options, budget_s=budget_s, window_s=window_s)
    tasks = [(case.name, partial(cost_of, case, budget_s, window_s)) for case in cases]
    results.carry_out(
        tasks, len(tasks), lambda row: f"{row['search_s']:.1f} of {row['exhaustive_s']:.1f} s"
    )
    header = ["case", "plans", "search s", "50 samples s", "share", "50 calls s", "regret"]
    lines = [
        [
            row["case"],
            str(row["plans"]),
            f"{row['search_s']:.1f}",
            f"{row['exhaustive_s']:.1f}",
            f"{row['share']:.2f}",
            f"{row['exhaustive_single_calls_s']:.1f}",
            f"{row['regret']:.3f}",
            f"{row['exhaustive_regret']:.3f}",
            row["chosen"],
            row["exhaustive_chosen"],
        ]
        for row in results.good
    ]
    table([*header, "exhaustive regret", "chosen", "exhaustive chose"], lines)
    return results.finish(summary(results.good), len(tasks))


if __name__ == "__main__":
    sys.exit(main())
