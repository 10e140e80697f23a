"""One case of the truth: what the tuner chose, and what every plan really takes."""

from typing import Any

from benchmarks.measuring.alone import Alone, held_out_regret, means, rounds
from benchmarks.measuring.cases import Case
from benchmarks.measuring.choosing import Choice, tuned
from benchmarks.measuring.no_figure import NoFigureError
from benchmarks.measuring.results import Row

LEAST_ROUNDS = 4
"""Two for each half of the regret that is held out."""


def truth_of(case: Case, budget_s: float, window_s: float) -> Row:
    """Let the tuner choose, then time every plan alone over one window."""
    feed = case.feed()
    choice = tuned(case, feed, budget_s)
    with Alone(case.path, feed) as alone:
        times = rounds(alone, choice.plans, window_s, LEAST_ROUNDS, case.name)
    return {"case": case.name, **found(choice, times)}


def found(choice: Choice, times: dict[str, list[float]]) -> dict[str, Any]:
    """Return what the times say of the choice."""
    reference = choice.reference.name
    for name in (reference, choice.chosen):
        if name not in times:
            reason = f"{name} could not be timed alone"
            raise NoFigureError(reason)
    mean = means(times)
    best = min(mean, key=lambda name: mean[name])
    slowest_round = max(times[reference]) / min(times[reference])
    return {
        "chosen": choice.chosen,
        "source": choice.explanation.source,
        "best": best,
        "reference_ms": mean[reference] / 1e6,
        "chosen_ms": mean[choice.chosen] / 1e6,
        "best_ms": mean[best] / 1e6,
        "regret": mean[choice.chosen] / mean[best],
        "regret_held_out": held_out_regret(times, choice.chosen),
        "against_reference": mean[choice.chosen] / mean[reference],
        "slowest_over_fastest_round": slowest_round,
        "plans": len(times),
        "rounds": len(times[reference]),
        "search_s": choice.search_s,
        "mean_ms": {name: round(value / 1e6, 6) for name, value in mean.items()},
        "measured_ratio": None
        if choice.explanation.ratio is None
        else float(choice.explanation.ratio),
        "states_seen": max((one.states for one in choice.explanation.candidates), default=0),
    }
