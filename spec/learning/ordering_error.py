"""How wrong an order of plans is, on a footing that scores and predictions share (rule L5).

Scores have no unit, so an error in latency cannot be asked of them. What both can be asked: of two
plans measured on the same workload, which one is faster?
"""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.learning.observation import Point
from spec.learning.predictor import HeldOut
from spec.ranking.bounds import at_least

Preference = Callable[[HeldOut], Fraction]
"""A number per plan and workload; the smaller one is tried first."""


@frozen
class OrderingError:
    """Mistakes of an order over decided pairs: a wrong order counts 2 halves, a tie 1."""

    pairs: int = field(validator=at_least(0, "L5"))
    halves: int = field(validator=at_least(0, "L5"))

    def __attrs_post_init__(self) -> None:
        if self.halves > 2 * self.pairs:
            raise InvalidValue("halves", str(self.halves), f"at most {2 * self.pairs}", "L5")

    @property
    def share(self) -> Fraction:
        """Mistakes per pair, from 0 to 1, 1/2 for guessing; raises `InvalidValue` for no pair."""
        if not self.pairs:
            raise InvalidValue("pairs", "0", "at least one decided pair", "L5")
        return Fraction(self.halves, 2 * self.pairs)

    @property
    def confidence(self) -> Fraction:
        """Laplace's estimate that the next pair is ordered right: (right + 1) / (pairs + 2)."""
        return Fraction(2 * self.pairs - self.halves + 2, 2 * self.pairs + 4)


def ordering_error(
    measured: tuple[HeldOut, ...], preference: Preference, margin: Fraction
) -> OrderingError:
    """Count the mistakes of a preference over the pairs of plans measured on the same workload.

    A pair is decided if the slower one takes more than (1 + margin) times the faster one; the
    others are noise and count for nobody.
    """
    pairs = halves = 0
    for one, other in combinations(measured, 2):
        if one.point.workload != other.point.workload:
            continue
        faster, slower = sorted((one, other), key=lambda plan: plan.measured_ns)
        if slower.measured_ns <= (1 + margin) * faster.measured_ns:
            continue
        pairs += 1
        wanted, unwanted = preference(faster), preference(slower)
        halves += 2 if wanted > unwanted else int(wanted == unwanted)
    return OrderingError(pairs, halves)


def workloads_of(measured: tuple[HeldOut, ...]) -> tuple[tuple[HeldOut, ...], ...]:
    """Return the held-out observations of each workload, workloads in order of name."""
    groups: dict[str, list[HeldOut]] = {}
    for one in measured:
        groups.setdefault(one.point.workload, []).append(one)
    return tuple(tuple(groups[name]) for name in sorted(groups))


def by_prediction(one: HeldOut) -> Fraction:
    """Prefer the smaller held-out prediction."""
    return Fraction(one.predicted_ns)


def by_score(scores: dict[Point, Fraction]) -> Preference:
    """Prefer the larger score. Raises `InvalidValue` (L5) where a point has none."""

    def preference(one: HeldOut) -> Fraction:
        if one.point not in scores:
            raise InvalidValue("scores", f"none for {one.point}", "a score per observation", "L5")
        return -scores[one.point]

    return preference
