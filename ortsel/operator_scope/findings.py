"""What came of deciding about attention by itself, for whoever asks why."""

from fractions import Fraction

from attrs import frozen

from spec.report import CandidateReport


@frozen
class OperatorFinding:
    """The decision about one kind of attention in a model."""

    attention: str
    """How often, which operator, and the shapes of what enters it; empty where a process knows the
    decision alone."""
    plan: str
    """Name of the plan that won; "reference" is attention as the model has it."""
    source: str
    """"tuned" where it was measured for this model, else "stored"."""
    ratio: Fraction | None
    """Time of the plan over the reference's, on attention alone."""
    key: str
    refused: tuple[tuple[str, str], ...] = ()
    """Variants that cannot be built, with the reason."""
    candidates: tuple[CandidateReport, ...] = ()
    """In the order in which they were tried; empty for a decision that was not made here."""

    def counts(self) -> dict[str, int]:
        """Return how many candidates there were: generated, left out, measured and verified."""
        others = self.candidates[1:]
        return {
            "generated": len(others) + len(self.refused),
            "left_out": len(self.refused),
            "measured": sum(one.blocks > 0 for one in others),
            "verified": sum(one.verified for one in others),
        }

    def row(self) -> dict[str, str | int | float | bool | None]:
        """Return it as plain values."""
        return {
            "attention": self.attention,
            "plan": self.plan,
            "source": self.source,
            "ratio": None if self.ratio is None else float(self.ratio),
            "key": self.key,
            **self.counts(),
        }

    def line(self) -> str:
        """Return it as one line of text."""
        ratio = "" if self.ratio is None or self.ratio == 1 else f", ratio {float(self.ratio):.3f}"
        what = f"{self.attention}: " if self.attention else ""
        text = f"{what}{self.plan} by itself ({self.source}{ratio})"
        if not self.candidates:
            return text
        counts = self.counts()
        return (
            f"{text}; {counts['generated']} generated, {counts['left_out']} refused, "
            f"{counts['measured']} measured, {counts['verified']} verified"
        )


@frozen
class OperatorFindings:
    """The decisions about all attention of a model, or why there are none."""

    decisions: tuple[OperatorFinding, ...] = ()
    reason: str = ""
    """Why attention was not looked at by itself; empty where it was, and where there is none."""

    def lines(self) -> list[str]:
        """Return it as lines of text."""
        lines = [f"attention {one.line()}" for one in self.decisions]
        return [*lines, f"attention by itself: {self.reason}"] if self.reason else lines
