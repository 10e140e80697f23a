"""Candidates: other ways to run the user's model, as plans, generated from facts alone.

One family of plans per file. A family is a pure function of the reference and the facts: it loads
no model, starts no session and measures nothing. Reading the facts is apart from that, in `facts`.
"""

from ortsel.candidates.facts import CandidateFacts, GpuFacts
from ortsel.candidates.generation import REFERENCE, generate, offered, search_space
from ortsel.candidates.model_traits import ModelTraits
from ortsel.candidates.own_candidates import (
    CandidateSource,
    CandidateSourceError,
    candidate_plans,
    candidate_space,
    installed_sources,
)
from ortsel.candidates.search_space import LeftOut, SearchSpace

__all__ = [
    "REFERENCE",
    "CandidateFacts",
    "CandidateSource",
    "CandidateSourceError",
    "GpuFacts",
    "LeftOut",
    "ModelTraits",
    "SearchSpace",
    "candidate_plans",
    "candidate_space",
    "generate",
    "installed_sources",
    "offered",
    "search_space",
]
