"""The window rule: the median of the last pairs is over a limit (S10)."""

from fractions import Fraction

from attrs import field, frozen

from spec.evidence.fields import fraction_between, whole
from spec.evidence.order_statistics import median
from spec.regression.history import Degraded, Holds, RegressionHistory, RegressionVerdict

WINDOW = "S10: a full window of pairs is judged by its median"


@frozen
class WindowMedian:
    """Judge the last `pairs` observations by their median, once there are that many.

    The same question is asked after every pair, so given time a choice that still holds will be
    found degraded; the rule states no rate for that.
    """

    pairs: int = field(default=9, validator=whole(1, 4096, WINDOW))
    """Window length. It bounds both memory and how fast a change is noticed (half a window and
    one pair); with very few, one slow machine state degrades a good choice."""

    ratio: Fraction = field(
        default=Fraction(1), validator=fraction_between(Fraction(1, 2), Fraction(100), WINDOW)
    )
    """Limit; the median must be strictly over it. At 1/2 and below even a choice twice as fast as
    the reference would be dropped; at 100 and above nothing real would."""


def observe_in_window(
    rule: WindowMedian, history: RegressionHistory, ratio: Fraction
) -> tuple[RegressionHistory, RegressionVerdict]:
    """Add one ratio, dropping the oldest of a full window, and judge."""
    ratios = (*history.ratios, ratio)[-rule.pairs :]
    observations = history.observations + 1
    if len(ratios) == rule.pairs and median(ratios) > rule.ratio:
        return RegressionHistory(), Degraded(median(ratios), observations)
    return RegressionHistory(observations, ratios, history.wealth), Holds()
