"""What a report says: models, their shapes, and for each the decision with its evidence.

Pure values, computed from what was read; the page, its figures and the JSON document show these and
compute nothing of their own.
"""

from fractions import Fraction

from attrs import frozen

from ortsel.report.question import Question
from ortsel.store.search_log import Considered
from spec.record import Record
from spec.report import CandidateReport, Outcome, TrialReport

MEASURED_AGAINST: frozenset[Outcome] = frozenset(
    {
        Outcome.REFERENCE,
        Outcome.PROMOTED,
        Outcome.FASTER,
        Outcome.NOT_FASTER,
        Outcome.NOISY,
        Outcome.SKIPPED,
    }
)
"""Regret is against the best of these that has a ratio. One whose time ran out before a verdict may
have been the better choice; one that gave wrong outputs or failed was none."""
REJECTED: frozenset[Outcome] = frozenset({Outcome.FAILED, Outcome.BANNED, Outcome.INELIGIBLE})


@frozen
class Regret:
    """How far the chosen plan stayed behind the best one measured in the same search."""

    ratio: Fraction
    """Time of the chosen over the best, at least 1."""
    spread: Fraction
    """Relative: the dispersions of both added."""
    best: str
    """Name of the best."""


@frozen
class Search:
    """One search of a shape."""

    created_s: int
    key: str
    key_text: str
    report: TrialReport
    considered: Considered | None = None
    """What there was to choose from, where the log says so."""

    def counts(self) -> dict[str, int | None]:
        """Return how many candidates were generated and left out, measured and verified.

        None for the first two where the log does not say.
        """
        others = [one for one in self.report.candidates if one.outcome is not Outcome.REFERENCE]
        known = self.considered
        return {
            "generated": None if known is None else known.generated,
            "left_out": None if known is None else sum(count for _, count in known.left_out),
            "measured": sum(one.blocks > 0 for one in others),
            "verified": sum(one.verified for one in others),
        }

    def counts_words(self) -> str:
        """Return the counts as a sentence, with the rules that left candidates out."""
        counts = self.counts()
        words = f"{counts['measured']} measured, {counts['verified']} verified"
        if self.considered is None:
            return words
        rules = ", ".join(f"{count} {rule}" for rule, count in self.considered.left_out)
        left_out = f"{counts['left_out']} left out{f' ({rules})' if rules else ''}"
        return f"{counts['generated']} generated, {left_out}, {words}"

    @property
    def reference(self) -> CandidateReport | None:
        """The reference's own line."""
        for candidate in self.report.candidates:
            if candidate.outcome is Outcome.REFERENCE:
                return candidate
        return None

    @property
    def states(self) -> int:
        """Most states of the machine that one candidate's blocks were in (E9); 0 without blocks."""
        return max((one.states for one in self.report.candidates), default=0)

    @property
    def longest_ns(self) -> int:
        """The longest time from the first to the last block of one candidate."""
        return max((one.window_ns for one in self.report.candidates), default=0)

    def candidate(self, name: str) -> CandidateReport | None:
        """Return a candidate's line."""
        for candidate in self.report.candidates:
            if candidate.name == name:
                return candidate
        return None

    @property
    def winner_ratio(self) -> Fraction:
        """Time of the winner over the reference's; 1 where the reference stayed."""
        winner = self.candidate(self.report.winner)
        if winner is None or winner.ratio is None or winner.outcome is Outcome.REFERENCE:
            return Fraction(1)
        return winner.ratio or Fraction(1)

    @property
    def winner_dispersion(self) -> Fraction:
        """Relative spread of that ratio."""
        winner = self.candidate(self.report.winner)
        if winner is None or winner.dispersion is None or winner.outcome is Outcome.REFERENCE:
            return Fraction(0)
        return winner.dispersion

    @property
    def reference_ns(self) -> int | None:
        """Median time of the reference."""
        return None if self.reference is None else self.reference.median_ns

    @property
    def winner_ns(self) -> int | None:
        """Median time of the winner."""
        winner = self.candidate(self.report.winner)
        return self.reference_ns if winner is None else winner.median_ns

    def regret(self) -> Regret | None:
        """Return the regret of the choice; None where nothing was measured."""
        rivals = [
            (candidate.ratio, candidate.dispersion or Fraction(0), candidate.name)
            for candidate in self.report.candidates
            if candidate.outcome in MEASURED_AGAINST
            and candidate.outcome is not Outcome.REFERENCE
            and candidate.ratio
        ]
        if self.reference is None and not rivals:
            return None
        reference = "reference" if self.reference is None else self.reference.name
        best, spread, name = min([*rivals, (Fraction(1), Fraction(0), reference)])
        chosen = max(self.winner_ratio, best)
        if name == self.report.winner:
            spread = Fraction(0)
        else:
            spread += self.winner_dispersion
        return Regret(chosen / best, spread, name)


@frozen
class Withdrawal:
    """A plan that was taken back while it served."""

    created_s: int
    plan: str
    reason: str


@frozen
class Slowdown:
    """A search that found less advantage than the search before, by more than both spreads."""

    created_s: int
    before: Fraction
    """Time over the reference's, before and now."""
    now: Fraction
    plan_before: str
    plan_now: str
    changed: tuple[str, ...]
    """Parts of the key that differ between the two searches."""


@frozen
class Shape:
    """One question with everything known about it."""

    question: Question
    label: str
    """Short, and unlike the label of every other shape of the model."""
    record: Record | None
    """The newest decision that the store holds."""
    searches: tuple[Search, ...]
    """Oldest first."""
    withdrawals: tuple[Withdrawal, ...] = ()
    slowdowns: tuple[Slowdown, ...] = ()

    @property
    def newest(self) -> Search | None:
        """The newest search."""
        return self.searches[-1] if self.searches else None

    @property
    def reference(self) -> str:
        """Name of the reference."""
        if self.record is not None:
            return self.record.reference
        line = None if self.newest is None else self.newest.reference
        return "reference" if line is None else line.name

    @property
    def winner(self) -> str:
        """Name of the plan that the decision serves; the reference's where there is none."""
        return self.reference if self.record is None else self.record.winner

    @property
    def ratio(self) -> Fraction:
        """Time of that plan over the reference's."""
        return Fraction(1) if self.serves_reference or not self.record else self.record.ratio

    @property
    def serves_reference(self) -> bool:
        """Whether plain ONNX Runtime's session stays."""
        return self.winner == self.reference

    @property
    def created_s(self) -> int:
        """When it was last decided or searched."""
        times = [search.created_s for search in self.searches]
        return max([*times, 0 if self.record is None else self.record.created_s])

    @property
    def regret(self) -> Regret | None:
        """Regret of the newest search's choice."""
        return None if self.newest is None else self.newest.regret()


@frozen
class Model:
    """One model's shapes."""

    digest: str
    name: str
    """What the caller calls it; empty where nobody said."""
    shapes: tuple[Shape, ...]

    @property
    def title(self) -> str:
        """Return the name, or the beginning of the digest."""
        if self.name:
            return self.name
        return f"model {self.digest[:12]}" if self.digest else "unnamed models"

    @property
    def plans(self) -> tuple[str, ...]:
        """Names of the plans that serve any shape, the most frequent first, no reference."""
        served = [shape.winner for shape in self.shapes if not shape.serves_reference]
        return tuple(sorted(dict.fromkeys(served), key=lambda name: (-served.count(name), name)))


@frozen
class Contents:
    """Everything that a report says."""

    models: tuple[Model, ...]
    problems: tuple[str, ...]
    left_out: int

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Every shape of every model."""
        return tuple(shape for model in self.models for shape in model.shapes)
