"""Ranking: in which order kernels are worth trying, and how good that order was in hindsight."""

from spec.ranking.benchmark import BenchmarkResult, best
from spec.ranking.constraints import Constraint, Unmet, unmet
from spec.ranking.hindsight import Hindsight, Unjudged, judge
from spec.ranking.history import Failed, History, HistoryPolicy, Outcome, Succeeded, Usage
from spec.ranking.inputs import ELEMENT_BITS, KernelInputs, TensorInput
from spec.ranking.kernel import (
    AccessPattern,
    Characteristics,
    Constraints,
    Kernel,
    Scaling,
    ScalingLaw,
    ShapePattern,
    SizeRange,
    Variant,
    VariantKind,
    extrapolated_latency_ns,
)
from spec.ranking.moments import Moments
from spec.ranking.power_of_two import doubled, halved
from spec.ranking.registry import Origin, Registry
from spec.ranking.score import Terms, Weights, score
from spec.ranking.selection import (
    Estimate,
    Excluded,
    NothingEligible,
    Ranked,
    Ranking,
    RankingPolicy,
    RankingRequest,
    SelectionReason,
    Standing,
    rank,
)
from spec.ranking.statistics import SelectionStatistics, Tally

__all__ = [
    "ELEMENT_BITS",
    "AccessPattern",
    "BenchmarkResult",
    "Characteristics",
    "Constraint",
    "Constraints",
    "Estimate",
    "Excluded",
    "Failed",
    "Hindsight",
    "History",
    "HistoryPolicy",
    "Kernel",
    "KernelInputs",
    "Moments",
    "NothingEligible",
    "Origin",
    "Outcome",
    "Ranked",
    "Ranking",
    "RankingPolicy",
    "RankingRequest",
    "Registry",
    "Scaling",
    "ScalingLaw",
    "SelectionReason",
    "SelectionStatistics",
    "ShapePattern",
    "SizeRange",
    "Standing",
    "Succeeded",
    "Tally",
    "TensorInput",
    "Terms",
    "Unjudged",
    "Unmet",
    "Usage",
    "Variant",
    "VariantKind",
    "Weights",
    "best",
    "doubled",
    "extrapolated_latency_ns",
    "halved",
    "judge",
    "rank",
    "score",
    "unmet",
]
