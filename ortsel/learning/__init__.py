"""Latency predictors from scikit-learn behind the reference model's `Predictor` protocol.

Needs the extra `learning`; scikit-learn is imported at the first fit and not before.
"""

from ortsel.learning.models import ModelKind
from ortsel.learning.scikit_predictor import FittedScikit, ScikitPredictor

__all__ = ["FittedScikit", "ModelKind", "ScikitPredictor"]
