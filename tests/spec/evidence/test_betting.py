"""The bet is a supermartingale of a fair coin, so it seldom ever wins much (E4)."""

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.evidence.rivals import sign_test_needs
from spec.evidence.betting import STAKES_AND_WEIGHTS, most_losses, reaches, wealth
from tests.spec.evidence.binomial import most_hits, tail

COUNTS = st.integers(min_value=0, max_value=80)
RATES = st.fractions(min_value=Fraction(1, 10**6), max_value=Fraction(99, 100))


def chance_of_ever_winning(rate: Fraction, trials: int, needs: str) -> Fraction:
    """Return the exact chance that a fair coin passes a rule looked at after every trial."""
    alive = {0: Fraction(1)}
    passed = Fraction(0)
    for trial in range(1, trials + 1):
        tossed: dict[int, Fraction] = {}
        for wins, chance in alive.items():
            for won in (0, 1):
                tossed[wins + won] = tossed.get(wins + won, Fraction(0)) + chance / 2
        alive = {}
        for wins, chance in tossed.items():
            bet = reaches(rate, wins, trial - wins)
            if bet if needs == "bet" else wins >= sign_test_needs(trial, rate):
                passed += chance
            else:
                alive[wins] = chance
    return passed


def test_a_bettor_starts_with_1() -> None:
    assert wealth(0, 0) == 1
    assert sum(weight for _, weight in STAKES_AND_WEIGHTS) == 4, "in quarters"


@given(COUNTS, COUNTS)
def test_a_fair_coin_leaves_the_wealth_as_it_is_on_average(wins: int, losses: int) -> None:
    expected = (wealth(wins + 1, losses) + wealth(wins, losses + 1)) / 2
    assert expected == wealth(wins, losses)


@given(COUNTS, COUNTS, st.fractions(min_value=0, max_value=Fraction(1, 2)))
def test_a_coin_that_wins_less_than_half_shrinks_the_wealth(
    wins: int, losses: int, chance: Fraction
) -> None:
    after = chance * wealth(wins + 1, losses) + (1 - chance) * wealth(wins, losses + 1)
    assert 0 <= after <= wealth(wins, losses)


@given(COUNTS, COUNTS, RATES)
def test_reaching_is_a_matter_of_the_exact_wealth(wins: int, losses: int, rate: Fraction) -> None:
    assert reaches(rate, wins, losses) == (wealth(wins, losses) >= 1 / rate)


def test_wealth_at_exactly_the_threshold_reaches_it() -> None:
    rate = 1 / wealth(9, 1)
    assert reaches(rate, 9, 1)
    assert not reaches(rate - Fraction(1, 10**30), 9, 1)


def test_eight_wins_in_a_row_pass_one_in_a_hundred_and_seven_do_not() -> None:
    assert not reaches(Fraction(1, 100), 7, 0)
    assert reaches(Fraction(1, 100), 8, 0)


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20)])
@pytest.mark.parametrize("trials", [16, 64, 128])
def test_the_exact_chance_that_a_fair_coin_ever_passes_is_within_the_rate(
    rate: Fraction, trials: int
) -> None:
    chance = chance_of_ever_winning(rate, trials, "bet")
    assert rate / 4 < chance <= rate, "far under the rate, the test would waste blocks"


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 100), Fraction(1, 20)])
def test_a_fixed_size_test_looked_at_after_every_trial_breaks_its_rate(rate: Fraction) -> None:
    fixed = sum(comb(64, wins) for wins in range(sign_test_needs(64, rate), 65))
    assert Fraction(fixed, 2**64) <= rate, "pointless unless one look keeps the rate"
    assert chance_of_ever_winning(rate, 64, "sign test") > 2 * rate


@given(RATES, st.integers(min_value=1, max_value=64))
def test_most_losses_is_the_last_number_that_can_still_reach(rate: Fraction, trials: int) -> None:
    most = most_losses(rate, trials)
    reachable = [lost for lost in range(trials + 1) if reaches(rate, trials - lost, lost)]
    assert reachable == list(range(most + 1))


def test_a_short_trial_cannot_afford_winning_every_block() -> None:
    assert most_losses(Fraction(1, 100), 7) == -1
    assert most_losses(Fraction(1, 100), 8) == 0


def test_the_binomial_bound_is_neither_loose_nor_tight() -> None:
    assert tail(10, 0.5, 0) == pytest.approx(1)
    assert tail(10, 0.5, 10) == pytest.approx(1 / 1024)
    bound = most_hits(10_000, 0.01)
    assert 140 < bound < 160, "100 expected, standard deviation 10"
    assert tail(10_000, 0.01, bound + 1) <= 1e-6 < tail(10_000, 0.01, bound)
