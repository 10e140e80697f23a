"""Candidates by family, so that a spec can say which ones a build tries.

The set of candidates is part of a decision's key: whoever builds with some families serves with the
same, by giving `families(...)` to `SelectionConfig.candidates`.
"""

from typing import Final

from attrs import field, frozen

from ortsel.candidates import REFERENCE, CandidateFacts
from ortsel.candidates.generation import FAMILIES, Family, generate
from ortsel.errors import UsageError
from ortsel.plan import Plan

_SUFFIX: Final = "_candidates"


def _word(family: Family) -> str:
    return family.__name__.removesuffix(_SUFFIX).replace("_", "-")


BY_NAME: Final = {_word(family): family for family in FAMILIES}
"""Every family of the catalogue, in the order in which a search tries them."""


@frozen
class Families:
    """A function of the facts that makes the plans of some families; equal for equal names."""

    names: tuple[str, ...] = field()

    @names.validator
    def _check(self, _: object, value: tuple[str, ...]) -> None:
        for name in value:
            if name not in BY_NAME:
                raise UsageError("families", repr(name), f"one of {', '.join(BY_NAME)}")

    def __call__(self, facts: CandidateFacts) -> tuple[Plan, ...]:
        """Return the reference and the plans of these families; of all where none is named."""
        plans = generate(facts.reference, facts)
        if not self.names:
            return plans
        made = {
            one.name
            for name in self.names
            for one in BY_NAME[name](facts.reference, facts)
            if isinstance(one, Plan)
        }
        return tuple(plan for plan in plans if plan.name == REFERENCE or plan.name in made)


def families(*names: str) -> Families:
    """Return what `SelectionConfig.candidates` takes for these families; all where none is named.

    Raises `UsageError` for a name that the catalogue does not have.
    """
    return Families(names)
