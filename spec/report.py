"""What a search did, candidate by candidate."""

from enum import Enum
from fractions import Fraction

from attrs import frozen

from spec.problem import Scope


class Outcome(Enum):
    """How a candidate fared in one search."""

    REFERENCE = "reference"
    PROMOTED = "promoted"
    FASTER = "faster"
    """Qualified, but another was better."""
    NOT_FASTER = "not-faster"
    NOISY = "noisy"
    INELIGIBLE = "ineligible"
    BANNED = "banned"
    SKIPPED = "skipped"
    """The budget or the candidate limit ended the search first."""
    FAILED = "failed"


@frozen
class CandidateReport:
    """One candidate's evidence and fate."""

    name: str
    outcome: Outcome
    blocks: int = 0
    ratio: Fraction | None = None
    dispersion: Fraction | None = None
    verified: bool = False
    first_ns: int | None = None
    """Time of its very first measurement: what a first call costs beyond a steady one."""
    median_ns: int | None = None
    states: int = 0
    """States of the machine that its blocks were measured in (E9): 0 without blocks, 1 or 2."""
    window_ns: int = 0
    """From the start of its first block to that of its last."""
    reason: str = ""
    """Why it is not the winner, or what it failed with."""


@frozen
class TrialReport:
    """One whole search."""

    key: str
    scope: Scope
    operation: str
    winner: str
    elapsed_ns: int
    budget_exhausted: bool
    candidates: tuple[CandidateReport, ...]
