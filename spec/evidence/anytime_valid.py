"""The sequential rule: two bets on the sign of every block, open to a look after each (E4, E5).

*The bet for.* The null to refute is "whatever happened before, the next block ratio is below 1 with
probability at most 1/2", that is, the candidate's median block is no faster than the reference.
A block under 1 is a win, one at 1 or over is a loss; `spec.evidence.betting` turns the counts into
a wealth that reaches 1 / `false_promotion_rate` with probability at most `false_promotion_rate`,
over the whole run and however often one looks. `Faster` needs that wealth and, as the evidence
says "faster" and not "by how much", a median ratio that keeps the minimum speed-up.

*The bet against* refutes "the next ratio is at most 1 / min_speedup with probability at least
1/2". It ends the trial of a plan that is clearly not fast enough, and can only ever cost a
promotion, never make one, so its own rate may be larger. Where a rival stands, the ratio to beat
takes the place of 1 / min_speedup if it is smaller: a plan that is clearly slower than the best so
far cannot win, however clearly it is faster than the reference.

*What it needs.* Nothing of the size or the tails of the noise: only signs count, so one block
slowed a hundredfold weighs as one loss. Two identical plans meet the null on every machine that
does not know which side runs: the order of each block is a fair coin of its own (`block_order`),
so whatever disturbs it falls on either side alike, whatever happened before. What can fail is that
the machine does know: something that favours one *side* (a process that sits better in memory, a
slow phase of one child) for many blocks on end makes blocks that are no fresh evidence, and the
rate does not hold. No rule on ratios alone can tell such a favour from a faster plan.

*Why signs.* A bet whose stake also weighs the clipped size of each log ratio needs the stronger
null of a symmetric log ratio. In simulation it saves about a seventh of the blocks where the
speed-up is as small as Gaussian noise, and nothing for heavy tails or clear speed-ups; a factor per
block above 2 is impossible for either, since under symmetry both signs are equally likely.
`benchmarks/evidence` prints the comparison.
"""

from collections.abc import Sequence
from fractions import Fraction

from attrs import evolve, field, frozen

from spec.errors import InvalidValue
from spec.evidence.betting import most_losses, reaches
from spec.evidence.decimal_text import decimal_text
from spec.evidence.fields import fraction_between, whole
from spec.evidence.order_statistics import median, relative_mad
from spec.evidence.verdict import Faster, NotFaster, TooNoisy, Undecided, Verdict

RATE = "E4: a rate of error strictly between 0 and 1"
BLOCKS = "E4: a sequential trial has a first and a last block at which it may end"


def _can_promote(rule: "AnytimeValid", _attribute: object, max_blocks: int) -> None:
    if rule.min_blocks > max_blocks:
        raise InvalidValue(
            "max_blocks", str(max_blocks), f"at least min_blocks, {rule.min_blocks}", BLOCKS
        )
    if most_losses(rule.false_promotion_rate, max_blocks) < 0:
        need = f"enough blocks to promote at a rate of {rule.false_promotion_rate}"
        raise InvalidValue("max_blocks", str(max_blocks), need, BLOCKS)


@frozen
class AnytimeValid:
    """Measure until the answer is clear, at a stated rate of false promotions."""

    false_promotion_rate: Fraction = field(
        default=Fraction(1, 100), validator=fraction_between(Fraction(0), Fraction(1), RATE)
    )
    """Chance, at most, that one candidate no faster than the reference is ever promoted. At 0
    nothing can be; at 1 everything may. It is per candidate; see `shared_by`."""

    false_rejection_rate: Fraction = field(
        default=Fraction(1, 20), validator=fraction_between(Fraction(0), Fraction(1), RATE)
    )
    """Chance, at most, that a candidate whose median ratio keeps the minimum speed-up is stopped
    as clearly too slow. Towards 0 losers are measured to the last block; towards 1 a winner is
    dropped after one unlucky block."""

    min_blocks: int = field(default=5, validator=whole(1, 4096, BLOCKS))
    """Blocks before any verdict. It guards the reported median and dispersion, not the rates;
    over `max_blocks` no trial could end before its last block."""

    max_blocks: int = field(default=64, validator=[whole(1, 4096, BLOCKS), _can_promote])
    """Blocks after which doubt is final. Too few cannot reach the promotion rate even if every
    block is won (8 are needed for 1/100) and are refused; over 4096 a trial outlasts its use."""

    def shared_by(self, candidates: int) -> "AnytimeValid":
        """Return the rule that keeps the promotion rate over all of `candidates` together.

        The rate is divided by their number (Bonferroni): with 30 candidates at 1/100 each, an
        identical one is promoted in up to 26 of 100 searches. It costs about log2(candidates)
        further blocks per winner. Raises `InvalidValue` where `max_blocks` can't carry that.
        """
        if type(candidates) is not int or candidates < 1:
            raise InvalidValue("candidates", repr(candidates), "a whole number >= 1", RATE)
        return evolve(self, false_promotion_rate=self.false_promotion_rate / candidates)


def assess_anytime_valid(
    rule: AnytimeValid,
    ratios: Sequence[Fraction],
    min_speedup: Fraction,
    to_beat: Fraction | None = None,
) -> Verdict:
    """Apply the rule; ratios, `min_speedup` and `to_beat` are checked by `assess`.

    The verdict is that of the first block at which the trial could end, so it stands whatever
    follows.
    """
    if not ratios:
        return Undecided(None, None, 0)
    target = 1 / min_speedup
    needed = target if to_beat is None else min(target, to_beat)
    affordable_losses = most_losses(rule.false_promotion_rate, rule.max_blocks)
    wins = keeping_up = 0
    kept: list[Fraction] = []
    missed: list[Fraction] = []
    for blocks, ratio in enumerate(ratios, start=1):
        wins += ratio < 1
        keeping_up += ratio <= needed
        (kept if ratio <= target else missed).append(ratio)
        if blocks < rule.min_blocks:
            continue
        losses = blocks - wins
        won = reaches(rule.false_promotion_rate, wins, losses)
        if won and _median_is_at_most(target, kept, missed):
            seen = ratios[:blocks]
            return Faster(median(seen), relative_mad(seen), blocks)
        if reaches(rule.false_rejection_rate, blocks - keeping_up, keeping_up):
            reason = f"{blocks - keeping_up} of {blocks} blocks over ratio {decimal_text(needed)}"
            if needed < target:
                reason += ", that of the best so far"
            return _not_faster(ratios[:blocks], reason)
        if losses > affordable_losses:
            reason = (
                f"{losses} of {blocks} blocks not under ratio 1: "
                f"no promotion possible within {rule.max_blocks}"
            )
            seen = ratios[:blocks]
            return TooNoisy(median(seen), relative_mad(seen), blocks, reason)
        if blocks == rule.max_blocks:  # The losses were affordable, so the bet for is won.
            reason = f"faster, but the median is over ratio {decimal_text(target)}"
            return _not_faster(ratios[:blocks], reason)
    return Undecided(median(ratios), relative_mad(ratios), len(ratios))


def _median_is_at_most(
    target: Fraction, kept: Sequence[Fraction], missed: Sequence[Fraction]
) -> bool:
    """Say whether the median of all ratios is at most `target`, given those that are and aren't.

    Where exactly half of them are, the two middle values are the largest that is and the smallest
    that isn't.
    """
    if len(kept) == len(missed):
        return max(kept) + min(missed) <= 2 * target
    return len(kept) > len(missed)


def _not_faster(seen: Sequence[Fraction], reason: str) -> NotFaster:
    return NotFaster(median(seen), relative_mad(seen), len(seen), reason)
