"""The bet that watches a served choice for as long as it is served (S10).

The null is "whatever happened before, the next ratio of selected to reference time is over the
limit with probability at most 1/2": the choice still holds. One bet opened when the choice is made
would have lost everything by the time a change comes, so a further unit is staked before *every*
pair. The sum of all bets then grows under the null by at most 1 unit a pair, and of the first
`horizon` bets, each scaled to 1 / horizon, it is a nonnegative supermartingale from at most 1. By
Ville's inequality the chance of an alarm within the first `horizon` pairs is at most
`false_alarm_rate`, looked at after every pair; and the mean number of pairs before a false alarm
is at least horizon / `false_alarm_rate`. A change is noticed about log2(horizon /
`false_alarm_rate`) pairs after it comes, however long the choice held before.

The whole state is one number per stake. Each is kept in units of 2**-32 and rounded down, and
rounding a bettor's wealth down keeps it a supermartingale; an alarm bounds it from above.

As for promotion, the assumption that can fail is freshness: pairs that share one long disturbance
of one side are not new evidence each. Recurrence before a ban is the answer to that.

Sources: Shin, Ramdas and Rinaldo, *E-detectors: a nonparametric framework for sequential change
detection* (2023), its sum is of Shiryaev-Roberts form; and those of `spec.evidence.betting`.
"""

from fractions import Fraction

from attrs import field, frozen

from spec.evidence.betting import QUARTERS, STAKES_AND_WEIGHTS
from spec.evidence.fields import fraction_between, whole
from spec.evidence.order_statistics import median
from spec.regression.history import Degraded, Holds, RegressionHistory, RegressionVerdict

WATCH = "S10: watching is repeated peeking, at a stated rate of false alarms"
UNIT = 2**32
"""The initial 1 of every bet, in units of the fixed-point wealth."""

RATIOS_HELD = 9
"""Ratios kept to say how slow the choice has become; they play no part in the decision."""


@frozen
class AnytimeValidRegression:
    """Alarm when a bet that the choice lost its advantage has won too often to be luck."""

    ratio: Fraction = field(
        default=Fraction(1), validator=fraction_between(Fraction(1, 2), Fraction(100), WATCH)
    )
    """Limit; a pair counts against the choice when its ratio is strictly over it. At 1/2 and below
    even a choice twice as fast as the reference would be dropped; at 100 nothing real would."""

    false_alarm_rate: Fraction = field(
        default=Fraction(1, 100), validator=fraction_between(Fraction(0), Fraction(1), WATCH)
    )
    """Chance, at most, of an alarm within `horizon` pairs while the choice holds. At 0 no change
    is ever noticed; at 1 an alarm means nothing."""

    horizon: int = field(default=256, validator=whole(1, 2**32, WATCH))
    """Pairs for which the rate is stated. Doubling it delays every alarm by about one pair; over
    2**32 no choice is watched that long."""


def observe_with_bets(
    rule: AnytimeValidRegression, history: RegressionHistory, ratio: Fraction
) -> tuple[RegressionHistory, RegressionVerdict]:
    """Stake one more unit, settle all bets on this ratio, and judge."""
    over = ratio > rule.ratio
    before = history.wealth or (0,) * len(STAKES_AND_WEIGHTS)
    wealth = tuple(
        (held + UNIT) * (QUARTERS + stake if over else QUARTERS - stake) // QUARTERS
        for held, (stake, _) in zip(before, STAKES_AND_WEIGHTS, strict=True)
    )
    total = sum(weight * held for held, (_, weight) in zip(wealth, STAKES_AND_WEIGHTS, strict=True))
    ratios = (*history.ratios, ratio)[-RATIOS_HELD:]
    observations = history.observations + 1
    if total * rule.false_alarm_rate >= rule.horizon * QUARTERS * UNIT:
        return RegressionHistory(), Degraded(median(ratios), observations)
    return RegressionHistory(observations, ratios, wealth), Holds()
