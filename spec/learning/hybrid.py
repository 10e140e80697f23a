"""When the learned order may replace the score order (rules L6, L8)."""

from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from math import comb

from attrs import evolve, field, frozen

from spec.learning.observation import Point
from spec.learning.ordering_error import (
    OrderingError,
    by_prediction,
    by_score,
    ordering_error,
    workloads_of,
)
from spec.learning.predictor import HeldOut, Prediction
from spec.ranking.bounds import at_least, not_negative, unit_interval
from spec.ranking.selection import Ranked, SelectionReason, default_first_in_doubt


class Algorithm(Enum):
    """Which order is used."""

    SCORE = "score"
    LEARNED = "learned"
    HYBRID = "hybrid"


@frozen
class HybridPolicy:
    """What the learned order must prove."""

    margin: Fraction = field(default=Fraction(1, 20), validator=not_negative("L5"))
    """Two latencies this close are not a decided pair."""
    risk: Fraction = field(default=Fraction(1, 20), validator=unit_interval("L6"))
    """At most this probability that an order no better than the scores is taken for better."""
    minimum_pairs: int = field(default=20, validator=at_least(1, "L6"))


@frozen
class Comparison:
    """Held-out ordering errors of the learned order and the score order on the same pairs."""

    learned: OrderingError
    scored: OrderingError
    learned_better: int
    """Workloads on which the learned order made fewer mistakes."""
    scored_better: int
    learned_wins: bool


def compare(
    held_out: tuple[HeldOut, ...], scores: Mapping[Point, Fraction], policy: HybridPolicy
) -> Comparison:
    """Compare both orders on the same observations, each without knowledge of the workload.

    `held_out` comes from fits that never saw the workload; `scores` must be as blind: priorities
    from an empty history of that workload and no served plan, or they would quote the very
    latencies they are judged by. Raises `InvalidValue` (L5) if an observation has no score.

    The learned order wins if there are enough decided pairs, it makes fewer mistakes in total, and
    the sign test over workloads rejects, at the stated risk, that it is no better: pairs of one
    workload share its latencies and are not independent, workloads are.
    """
    scored_preference = by_score(dict(scores))
    learned = ordering_error(held_out, by_prediction, policy.margin)
    scored = ordering_error(held_out, scored_preference, policy.margin)
    learned_better = scored_better = 0
    for group in workloads_of(held_out):
        ours = ordering_error(group, by_prediction, policy.margin).halves
        theirs = ordering_error(group, scored_preference, policy.margin).halves
        learned_better += ours < theirs
        scored_better += theirs < ours
    decided = learned_better + scored_better
    wins = (
        learned.pairs >= policy.minimum_pairs
        and learned.halves < scored.halves
        and tail(decided, learned_better) <= policy.risk
    )
    return Comparison(learned, scored, learned_better, scored_better, learned_wins=wins)


def tail(tosses: int, heads: int) -> Fraction:
    """Return the exact probability of at least `heads` heads in `tosses` tosses of a fair coin."""
    ways = sum(comb(tosses, count) for count in range(max(0, heads), tosses + 1))
    return Fraction(ways, 1 << tosses)


def reordered(
    ranked: Ranked,
    predictions: tuple[Prediction, ...],
    comparison: Comparison,
    algorithm: Algorithm,
    minimum_confidence: Fraction = Fraction(4, 5),
) -> Ranked:
    """Return the ranking in the order the algorithm asks for: the same kernels, only moved.

    `SCORE` changes nothing; `HYBRID` changes something only if the learned order won. Kernels go by
    predicted latency, then default first, then their place in the score order. A kernel without a
    prediction, or whose plan was never observed, is taken to be as fast as the default (the last if
    the default has no such prediction): not knowing is no merit and no blame.

    The confidence is the learned order's on held-out pairs; below `minimum_confidence` the default
    stays first.
    """
    if algorithm is Algorithm.SCORE:
        return ranked
    if algorithm is Algorithm.HYBRID and not comparison.learned_wins:
        return ranked
    latencies = {one.plan: one.latency_ns for one in predictions if one.known_plan}
    slowest = max(latencies.values(), default=0) + 1
    unknown = slowest if ranked.default_id is None else latencies.get(ranked.default_id, slowest)
    placed = sorted(
        enumerate(ranked.order),
        key=lambda item: (
            latencies.get(item[1].kernel_id, unknown),
            item[1].kernel_id != ranked.default_id,
            item[0],
        ),
    )
    reason = SelectionReason.HYBRID if algorithm is Algorithm.HYBRID else SelectionReason.LEARNED
    moved = evolve(
        ranked,
        order=tuple(standing for _, standing in placed),
        reason=reason,
        confidence=comparison.learned.confidence,
    )
    return default_first_in_doubt(moved, minimum_confidence)
