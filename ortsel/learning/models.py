"""The scikit-learn models, with fixed seeds, one thread and a scaler where the model needs one."""

import warnings
from enum import Enum
from importlib import import_module
from typing import Protocol, assert_never

from ortsel.errors import MissingPackageError
from ortsel.learning.design_matrix import Floats


class ModelKind(Enum):
    """Which model learns log2 latency."""

    LINEAR = "linear"
    """Least squares with a small penalty: there are more columns than a few measurements fix."""
    DECISION_TREE = "decision_tree"
    RANDOM_FOREST = "random_forest"
    SUPPORT_VECTORS = "support_vectors"
    NEURAL_NETWORK = "neural_network"


class Estimator(Protocol):
    """What is used of a scikit-learn regressor."""

    def fit(self, rows: Floats, targets: Floats) -> object:
        """Learn; changes the estimator."""
        ...

    def predict(self, rows: Floats) -> Floats:
        """Return one number per row."""
        ...


def require_scikit_learn() -> None:
    """Raise `MissingPackageError` naming the extra if scikit-learn cannot be imported."""
    try:
        import_module("sklearn")
    except ImportError as error:
        raise MissingPackageError("ortsel.learning", "scikit-learn", "learning") from error


def fitted(kind: ModelKind, seed: int, rows: Floats, targets: Floats) -> Estimator:
    """Return a new model of that kind, fitted; equal arguments give equal predictions.

    Raises `MissingPackageError` naming the extra if scikit-learn is not installed.
    """
    require_scikit_learn()
    estimator = _estimator(kind, seed)
    # One thread: these matrices are small, and a pool that spins would disturb what is served.
    one_thread = import_module("threadpoolctl").threadpool_limits(limits=1)
    with one_thread, warnings.catch_warnings():
        # A network that stopped early is judged by its held-out error like any other model.
        from sklearn.exceptions import ConvergenceWarning

        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(rows, targets)
    return estimator


def _estimator(kind: ModelKind, seed: int) -> Estimator:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR
    from sklearn.tree import DecisionTreeRegressor

    model: Estimator
    match kind:
        case ModelKind.LINEAR:
            model = make_pipeline(StandardScaler(), Ridge(alpha=0.1, solver="cholesky"))
        case ModelKind.DECISION_TREE:
            model = DecisionTreeRegressor(min_samples_leaf=2, random_state=seed)
        case ModelKind.RANDOM_FOREST:
            model = RandomForestRegressor(n_estimators=50, random_state=seed, n_jobs=1)
        case ModelKind.SUPPORT_VECTORS:
            model = make_pipeline(StandardScaler(), SVR(C=10.0, epsilon=0.01))
        case ModelKind.NEURAL_NETWORK:
            network = MLPRegressor(
                hidden_layer_sizes=(16, 16),
                solver="lbfgs",  # deterministic and apt for a few hundred rows
                alpha=0.01,
                max_iter=300,
                random_state=seed,
            )
            model = make_pipeline(StandardScaler(), network)
        case _:
            assert_never(kind)
    return model
