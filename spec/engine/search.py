"""A request under way: what is known so far, and the one effect that it waits for."""

from fractions import Fraction
from typing import Final, TypeAlias

from attrs import field, frozen

from spec.candidate import CandidateSet
from spec.engine.effect import LoadRecord, Measure, Validate
from spec.evidence.block import Block, Side
from spec.evidence.rule import EvidenceRule
from spec.keys import CacheKey
from spec.moment import Moment
from spec.problem import Problem
from spec.record import Record
from spec.report import CandidateReport


@frozen
class Check:
    """What a validator said about a candidate's outputs."""

    verified: bool
    feeds: int
    provisional: bool
    """Passed on synthetic feeds only."""


UNCHECKED: Final = Check(verified=False, feeds=0, provisional=False)
"""Nothing could be compared, and the policy lets it pass."""

PROVISIONAL: Final = "verified on synthetic feeds only"
"""Reason of a decision that has not been verified on feeds that a user sent."""


@frozen
class Loading:
    """The store was asked."""

    awaits: LoadRecord


@frozen
class Confirming:
    """A record was found, and its winner is being validated in this process (S5)."""

    record: Record
    remaining_ns: int
    """How long the record stays fresh, counted from `since_ns`."""
    since_ns: int
    """Monotonic time at which the record was found."""
    is_stored: bool
    """Whether it came from the store, so that a failure removes it there."""
    awaits: Validate


@frozen
class Trial:
    """One candidate's turn, or the reference's at the start of the exploration."""

    candidate: int
    warmups_left: int
    deadline_ns: int
    """Monotonic time at which the turn ends: its share of what was left of the budget."""
    first_ns: int | None = None
    """Its very first measurement: what a first call costs."""
    min_speedup: Fraction = Fraction(1)
    """What its blocks must show, its first call's extra cost included."""
    to_beat: Fraction | None = None
    """Block ratio at which it would cost as much as the best so far; None while there is none."""
    check: Check = UNCHECKED
    blocks: tuple[Block, ...] = ()
    ratios: tuple[Fraction, ...] = ()
    """Of `blocks`, in order."""
    order: tuple[Side, ...] = ()
    """Of the block under way."""
    times_ns: tuple[int, ...] = ()
    """Measured so far in the block under way; side by side with `order`."""
    block_started_ns: int = 0


@frozen
class Contender:
    """A candidate that qualified, with its evidence. Who wins is decided at the end (S7)."""

    candidate: int
    ratio: Fraction
    dispersion: Fraction
    blocks: int
    reference_ns: int
    candidate_ns: int
    check: Check
    cost: Fraction
    """Of a call in the long run, over that of the reference: the ratio, and this call's share of
    what the first one costs more than the reference's."""
    first_ns: int | None = None


@frozen
class Exploring:
    """The search proper (S6)."""

    trial: Trial
    awaits: Measure | Validate
    baseline: Contender | None = None
    """The reference as a contender of ratio 1; None until it was measured."""
    reports: tuple[CandidateReport, ...] = ()
    """Of the turns that ended; the reference's first."""
    contenders: tuple[Contender, ...] = ()
    tried: int = 1
    """Candidates whose turn began, the reference included."""
    verdicts: int = 0
    """Candidates other than the reference that were measured to a verdict."""
    out_of_time: bool = False
    """A candidate was skipped or cut because the budget ended."""
    complete: bool = True
    """Every eligible candidate got its turn, and none failed for a reason that passes."""


Stage: TypeAlias = Loading | Confirming | Exploring


@frozen
class Search:
    """One request that was not answered at once. It holds its key and its lane until it is."""

    request: int
    key: CacheKey
    problem: Problem
    candidates: CandidateSet = field(repr=False)
    reference: int
    started: Moment
    deadline_ns: int
    """Monotonic time at which the budget ends."""
    evidence: EvidenceRule
    """The policy's rule, its rate shared by the candidates (E5)."""
    stage: Stage

    @property
    def reference_name(self) -> str:
        """Name of the candidate that the answer falls back to."""
        return self.candidates[self.reference].name
