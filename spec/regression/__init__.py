"""Regression: does a served choice still hold, and what follows when it doesn't (S9, S10).

Rules take one paired observation at a time and keep a bounded history as a value; times come in
as values too.
"""

from spec.regression.anytime_valid import AnytimeValidRegression
from spec.regression.history import Degraded, Holds, RegressionHistory, RegressionVerdict
from spec.regression.incidents import (
    Ban,
    Consequence,
    Demote,
    IncidentPolicy,
    Incidents,
    after_degradation,
    is_banned,
    went_away,
)
from spec.regression.rule import RegressionRule, observe
from spec.regression.window_median import WindowMedian

__all__ = [
    "AnytimeValidRegression",
    "Ban",
    "Consequence",
    "Degraded",
    "Demote",
    "Holds",
    "IncidentPolicy",
    "Incidents",
    "RegressionHistory",
    "RegressionRule",
    "RegressionVerdict",
    "WindowMedian",
    "after_degradation",
    "is_banned",
    "observe",
    "went_away",
]
