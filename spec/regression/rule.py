"""The two rules of regression behind one function (S10)."""

from fractions import Fraction
from typing import TypeAlias, assert_never

from spec.errors import InvalidValue
from spec.regression.anytime_valid import AnytimeValidRegression, observe_with_bets
from spec.regression.history import RegressionHistory, RegressionVerdict
from spec.regression.window_median import WindowMedian, observe_in_window

RegressionRule: TypeAlias = WindowMedian | AnytimeValidRegression


def observe(
    rule: RegressionRule, history: RegressionHistory, reference_ns: int, selected_ns: int
) -> tuple[RegressionHistory, RegressionVerdict]:
    """Add one pair of timings to the history and say whether the served choice still holds.

    Only pairs of the same workload under the same load, with outputs checked, may be given; the
    latency of ordinary requests is no such pair. After `Degraded` the history starts anew. Raises
    `InvalidValue` for a time that is not a whole number of nanoseconds > 0.
    """
    for name, time_ns in (("reference_ns", reference_ns), ("selected_ns", selected_ns)):
        if type(time_ns) is not int or time_ns <= 0:
            need = "whole nanoseconds > 0"
            raise InvalidValue(name, repr(time_ns), need, "S10: a zero time compares with nothing")
    ratio = Fraction(selected_ns, reference_ns)
    match rule:
        case WindowMedian():
            return observe_in_window(rule, history, ratio)
        case AnytimeValidRegression():
            return observe_with_bets(rule, history, ratio)
        case _:
            assert_never(rule)
