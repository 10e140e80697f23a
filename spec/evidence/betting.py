"""Wealth of a bettor who stakes a share of it on every block: evidence against fair coins."""

from fractions import Fraction

from attrs import frozen

STAKES = (1, 2, 3, 4)
WEIGHTS = (1, 1, 1, 1)


@frozen
class Wealth:
    """Wins and losses of a bet, and what a unit of money became."""

    wins: int = 0
    losses: int = 0

    def after(self, *, won: bool) -> "Wealth":
        """Return the wealth after one more bet."""
        return Wealth(self.wins + won, self.losses + (not won))

    @property
    def value(self) -> Fraction:
        """The mixture's wealth, exactly."""
        total = sum(
            weight * (4 + stake) ** self.wins * (4 - stake) ** self.losses
            for stake, weight in zip(STAKES, WEIGHTS, strict=True)
        )
        return Fraction(total, sum(WEIGHTS) * 4 ** (self.wins + self.losses))

    def reaches(self, rate: Fraction) -> bool:
        """Say whether the wealth is at least 1 / rate."""
        return self.value * rate >= 1
