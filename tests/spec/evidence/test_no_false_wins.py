"""Identical plans are promoted at most at the stated rate, under continuous looking (E5).

`assess` is given a trial's whole history once. As a verdict stands whatever follows it (tested
beside the rule), that is the same as looking after every block and stopping at the first answer.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest

from benchmarks.evidence.noise import (
    EXCHANGEABLE,
    PREMISE_BROKEN,
    Noise,
    alternating_order,
    block_ratios,
)
from benchmarks.evidence.rivals import (
    peeking_median_mad,
    peeking_sign_test,
    sign_test_needs,
)
from spec.evidence import AnytimeValid, Faster, assess
from spec.evidence.block import block_order
from tests.spec.evidence.binomial import most_hits

RATE = Fraction(1, 100)
NO_MINIMUM = Fraction(1)
BLOCKS = 64
UNSTOPPED = AnytimeValid(RATE, false_rejection_rate=Fraction(1, 10**9), max_blocks=BLOCKS)
"""No early rejection takes an identical plan out of the running: the hardest case for the rate."""

Rule = Callable[[Sequence[Fraction]], bool]


def anytime_valid(ratios: Sequence[Fraction]) -> bool:
    return isinstance(assess(UNSTOPPED, ratios, NO_MINIMUM), Faster)


def one_look_sign_test(ratios: Sequence[Fraction]) -> bool:
    return sum(ratio < 1 for ratio in ratios) >= sign_test_needs(len(ratios), RATE)


def naive_sign_test(ratios: Sequence[Fraction]) -> bool:
    return peeking_sign_test(ratios, RATE)


def naive_median_mad(ratios: Sequence[Fraction]) -> bool:
    return peeking_median_mad(ratios[:16], NO_MINIMUM)


def promotions(noise: Noise, rule: Rule, experiments: int, first_seed: int = 0) -> int:
    seeds = range(first_seed, first_seed + experiments)
    return sum(rule(block_ratios(noise, seed, 1.0, BLOCKS)) for seed in seeds)


@pytest.mark.parametrize("name", ["Gaussian 10 %", "Cauchy 10 %", "autocorrelated 0.98"])
def test_identical_plans_are_promoted_within_the_stated_rate(name: str) -> None:
    hits = promotions(EXCHANGEABLE[name], anytime_valid, 300)
    assert hits <= most_hits(300, float(RATE)), "14, which a rate of 8 % would break"


@pytest.mark.parametrize(
    ("rule", "experiments"), [(naive_sign_test, 1000), (naive_median_mad, 300)]
)
def test_a_rule_that_peeks_without_paying_breaks_the_same_bound(
    rule: Rule, experiments: int
) -> None:
    hits = promotions(EXCHANGEABLE["Gaussian 10 %"], rule, experiments)
    assert hits > most_hits(experiments, float(RATE))


@pytest.mark.deep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_ten_thousand_identical_plans_keep_the_rate_on_every_machine(name: str) -> None:
    hits = promotions(EXCHANGEABLE[name], anytime_valid, 10_000)
    assert 0 < hits <= most_hits(10_000, float(RATE)), f"{hits} of 10,000 promoted"


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_ten_thousand_looks_without_paying_break_the_rate_that_one_look_keeps() -> None:
    noise = EXCHANGEABLE["Gaussian 10 %"]
    bound = most_hits(10_000, float(RATE))
    assert promotions(noise, one_look_sign_test, 10_000) <= bound, "the bound is right for one look"
    assert promotions(noise, naive_sign_test, 10_000) > 2 * bound


@pytest.mark.deep
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", PREMISE_BROKEN)
def test_where_the_premise_fails_the_rate_fails_and_the_simulation_sees_it(name: str) -> None:
    hits = promotions(PREMISE_BROKEN[name], anytime_valid, 2_000)
    assert hits > most_hits(2_000, float(RATE)), f"{hits} of 2,000 promoted"


@pytest.mark.deep
def test_orders_that_alternate_side_with_a_plan_where_a_coin_for_every_block_does_not() -> None:
    noise = EXCHANGEABLE["in step with the blocks"]
    hits = {
        order: sum(
            anytime_valid(block_ratios(noise, seed, 1.0, BLOCKS, order)) for seed in range(2_000)
        )
        for order in (block_order, alternating_order)
    }
    bound = most_hits(2_000, float(RATE))
    assert hits[block_order] <= bound < hits[alternating_order]
