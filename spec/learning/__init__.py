"""Learning: predicted latencies that order candidates and may skip hopeless ones, nothing more."""

from spec.learning.hybrid import Algorithm, Comparison, HybridPolicy, compare, reordered, tail
from spec.learning.observation import Observation, Point, WorkloadFeatures
from spec.learning.ordering_error import (
    OrderingError,
    by_prediction,
    by_score,
    ordering_error,
)
from spec.learning.predictor import (
    FittedPredictor,
    HeldOut,
    Prediction,
    Predictor,
    quantised_ns,
)
from spec.learning.ridge import FittedRidge, Ridge
from spec.learning.skipping import Calibration, Skipped, SkipPolicy, calibrate, hopeless

__all__ = [
    "Algorithm",
    "Calibration",
    "Comparison",
    "FittedPredictor",
    "FittedRidge",
    "HeldOut",
    "HybridPolicy",
    "Observation",
    "OrderingError",
    "Point",
    "Prediction",
    "Predictor",
    "Ridge",
    "SkipPolicy",
    "Skipped",
    "WorkloadFeatures",
    "by_prediction",
    "by_score",
    "calibrate",
    "compare",
    "hopeless",
    "ordering_error",
    "quantised_ns",
    "reordered",
    "tail",
]
