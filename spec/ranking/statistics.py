"""Totals, popularity and accuracy of selections (rule R17)."""

from fractions import Fraction

from attrs import evolve, field, frozen
from immutables import Map

from spec.errors import InvalidValue
from spec.ranking.hindsight import PPM, Hindsight

MAX_NAMES = 4096
"""Names counted one by one, per kind. Later ones only enter the totals: memory stays bounded."""


@frozen
class Tally:
    """How many choices were judged, how many were accurate, and what the others cost."""

    judged: int = 0
    accurate: int = 0
    regret_ppm: int = 0
    """Sum over the judged choices, in millionths."""
    worst_regret_ppm: int = 0

    def add(self, hindsight: Hindsight) -> "Tally":
        """Return the tally with one more judged choice."""
        regret_ppm = hindsight.regret_ppm
        return Tally(
            self.judged + 1,
            self.accurate + hindsight.accurate,
            self.regret_ppm + regret_ppm,
            max(self.worst_regret_ppm, regret_ppm),
        )

    @property
    def accuracy(self) -> Fraction:
        """Accurate among judged; raises `InvalidValue` (R17) where nothing was judged."""
        return Fraction(self.accurate, self._judged())

    @property
    def mean_regret(self) -> Fraction:
        """Mean regret, each rounded up to millionths; raises as `accuracy` does."""
        return Fraction(self.regret_ppm, self._judged() * PPM)

    def _judged(self) -> int:
        if not self.judged:
            raise InvalidValue("judged", "0", "at least one judged choice", "R17")
        return self.judged


@frozen
class SelectionStatistics:
    """Counts of selections and what hindsight said of them. A change returns a new value."""

    selections: int = 0
    by_kernel: Map[str, int] = field(factory=Map)
    overall: Tally = Tally()
    by_operation: Map[str, Tally] = field(factory=Map)
    by_backend: Map[str, Tally] = field(factory=Map)

    def selected(self, kernel_id: str) -> "SelectionStatistics":
        """Return the statistics with one more selection of `kernel_id`."""
        return evolve(
            self,
            selections=self.selections + 1,
            by_kernel=_counted(self.by_kernel, kernel_id),
        )

    def judged(self, operation: str, backend: str, hindsight: Hindsight) -> "SelectionStatistics":
        """Return the statistics with the hindsight on one earlier selection.

        An unjudged selection is simply never passed here: it counts as a selection, not as a hit.
        Raises `InvalidValue` (R17) if more would be judged than were selected.
        """
        if self.overall.judged >= self.selections:
            raise InvalidValue("judged", str(self.selections + 1), "at most selections", "R17")
        return evolve(
            self,
            overall=self.overall.add(hindsight),
            by_operation=_tallied(self.by_operation, operation, hindsight),
            by_backend=_tallied(self.by_backend, backend, hindsight),
        )

    def popular(self, limit: int = 10) -> tuple[tuple[str, int], ...]:
        """Return the most often selected kernels and their counts: by count, then by id."""
        ranked = sorted(self.by_kernel.items(), key=lambda item: (-item[1], item[0]))
        return tuple(ranked[: max(0, limit)])


def _counted(counts: Map[str, int], name: str) -> Map[str, int]:
    if name not in counts and len(counts) >= MAX_NAMES:
        return counts
    return counts.set(name, counts.get(name, 0) + 1)


def _tallied(tallies: Map[str, Tally], name: str, hindsight: Hindsight) -> Map[str, Tally]:
    if name not in tallies and len(tallies) >= MAX_NAMES:
        return tallies
    return tallies.set(name, tallies.get(name, Tally()).add(hindsight))
