"""The fixed-size rule: median of the block ratios, and a limit on how much they disagree (E4)."""

from collections.abc import Sequence
from fractions import Fraction

from attrs import field, frozen

from spec.evidence.decimal_text import decimal_text
from spec.evidence.fields import fraction_between, whole
from spec.evidence.order_statistics import median, relative_mad
from spec.evidence.verdict import Faster, NotFaster, TooNoisy, Undecided, Verdict


@frozen
class MedianMad:
    """Measure a fixed number of blocks, then decide once.

    The decision rests on the first `samples` blocks alone. Blocks after them are not looked at,
    because a rule of this kind that may be asked again after every block will sooner or later say
    yes to an identical plan. It states no error rate; `AnytimeValid` does.
    """

    samples: int = field(
        default=9, validator=whole(3, 4096, "E4: median-MAD decides on a fixed number of blocks")
    )
    """Blocks. Under 3 a median absolute deviation says nothing (2 values always lie equally far
    from their mean); over 4096 the trial outlasts any use of its result."""

    max_relative_mad: Fraction = field(
        default=Fraction(3, 100),
        validator=fraction_between(
            Fraction(0), Fraction(1), "E4: median-MAD refuses blocks that disagree"
        ),
    )
    """Largest allowed dispersion, a share of the median. At 0 or below nothing but a perfect clock
    passes; at 1 or above half the blocks may lie anywhere and the limit excludes nothing."""


def assess_median_mad(
    rule: MedianMad, ratios: Sequence[Fraction], min_speedup: Fraction
) -> Verdict:
    """Apply the rule; ratios and `min_speedup` are checked by `assess`."""
    if len(ratios) < rule.samples:
        if not ratios:
            return Undecided(None, None, 0)
        return Undecided(median(ratios), relative_mad(ratios), len(ratios))
    counted = ratios[: rule.samples]
    ratio, dispersion = median(counted), relative_mad(counted)
    if dispersion > rule.max_relative_mad:
        reason = (
            f"blocks disagree: relative MAD {decimal_text(dispersion)}, "
            f"limit {decimal_text(rule.max_relative_mad)}"
        )
        return TooNoisy(ratio, dispersion, rule.samples, reason)
    if ratio * min_speedup <= 1:
        return Faster(ratio, dispersion, rule.samples)
    reason = f"median ratio {decimal_text(ratio)}, need at most {decimal_text(1 / min_speedup)}"
    return NotFaster(ratio, dispersion, rule.samples, reason)
