"""What is remembered of one served choice's paired observations: bounded, whatever it saw."""

from fractions import Fraction
from typing import TypeAlias

from attrs import field, frozen

from spec.errors import InvalidValue


def _no_more_ratios_than_observed(
    history: "RegressionHistory", _attribute: object, ratios: tuple[Fraction, ...]
) -> None:
    if len(ratios) > history.observations:
        need = f"at most {history.observations}, the number of observations"
        raise InvalidValue("ratios", f"{len(ratios)} of them", need, "S10: only what was observed")


@frozen
class RegressionHistory:
    """Paired observations since the choice was made or last found degraded. Starts empty.

    Ratios are selected time over reference time: above 1 the served choice is the slower one.
    """

    observations: int = 0
    """How many pairs were seen, also those no longer held."""

    ratios: tuple[Fraction, ...] = field(default=(), validator=_no_more_ratios_than_observed)
    """The last few, oldest first; their number is bounded by the rule."""

    wealth: tuple[int, ...] = ()
    """Fixed-point wealth per stake of the anytime-valid rule; empty before its first pair."""


@frozen
class Holds:
    """Nothing shows that the served choice lost its advantage."""


@frozen
class Degraded:
    """The served choice is slower than the reference by the rule's measure.

    `ratio` is the median of the last ratios held, `observations` how many pairs were seen.
    """

    ratio: Fraction
    observations: int


RegressionVerdict: TypeAlias = Holds | Degraded
