"""What a search has to choose from: plans in the order they are tried, and what was left out.

Every candidate that is left out says by which rule, so that the size of a search can be explained.
"""

from collections import Counter

from attrs import frozen

from ortsel.plan import Plan


@frozen
class LeftOut:
    """A candidate, or a whole family of them, that is not worth a trial here."""

    name: str
    rule: str
    """Short name of the rule: "same-as-reference", "users-choice", "no-device", "no-gain", ..."""
    reason: str
    """What was found, in words."""


@frozen
class SearchSpace:
    """Plans and what was left out."""

    plans: tuple[Plan, ...]
    """The reference, then the candidates in ranked order."""
    left_out: tuple[LeftOut, ...] = ()
    placed: tuple[tuple[str, str], ...] = ()
    """Why each candidate has its place in the order, by its name; empty where nobody asked the
    history."""

    @property
    def generated(self) -> int:
        """How many candidates were thought of, those left out included."""
        return len(self.plans) - 1 + len(self.left_out)

    def left_out_by_rule(self) -> tuple[tuple[str, int], ...]:
        """Return how many candidates each rule left out, by its name."""
        return tuple(sorted(Counter(one.rule for one in self.left_out).items()))
