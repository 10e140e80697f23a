"""What every predictor offers, and the integers it answers with (rules L2, L4)."""

from collections.abc import Iterable
from math import ceil, exp2, isfinite, isnan, sqrt
from typing import Protocol

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.learning.observation import Observation, Point
from spec.ranking.bounds import at_least

MAX_LOG2 = 62
"""Predictions stop at 2^62 ns (146 years), so that they fit a signed 64-bit integer."""


@frozen
class Prediction:
    """A predicted latency, in whole nanoseconds: good for ordering, never evidence."""

    plan: str
    latency_ns: int = field(validator=at_least(1, "L2"))
    error_millilog2: int = field(validator=at_least(0, "L2"))
    """Root mean square error of log2 latency on held-out workloads, in thousandths, rounded up;
    1000 means a typical error of a factor of two."""
    known_plan: bool
    """Whether the plan was observed at all. If not, only the workload speaks."""


@frozen
class HeldOut:
    """An observation and what was predicted for it by a fit that never saw its workload."""

    point: Point
    measured_ns: int
    predicted_ns: int
    known_plan: bool
    """Whether that fit had seen the plan on another workload."""


class FittedPredictor(Protocol):
    """A predictor that has seen observations: a value, the same answers forever."""

    @property
    def held_out(self) -> tuple[HeldOut, ...]:
        """One per observation, in order of workload and plan; empty with fewer than 2 workloads."""
        ...

    def predict(self, point: Point) -> Prediction:
        """Predict the latency of a point. Raises `InvalidValue` (L1) for other length names."""
        ...


class Predictor(Protocol):
    """A way to learn. Fitting changes nothing and depends on no order of the observations."""

    @property
    def name(self) -> str:
        """Name for reports."""
        ...

    def fit(self, observations: tuple[Observation, ...]) -> FittedPredictor:
        """Learn from observations; see `spec.learning.observation.in_order` for what is refused."""
        ...


def quantised_ns(log2_latency: float) -> int:
    """Return 2^x in whole nanoseconds: half to even, at least 1, at most 2^62.

    This is the border between floating point inside a predictor and the integers outside. Raises
    `InvalidValue` (L2) for NaN; infinities go to the bounds.
    """
    if isnan(log2_latency):
        raise InvalidValue("log2_latency", "nan", "a number", "L2")
    if not isfinite(log2_latency):
        return 1 if log2_latency < 0 else 2**MAX_LOG2
    return max(1, round(exp2(min(float(MAX_LOG2), max(-1.0, log2_latency)))))


def root_mean_square_millilog2(errors: Iterable[float]) -> int:
    """Return the root mean square of errors in log2 latency, in thousandths, rounded up."""
    squares = [error * error for error in errors]
    return ceil(1000 * sqrt(sum(squares) / len(squares))) if squares else 0
