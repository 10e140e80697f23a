"""Random scripts that the reference model and an implementation play side by side.

Needs Hypothesis, which only the functions that draw import: `pip install ortsel[test]`.
"""

from conformance.fuzzing.candidate import candidate_vector, write_candidate
from conformance.fuzzing.finding import Finding, HypothesisMissingError
from conformance.fuzzing.plan import Plan
from conformance.fuzzing.play import Play, played
from conformance.fuzzing.search import Search, fuzz, spec_alone

__all__ = [
    "Finding",
    "HypothesisMissingError",
    "Plan",
    "Play",
    "Search",
    "candidate_vector",
    "fuzz",
    "played",
    "spec_alone",
    "write_candidate",
]
