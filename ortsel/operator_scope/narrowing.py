"""From decisions about attention by itself to what is tried on the whole model."""

from fractions import Fraction
from typing import Final

from attrs import frozen

from ortsel.candidates.search_space import LeftOut
from ortsel.operator_scope.cutting import CutAttention
from ortsel.operator_scope.resting import RULE, Resting
from spec.record import Record
from spec.report import CandidateReport, Outcome

CLEARLY: Final = Fraction(11, 10)
"""One that takes this much longer than the best has lost, however noisy its times are."""


@frozen
class Decided:
    """One kind of attention with the decision about it."""

    attention: CutAttention
    record: Record | None
    """None where the search did not come to its end."""
    candidates: tuple[CandidateReport, ...] = ()
    """What the search found, if it was made in this process."""

    def loses(self, name: str, variant: str, min_speedup: Fraction) -> str:
        """Return why a plan has no chance on the whole model; empty where it may have one.

        `min_speedup` is what it would need there.
        """
        refused = dict(self.attention.refused).get(variant)
        if refused is not None:
            return f"refused: {refused}"
        winner, ratio = self.best()
        if winner == name:
            return ""
        report = next((one for one in self.candidates if one.name == name), None)
        if report is not None:
            return _lost(report, winner, ratio, min_speedup)
        # A record alone says of the others what it says of all: that none was worth a promotion.
        is_known = self.record is not None and self.record.winner == self.record.reference
        return "no way of writing it was faster" if is_known else ""

    def shows_no_gain(self, name: str, min_speedup: Fraction) -> bool:
        """Whether a plan was measured here and gained less than the whole model needs."""
        return any(
            one.name == name and one.ratio is not None and one.ratio * min_speedup > 1
            for one in self.candidates
        )

    def best(self) -> tuple[str, Fraction]:
        """Return the plan that won, or that would have won so far, with its ratio."""
        if self.record is not None:
            return self.record.winner, self.record.ratio
        wins = (Outcome.FASTER, Outcome.PROMOTED)
        faster = [
            (one.ratio, one.name)
            for one in self.candidates
            if one.outcome in wins and one.ratio is not None
        ]
        ratio, name = min(faster, default=(Fraction(1), "reference"))
        return name, ratio

    def saved_ns(self) -> int:
        """Return what the best plan saves in one run of the whole model."""
        _, ratio = self.best()
        reference_ns = next((one.median_ns or 0 for one in self.candidates[:1]), 0)
        if self.record is not None:
            if self.record.winner == self.record.reference:
                return 0
            reference_ns = self.record.reference_ns
        return int(self.attention.instances * reference_ns * (1 - ratio))


def _lost(report: CandidateReport, winner: str, best: Fraction, min_speedup: Fraction) -> str:
    ratio = report.ratio
    if report.outcome is Outcome.FAILED:
        return f"failed: {report.reason}"
    measured = (Outcome.NOT_FASTER, Outcome.FASTER, Outcome.NOISY)
    if report.outcome not in measured:
        return ""
    if ratio is None:
        return "its first call costs more than it could save"
    near = report.outcome is Outcome.NOISY or ratio * min_speedup <= 1
    if near and ratio < CLEARLY * best:
        return ""
    words = f"{float(ratio):.2f} times the reference's time"
    return f"{words}, {winner} {float(best):.2f} times"


def narrowed_by(
    decided: tuple[Decided, ...],
    plans: tuple[tuple[str, str], ...],
    min_speedup: Fraction,
) -> Resting:
    """Return what follows for a model with all this attention.

    `plans` are candidates by name, with their variant. One is left out where it loses at every kind
    of attention, since it rewrites all of them at once; those that win somewhere come first, by the
    time that they save, and those that showed no gain anywhere come last. Where something is
    undecided none is left out: what lost comes last.
    """
    lost = []
    for name, variant in plans:
        reasons = [one.loses(name, variant, min_speedup) for one in decided]
        if all(reasons):
            lost.append(LeftOut(name, RULE, "; ".join(dict.fromkeys(reasons))))
    records = [one.record for one in decided if one.record is not None]
    if len(records) < len(decided):
        return Resting(first=winners_first(decided), last=tuple(one.name for one in lost))
    decisions = sorted((record.key, record.winner) for record in records)
    last = tuple(
        name for name, _ in plans if all(one.shows_no_gain(name, min_speedup) for one in decided)
    )
    return Resting(tuple(decisions), tuple(lost), winners_first(decided), last)


def winners_first(decided: tuple[Decided, ...]) -> tuple[str, ...]:
    """Return the plans that win anywhere, the one that saves most time first."""
    saved: dict[str, int] = {}
    for one in decided:
        if (gain_ns := one.saved_ns()) > 0:
            name, _ = one.best()
            saved[name] = saved.get(name, 0) + gain_ns
    return tuple(sorted(saved, key=lambda name: (-saved[name], name)))
