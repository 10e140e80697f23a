"""The two rules of evidence behind one function (E4)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias, assert_never

from spec.errors import InvalidValue
from spec.evidence.anytime_valid import AnytimeValid, assess_anytime_valid
from spec.evidence.median_mad import MedianMad, assess_median_mad
from spec.evidence.verdict import Verdict

EvidenceRule: TypeAlias = MedianMad | AnytimeValid


def assess(rule: EvidenceRule, ratios: Sequence[Fraction], min_speedup: Fraction) -> Verdict:
    """Say what the block ratios of one candidate show, in the order in which they were measured.

    `min_speedup` is at least 1; `Faster` needs a median ratio with ratio * min_speedup <= 1.
    A verdict other than `Undecided` stands: more blocks behind the same ones never change it.
    Raises `InvalidValue` for a ratio that is not a positive `Fraction` or a minimum under 1.
    """
    if type(min_speedup) is not Fraction or min_speedup < 1:
        need = "a Fraction >= 1"
        raise InvalidValue(
            "min_speedup", repr(min_speedup), need, "S7: promotion is an improvement"
        )
    for ratio in ratios:
        if type(ratio) is not Fraction or ratio.numerator <= 0:
            need = "a Fraction > 0"
            raise InvalidValue("ratios", repr(ratio), need, "E3: a ratio of times is positive")
    match rule:
        case MedianMad():
            return assess_median_mad(rule, ratios, min_speedup)
        case AnytimeValid():
            return assess_anytime_valid(rule, ratios, min_speedup)
        case _:
            assert_never(rule)
