"""How far the tuner's choice stays behind the best plan: regret, over real models and shapes.

The tuner chooses first, as in a user's first call. Then every plan that it could have chosen, the
reference among them, is timed in a process of its own while the others sleep, in turn, in rounds
over one window that is common to all: long enough to see the machine's states. The truth is the
mean over the window, what a user would have lived through. Regret is the chosen plan's time over
the best one's. Of many plans with noise the best one was lucky too, so a second regret takes the
best of one half of the rounds and asks the other half.
"""

import sys
from functools import partial

from benchmarks.measuring.cases import zoo_cases
from benchmarks.measuring.results import Results, arguments
from benchmarks.truth.case import truth_of
from benchmarks.truth.summary import print_rows, summary, words

QUICK_CASES, QUICK_BUDGET_S, QUICK_WINDOW_S = 1, 15.0, 4.0


def main() -> int:
    """Run as many cases as the time allows."""
    parser = arguments("truth", __doc__)
    parser.add_argument("--budget", type=float, default=30.0, help="seconds for one search")
    parser.add_argument("--window", type=float, default=60.0, help="seconds of one case's rounds")
    options = parser.parse_args()
    budget_s = QUICK_BUDGET_S if options.quick else options.budget
    window_s = QUICK_WINDOW_S if options.quick else options.window
    cases = zoo_cases(options.zoo, options.site, options.only, quick=options.quick)
    cases = cases[:QUICK_CASES] if options.quick else cases
    results = Results.begun("truth", options, budget_s=budget_s, window_s=window_s)
    tasks = [(case.name, partial(truth_of, case, budget_s, window_s)) for case in cases]
    results.carry_out(tasks, len(tasks), words)
    print_rows(results.good)
    return results.finish(summary(results.good), len(tasks))


if __name__ == "__main__":
    sys.exit(main())
