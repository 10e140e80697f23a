"""A scikit-learn model as a `spec.learning.Predictor` (rule L9)."""

from math import log2

import numpy as np
from attrs import field, frozen

from ortsel.errors import UsageError
from ortsel.learning.design_matrix import design_matrix
from ortsel.learning.models import Estimator, ModelKind, fitted
from spec.errors import InvalidValue
from spec.learning import HeldOut, Observation, Point, Prediction, quantised_ns
from spec.learning.observation import by_workload, in_order
from spec.learning.predictor import root_mean_square_millilog2

MIN_FOLDS = 2


@frozen(eq=False)
class FittedScikit:
    """A fitted model. It is never fitted again; predictions leave as whole nanoseconds."""

    plans: tuple[str, ...]
    length_names: tuple[str, ...]
    estimator: Estimator
    held_out: tuple[HeldOut, ...]
    error_millilog2: int

    def predict(self, point: Point) -> Prediction:
        """Predict a latency. Raises `InvalidValue` (L1) for other names of lengths."""
        names = point.features.names
        if names != self.length_names:
            raise InvalidValue("lengths", str(names), f"the names {self.length_names}", "L1")
        value = self.estimator.predict(design_matrix([point], self.plans))[0]
        return Prediction(
            plan=point.plan,
            latency_ns=quantised_ns(float(value)),
            error_millilog2=self.error_millilog2,
            known_plan=point.plan in self.plans,
        )


@frozen
class ScikitPredictor:
    """One kind of model with one seed. Fitting reads no clock and no global random state.

    Held-out predictions come from fits that never saw the workload: the workloads, in order of
    name, are dealt to `folds` folds in turn (one workload per fold if there are no more than that).
    """

    kind: ModelKind
    seed: int = 0
    folds: int = field(default=10)

    def __attrs_post_init__(self) -> None:
        if self.folds < MIN_FOLDS:
            raise UsageError("folds", str(self.folds), f"at least {MIN_FOLDS}")
        if not 0 <= self.seed < 2**32:
            raise UsageError("seed", str(self.seed), "from 0 to 2**32 - 1")

    @property
    def name(self) -> str:
        """Name for reports."""
        return f"scikit-learn {self.kind.value}"

    def fit(self, observations: tuple[Observation, ...]) -> FittedScikit:
        """Learn from observations.

        Raises `MissingPackageError` naming the extra without scikit-learn, and `InvalidValue` (L1)
        for what `spec.learning.observation.in_order` refuses.
        """
        ordered = in_order(observations)
        plans, estimator = self._model(ordered)
        groups = by_workload(ordered)
        folds = min(self.folds, len(groups))
        predicted: dict[int, tuple[float, bool]] = {}
        for fold in range(folds) if len(groups) > 1 else ():
            held = [position for group in groups[fold::folds] for position in group]
            predicted.update(self._predicted_without(ordered, held))
        return FittedScikit(
            plans=plans,
            length_names=ordered[0].point.features.names,
            estimator=estimator,
            held_out=tuple(
                HeldOut(
                    point=ordered[position].point,
                    measured_ns=ordered[position].latency_ns,
                    predicted_ns=quantised_ns(value),
                    known_plan=known,
                )
                for position, (value, known) in sorted(predicted.items())
            ),
            error_millilog2=root_mean_square_millilog2(
                log2(ordered[position].latency_ns) - value
                for position, (value, _) in sorted(predicted.items())
            ),
        )

    def _model(self, observations: tuple[Observation, ...]) -> tuple[tuple[str, ...], Estimator]:
        points = [one.point for one in observations]
        plans = tuple(sorted({point.plan for point in points}))
        targets = np.array([log2(one.latency_ns) for one in observations], dtype=np.float64)
        return plans, fitted(self.kind, self.seed, design_matrix(points, plans), targets)

    def _predicted_without(
        self, observations: tuple[Observation, ...], held: list[int]
    ) -> dict[int, tuple[float, bool]]:
        left_out = set(held)
        rest = tuple(one for position, one in enumerate(observations) if position not in left_out)
        plans, estimator = self._model(rest)
        points = [observations[position].point for position in held]
        values = estimator.predict(design_matrix(points, plans))
        return {
            position: (float(value), point.plan in plans)
            for position, point, value in zip(held, points, values, strict=True)
        }
