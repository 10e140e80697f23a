"""The sequential rule: a bet on every block, that may be looked at after every block (E4, E5)."""

from collections.abc import Sequence
from fractions import Fraction

from attrs import field, frozen

from spec.evidence.betting import Wealth
from spec.evidence.decimal_text import decimal_text
from spec.evidence.fields import fraction_between, whole
from spec.evidence.order_statistics import median, relative_mad
from spec.evidence.verdict import Faster, NotFaster, TooNoisy, Undecided, Verdict

RATE = "E4: a rate of error strictly between 0 and 1"


@frozen
class AnytimeValid:
    """Measure until the answer is clear, at a stated rate of false promotions."""

    false_promotion_rate: Fraction = field(
        default=Fraction(1, 100), validator=fraction_between(Fraction(0), Fraction(1), RATE)
    )
    false_rejection_rate: Fraction = field(
        default=Fraction(1, 20), validator=fraction_between(Fraction(0), Fraction(1), RATE)
    )
    min_blocks: int = field(default=5, validator=whole(1, 4096, "E4: fewest blocks"))
    max_blocks: int = field(default=64, validator=whole(1, 4096, "E4: most blocks"))


def assess_anytime_valid(
    rule: AnytimeValid, ratios: Sequence[Fraction], min_speedup: Fraction
) -> Verdict:
    """Apply the rule; ratios and `min_speedup` are checked by `assess`."""
    target = 1 / min_speedup
    faster, slower = Wealth(), Wealth()
    at_target = 0
    for blocks, ratio in enumerate(ratios[: rule.max_blocks], start=1):
        faster = faster.after(won=ratio < 1)
        slower = slower.after(won=ratio > target)
        at_target += ratio <= target
        if blocks < rule.min_blocks:
            continue
        if faster.reaches(rule.false_promotion_rate):
            seen = ratios[:blocks]
            if median(seen) * min_speedup <= 1:
                return Faster(median(seen), relative_mad(seen), blocks)
        if slower.reaches(rule.false_rejection_rate):
            seen = ratios[:blocks]
            return NotFaster(median(seen), relative_mad(seen), blocks, "clearly short")
    if not ratios:
        return Undecided(None, None, 0)
    seen = ratios[: rule.max_blocks]
    ratio, dispersion = median(seen), relative_mad(seen)
    if len(seen) < rule.max_blocks:
        return Undecided(ratio, dispersion, len(seen))
    reason = f"no clear answer in {rule.max_blocks} blocks, median ratio {decimal_text(ratio)}"
    return TooNoisy(ratio, dispersion, len(seen), reason)
