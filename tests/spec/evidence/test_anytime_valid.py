"""The sequential rule stops when the answer is clear, in either direction (E4)."""

from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence import (
    AnytimeValid,
    Faster,
    NotFaster,
    TooNoisy,
    Undecided,
    Verdict,
    assess,
)
from spec.evidence.betting import most_losses, wealth
from spec.evidence.order_statistics import median, relative_mad

MINIMUM = Fraction(103, 100)
RULE = AnytimeValid()
FAST, LEVEL, SLOW = Fraction(1, 2), Fraction(99, 100), Fraction(2)
RATIOS = st.one_of(
    st.sampled_from([FAST, LEVEL, SLOW, Fraction(1), 1 / MINIMUM]),
    st.fractions(min_value=Fraction(1, 2), max_value=Fraction(2), max_denominator=10**9),
)
FASTISH = st.fractions(
    min_value=Fraction(80, 100), max_value=Fraction(101, 100), max_denominator=10**6
)
TRIALS = st.one_of(st.lists(RATIOS, max_size=70), st.lists(FASTISH, max_size=70))
MINIMA = st.sampled_from([Fraction(1), Fraction(101, 100), MINIMUM, Fraction(2)])
RULES = st.sampled_from(
    [
        RULE,
        AnytimeValid(max_blocks=16),
        AnytimeValid(Fraction(1, 1000), Fraction(1, 3), min_blocks=12, max_blocks=40),
        AnytimeValid(Fraction(1, 3), Fraction(1, 1000), min_blocks=1, max_blocks=9),
    ]
)


def test_without_blocks_there_is_nothing_to_say() -> None:
    assert assess(RULE, (), MINIMUM) == Undecided(None, None, 0)


def test_eight_clear_wins_promote_and_seven_go_on() -> None:
    assert assess(RULE, (FAST,) * 7, MINIMUM) == Undecided(FAST, Fraction(0), 7)
    assert assess(RULE, (FAST,) * 8, MINIMUM) == Faster(FAST, Fraction(0), 8)


def test_five_clear_losses_end_the_trial_and_four_go_on() -> None:
    assert assess(RULE, (SLOW,) * 4, MINIMUM) == Undecided(SLOW, Fraction(0), 4)
    reason = "5 of 5 blocks over ratio 0.9709"
    assert assess(RULE, (SLOW,) * 5, MINIMUM) == NotFaster(SLOW, Fraction(0), 5, reason)


def test_identical_times_are_never_a_win() -> None:
    assert isinstance(assess(RULE, (Fraction(1),) * 64, Fraction(1)), TooNoisy)
    assert isinstance(assess(RULE, (Fraction(1),) * 64, MINIMUM), NotFaster)


def test_a_plan_faster_by_less_than_the_minimum_is_not_promoted() -> None:
    assert LEVEL < 1 < LEVEL * MINIMUM
    assert isinstance(assess(RULE, (LEVEL,) * 64, MINIMUM), NotFaster)
    assert isinstance(assess(RULE, (LEVEL,) * 64, Fraction(1)), Faster)


def test_a_median_at_exactly_the_minimum_speed_up_is_faster() -> None:
    assert assess(RULE, (1 / MINIMUM,) * 64, MINIMUM) == Faster(1 / MINIMUM, Fraction(0), 8)


def test_an_even_count_is_held_to_the_mean_of_its_two_middle_blocks() -> None:
    inside, outside = 1 / MINIMUM - Fraction(1, 100), 1 / MINIMUM + Fraction(1, 50)
    assert outside < 1, "pointless unless both are wins"
    assert (inside + outside) * MINIMUM > 2
    assert isinstance(assess(RULE, (inside, outside) * 4, MINIMUM), Undecided)
    nearer = 1 / MINIMUM + Fraction(1, 100)
    assert assess(RULE, (inside, nearer) * 4, MINIMUM) == Faster(
        1 / MINIMUM, Fraction(1, 100) * MINIMUM, 8
    )


def test_one_lost_block_costs_six_blocks_more_whatever_its_size() -> None:
    for size in (Fraction(1), Fraction(10**9)):
        verdict = assess(RULE, (size, *(FAST,) * 20), MINIMUM)
        assert isinstance(verdict, Faster)
        assert verdict.blocks == 14


def test_winning_and_losing_by_turns_ends_in_doubt_before_the_last_block() -> None:
    verdict = assess(RULE, (FAST, SLOW) * 32, MINIMUM)
    affordable = most_losses(Fraction(1, 100), 64)
    assert verdict == TooNoisy(
        Fraction(5, 4),
        Fraction(3, 5),
        2 * (affordable + 1),
        f"{affordable + 1} of {2 * affordable + 2} blocks not under ratio 1: "
        "no promotion possible within 64",
    )


def test_a_loss_too_many_ends_the_trial_at_that_block() -> None:
    rule = AnytimeValid(max_blocks=16)
    assert most_losses(Fraction(1, 100), 16) == 1
    assert isinstance(assess(rule, (FAST,) * 6 + (SLOW,), MINIMUM), Undecided)
    verdict = assess(rule, (FAST,) * 6 + (SLOW,) * 2, MINIMUM)
    assert isinstance(verdict, TooNoisy)
    assert verdict.blocks == 8


def test_faster_but_short_of_the_minimum_at_the_last_block_is_not_faster() -> None:
    rule = AnytimeValid(false_rejection_rate=Fraction(1, 10**9), max_blocks=9)
    reason = "faster, but the median is over ratio 0.9709"
    assert assess(rule, (LEVEL,) * 9, MINIMUM) == NotFaster(LEVEL, Fraction(0), 9, reason)


@given(RULES, TRIALS, MINIMA)
def test_a_verdict_stands_whatever_is_measured_after_it(
    rule: AnytimeValid, ratios: list[Fraction], minimum: Fraction
) -> None:
    looks = [assess(rule, ratios[:blocks], minimum) for blocks in range(len(ratios) + 1)]
    decided = [look for look in looks if not isinstance(look, Undecided)]
    assert all(look == decided[0] for look in decided)
    assert looks[len(looks) - len(decided) :] == decided, "once decided, always decided"
    if decided:
        assert decided[0].blocks == len(looks) - len(decided)


@given(RULES, TRIALS, MINIMA)
def test_a_verdict_is_what_its_definition_says(
    rule: AnytimeValid, ratios: list[Fraction], minimum: Fraction
) -> None:
    verdict = assess(rule, ratios, minimum)
    defined = by_definition(rule, ratios, minimum)
    assert without_wording(verdict) == without_wording(defined)


@given(RULES, TRIALS, MINIMA)
def test_faster_needs_the_bet_and_the_median(
    rule: AnytimeValid, ratios: list[Fraction], minimum: Fraction
) -> None:
    verdict = assess(rule, ratios, minimum)
    if isinstance(verdict, Faster):
        seen = ratios[: verdict.blocks]
        wins = sum(ratio < 1 for ratio in seen)
        assert wealth(wins, len(seen) - wins) * rule.false_promotion_rate >= 1
        assert verdict.ratio * minimum <= 1
    assert rule.min_blocks <= verdict.blocks <= rule.max_blocks or isinstance(verdict, Undecided)


def by_definition(rule: AnytimeValid, ratios: list[Fraction], minimum: Fraction) -> Verdict:
    """Restate the rule block by block, with no shortcut."""
    for blocks in range(rule.min_blocks, min(len(ratios), rule.max_blocks) + 1):
        seen = ratios[:blocks]
        ratio, dispersion = median(seen), relative_mad(seen)
        wins = sum(one < 1 for one in seen)
        missed = sum(one * minimum > 1 for one in seen)
        won = wealth(wins, blocks - wins) * rule.false_promotion_rate >= 1
        if won and ratio * minimum <= 1:
            return Faster(ratio, dispersion, blocks)
        if wealth(missed, blocks - missed) * rule.false_rejection_rate >= 1:
            return NotFaster(ratio, dispersion, blocks, "")
        best = wealth(wins + rule.max_blocks - blocks, blocks - wins)
        if best * rule.false_promotion_rate < 1:
            return TooNoisy(ratio, dispersion, blocks, "")
        if blocks == rule.max_blocks:
            assert won, "or the trial would have ended before"
            return NotFaster(ratio, dispersion, blocks, "")
    if not ratios:
        return Undecided(None, None, 0)
    return Undecided(median(ratios), relative_mad(ratios), len(ratios))


def without_wording(verdict: Verdict) -> tuple[str, Fraction | None, Fraction | None, int]:
    return type(verdict).__name__, verdict.ratio, verdict.dispersion, verdict.blocks


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(1), 0.01, 1])
def test_a_rate_out_of_range_or_inexact_is_refused(rate: object) -> None:
    exact = cast("Fraction", rate)
    with pytest.raises(InvalidValue, match="false_promotion_rate: got"):
        AnytimeValid(false_promotion_rate=exact)
    with pytest.raises(InvalidValue, match="false_rejection_rate: got"):
        AnytimeValid(false_rejection_rate=exact)


@pytest.mark.parametrize("blocks", [0, 4097, True])
def test_a_number_of_blocks_out_of_range_is_refused(blocks: int) -> None:
    with pytest.raises(InvalidValue, match="min_blocks: got"):
        AnytimeValid(min_blocks=blocks)
    with pytest.raises(InvalidValue, match="max_blocks: got"):
        AnytimeValid(max_blocks=blocks)


def test_a_trial_cannot_have_to_go_on_beyond_its_last_block() -> None:
    assert AnytimeValid(min_blocks=20, max_blocks=20).max_blocks == 20
    with pytest.raises(InvalidValue, match="max_blocks: got 20, need at least min_blocks, 21"):
        AnytimeValid(min_blocks=21, max_blocks=20)


def test_too_few_blocks_to_ever_promote_are_refused() -> None:
    assert AnytimeValid(max_blocks=8).max_blocks == 8
    with pytest.raises(InvalidValue, match="max_blocks: got 7, need enough blocks to promote"):
        AnytimeValid(max_blocks=7)


def test_candidates_share_the_rate_and_pay_in_blocks() -> None:
    shared = RULE.shared_by(30)
    assert shared.false_promotion_rate == Fraction(1, 3000)
    assert RULE.shared_by(1) == RULE
    verdict = assess(shared, (FAST,) * 64, MINIMUM)
    assert isinstance(verdict, Faster)
    assert verdict.blocks == 13


def test_a_share_too_small_for_the_blocks_is_refused() -> None:
    with pytest.raises(InvalidValue, match="need enough blocks to promote at a rate of 1/200"):
        AnytimeValid(max_blocks=8).shared_by(2)
    with pytest.raises(InvalidValue, match="candidates: got 0"):
        RULE.shared_by(0)
