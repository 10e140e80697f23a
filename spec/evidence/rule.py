"""The two rules of evidence behind one function (E4)."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias, assert_never

from attrs import evolve

from spec.errors import InvalidValue
from spec.evidence.anytime_valid import AnytimeValid, assess_anytime_valid
from spec.evidence.betting import least_trials
from spec.evidence.median_mad import MedianMad, assess_median_mad
from spec.evidence.verdict import Verdict

EvidenceRule: TypeAlias = MedianMad | AnytimeValid


def shared_by(rule: EvidenceRule, candidates: int) -> EvidenceRule:
    """Return the rule that a search of so many candidates applies to each of them (E5).

    The anytime-valid rule divides its promotion rate by their number; where `max_blocks` straight
    wins could not promote at that rate, as many blocks as can are allowed instead. Median-MAD
    states no rate and stays as it is. Raises `InvalidValue` for fewer than 1 candidate.
    """
    if type(candidates) is not int or candidates < 1:
        need = "a whole number >= 1"
        raise InvalidValue("candidates", repr(candidates), need, "E5: a search has candidates")
    if isinstance(rule, MedianMad):
        return rule
    rate = rule.false_promotion_rate / candidates
    return evolve(
        rule,
        false_promotion_rate=rate,
        max_blocks=max(rule.max_blocks, least_trials(rate)),
    )


def assess(
    rule: EvidenceRule,
    ratios: Sequence[Fraction],
    min_speedup: Fraction,
    to_beat: Fraction | None = None,
) -> Verdict:
    """Say what the block ratios of one candidate show, in the order in which they were measured.

    `min_speedup` is at least 1; `Faster` needs a median ratio with ratio * min_speedup <= 1.
    `to_beat` is the ratio of a rival that stands: the anytime-valid rule also ends the trial of a
    plan that is clearly slower than it. Median-MAD looks once and has no use for it. A verdict
    other than `Undecided` stands: more blocks behind the same ones never change it.
    Raises `InvalidValue` for a ratio that is not a positive `Fraction` or a minimum under 1.
    """
    if to_beat is not None and (type(to_beat) is not Fraction or to_beat <= 0):
        raise InvalidValue("to_beat", repr(to_beat), "a Fraction > 0", "S7: a rival's ratio")
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
            return assess_anytime_valid(rule, ratios, min_speedup, to_beat)
        case _:
            assert_never(rule)
