"""Evidence against "no better than a fair coin", as the wealth of a bettor (E4).

A bettor starts with 1 and stakes a share of all it has on every trial being a win. At even odds a
stake of s makes the wealth (1 + s) times itself after a win and (1 - s) times itself after a loss.
If, whatever happened before, a trial is won with probability at most 1/2, the expected factor is
at most 1: the wealth is a nonnegative supermartingale. Ville's inequality then bounds the chance
that it *ever* reaches 1 / rate by `rate`, so it may be looked at after every trial.

No single stake suits every coin. A bettor who splits the initial 1 over several stakes, and never
moves money between them, holds the sum of supermartingales, which is one. The split here:

=====  ======  =============================================
stake  weight  good for
=====  ======  =============================================
1/2    1/4     coins that win 3 of 4
3/4    1/4     coins that win 7 of 8
1      1/2     coins that always win; gone at the first loss
=====  ======  =============================================

At a rate of 1/100 it decides after 8 wins in a row. No test of this kind can do it in fewer than 7,
as a fair coin falls 6 times the same way more often than once in 100. Stakes in quarters keep the
wealth a whole number of 4**-(trials + 1).

Sources: Ville, *Etude critique de la notion de collectif* (1939); Shafer, *Testing by betting*
(2021); Waudby-Smith and Ramdas, *Estimating means of bounded random variables by betting* (2024);
Howard, Ramdas, McAuliffe and Sekhon, *Time-uniform Chernoff bounds via nonnegative
supermartingales* (2020). On why a fixed-size test may not be looked at as one goes: Johari,
Koomen, Pekelis and Walsh, *Always valid inference* (2022).
"""

from fractions import Fraction

QUARTERS = 4
STAKES_AND_WEIGHTS = ((2, 1), (3, 1), (4, 2))
"""Stake in quarters of the wealth, and share of the initial 1 in quarters; the shares sum to 1."""


def wealth(wins: int, losses: int) -> Fraction:
    """Return what an initial 1 has become; the order of wins and losses plays no part."""
    return Fraction(_in_units(wins, losses), QUARTERS ** (wins + losses + 1))


def reaches(rate: Fraction, wins: int, losses: int) -> bool:
    """Say whether the wealth is at least 1 / rate, for a rate under 1."""
    lead = wins - losses
    if lead <= 0 or rate.numerator << lead < rate.denominator:
        return False  # No stake makes more than 2 ** lead of it.
    units_at_1: int = QUARTERS ** (wins + losses + 1)
    return _in_units(wins, losses) * rate.numerator >= units_at_1 * rate.denominator


def most_losses(rate: Fraction, trials: int) -> int:
    """Return the largest number of losses with which `trials` trials can still reach 1 / rate.

    One loss more and the bet is lost, whatever the trials to come bring. Returns -1 where even
    winning every trial would not do.
    """
    possible, impossible = -1, trials + 1
    while impossible - possible > 1:
        losses = (possible + impossible) // 2
        if reaches(rate, trials - losses, losses):
            possible = losses
        else:
            impossible = losses
    return possible


def least_trials(rate: Fraction) -> int:
    """Return the smallest number of trials that reach 1 / rate when all of them are won."""
    trials = 1
    while not reaches(rate, trials, 0):
        trials += 1
    return trials


def _in_units(wins: int, losses: int) -> int:
    """Return the wealth in units of 4**-(wins + losses + 1)."""
    units = 0
    for stake, weight in STAKES_AND_WEIGHTS:
        units += weight * (QUARTERS + stake) ** wins * (QUARTERS - stake) ** losses
    return units
