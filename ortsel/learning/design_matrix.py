"""Points as rows of numbers: features, plan one-hot, and the two crossed."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from spec.learning import Point

Floats = npt.NDArray[np.float64]


def design_matrix(points: Sequence[Point], plans: Sequence[str]) -> Floats:
    """Return one row per point, shape `(points, features + plans * (1 + features))`.

    The one-hot is crossed with the features so that a linear model, too, can learn that plans trade
    places. A plan that is not in `plans` has zeros there.
    """
    column = {plan: position for position, plan in enumerate(plans)}
    features = np.array([point.features.logarithms() for point in points], dtype=np.float64)
    one_hot = np.zeros((len(points), len(plans)), dtype=np.float64)
    for row, point in enumerate(points):
        if point.plan in column:
            one_hot[row, column[point.plan]] = 1.0
    crossed = one_hot[:, :, np.newaxis] * features[:, np.newaxis, :]
    return np.hstack([features, one_hot, crossed.reshape(len(points), -1)])
