"""Ridge regression on log latency, with held-out errors in closed form (rules L3, L4).

Every plan has its own line over the features, drawn towards a line that all plans share:

    log2 latency = (16, x) . (shared + own[plan]),    x = WorkloadFeatures.logarithms()

A plan one-hot alone would only shift plans by a constant, so their order would be the same for
every workload and no crossover could be learned; the one-hot is therefore crossed with x. The
constant feature is 16, so the intercept is penalised 256 times less than a slope.

Solved in its dual form: K is the matrix of inner products of the n observations, G the inverse of
K + lambda I, alpha = G y. Leaving out a set S of observations and fitting the rest again predicts

    y_S - inverse(G_SS) alpha_S

exactly. For a single observation that is the familiar (y_i - fit_i) / (1 - h_ii), with the hat
matrix H = I - lambda G.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import log2

from attrs import field, frozen
from immutables import Map

from spec.errors import InvalidValue
from spec.learning.cholesky import (
    Matrix,
    Vector,
    dot,
    factor,
    inverse_entry,
    inverse_factor_columns,
    solve,
)
from spec.learning.observation import Observation, Point, by_workload, in_order, seen_elsewhere
from spec.learning.predictor import (
    HeldOut,
    Prediction,
    quantised_ns,
    root_mean_square_millilog2,
)
from spec.ranking.bounds import not_negative

INTERCEPT = 16.0


def _design(point: Point) -> Vector:
    return (INTERCEPT, *point.features.logarithms())


def _similarity(left: Point, right: Point, left_row: Vector, right_row: Vector) -> float:
    return dot(left_row, right_row) * (2.0 if left.plan == right.plan else 1.0)


@frozen
class FittedRidge:
    """A fitted ridge regression."""

    observations: tuple[Observation, ...]
    dual: Vector
    inverse_columns: Matrix
    shared: Vector
    own: Map[str, Vector]
    """By plan; a plan never observed has none."""
    held_out: tuple[HeldOut, ...]
    error_millilog2: int

    def predict(self, point: Point) -> Prediction:
        """Predict a latency; the error is that on held-out workloads (0 where none could be)."""
        names = self.observations[0].point.features.names
        if point.features.names != names:
            raise InvalidValue("lengths", str(point.features.names), f"the names {names}", "L1")
        row = _design(point)
        own = self.own.get(point.plan)
        return Prediction(
            plan=point.plan,
            latency_ns=quantised_ns(
                dot(row, self.shared) + (0.0 if own is None else dot(row, own))
            ),
            error_millilog2=self.error_millilog2,
            known_plan=own is not None,
        )

    def left_out(self, positions: Sequence[int]) -> Vector:
        """Return the log2 latencies predicted for these observations by a fit without them."""
        return _left_out(self.observations, self.dual, self.inverse_columns, positions)

    def leave_one_out(self) -> Vector:
        """Return, per observation, its log2 latency minus what a fit without it predicts."""
        return tuple(
            log2(one.latency_ns) - self.left_out((position,))[0]
            for position, one in enumerate(self.observations)
        )


@frozen
class Ridge:
    """Ridge regression as a `Predictor`; cost about the cube of the number of observations."""

    penalty: Fraction = field(default=Fraction(1, 10), validator=not_negative("L3"))
    """Lambda: variance of the noise in log2 latency against that of a slope. Above 0."""

    def __attrs_post_init__(self) -> None:
        if self.penalty == 0:
            raise InvalidValue("penalty", "0", "above 0", "L3")

    @property
    def name(self) -> str:
        """Name for reports."""
        return "ridge"

    def fit(self, observations: tuple[Observation, ...]) -> FittedRidge:
        """Learn from observations; raises `InvalidValue` (L1) for what `in_order` refuses."""
        ordered = in_order(observations)
        points = [one.point for one in ordered]
        rows = [_design(point) for point in points]
        penalty = float(self.penalty)
        system = [
            [
                _similarity(points[left], points[right], rows[left], rows[right])
                + (penalty if left == right else 0.0)
                for right in range(left + 1)
            ]
            for left in range(len(points))
        ]
        lower = factor(system)
        dual = solve(lower, [log2(one.latency_ns) for one in ordered])
        columns = inverse_factor_columns(lower)
        groups = by_workload(ordered)
        predicted: dict[int, float] = {}
        for group in groups if len(groups) > 1 else ():
            left_out = _left_out(ordered, dual, columns, group)
            predicted.update(zip(group, left_out, strict=True))
        return FittedRidge(
            observations=ordered,
            dual=dual,
            inverse_columns=columns,
            shared=_weighted_sum(rows, dual),
            own=_own(points, rows, dual),
            held_out=tuple(
                HeldOut(
                    point=ordered[position].point,
                    measured_ns=ordered[position].latency_ns,
                    predicted_ns=quantised_ns(value),
                    known_plan=seen_elsewhere(ordered, ordered[position].point),
                )
                for position, value in sorted(predicted.items())
            ),
            error_millilog2=root_mean_square_millilog2(
                log2(ordered[position].latency_ns) - value for position, value in predicted.items()
            ),
        )


def _weighted_sum(rows: Sequence[Vector], weights: Sequence[float]) -> Vector:
    return tuple(dot(column, weights) for column in zip(*rows, strict=True))


def _own(points: Sequence[Point], rows: Sequence[Vector], dual: Vector) -> Map[str, Vector]:
    of_plan: dict[str, list[int]] = {}
    for position, point in enumerate(points):
        of_plan.setdefault(point.plan, []).append(position)
    return Map(
        (plan, _weighted_sum([rows[one] for one in positions], [dual[one] for one in positions]))
        for plan, positions in of_plan.items()
    )


def _left_out(
    observations: tuple[Observation, ...], dual: Vector, columns: Matrix, positions: Sequence[int]
) -> Vector:
    block = [
        [inverse_entry(columns, row, column) for column in positions[: place + 1]]
        for place, row in enumerate(positions)
    ]
    residuals = solve(factor(block), [dual[position] for position in positions])
    return tuple(
        log2(observations[position].latency_ns) - residual
        for position, residual in zip(positions, residuals, strict=True)
    )
