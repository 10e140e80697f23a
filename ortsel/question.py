"""What a call asks of the selector: the problem, and the candidates in the order of their turns."""

from collections.abc import Mapping
from types import MappingProxyType

from attrs import evolve, frozen

from ortsel.call_trials import looked_at_shortly
from ortsel.candidates import SearchSpace
from ortsel.candidates.shortlist import shortlist
from ortsel.operator_scope.findings import OperatorFindings
from ortsel.operator_scope.resting import Resting
from ortsel.trial.screening import Screened
from spec.candidate import Candidate, CandidateSet
from spec.problem import Problem


@frozen
class Question:
    """What a call asks, and what its candidates rest on."""

    problem: Problem
    space: SearchSpace
    resting: Resting
    findings: OperatorFindings
    hopeless: Mapping[str, str] = MappingProxyType({})
    """Why candidates get no turn in this search, by name, after a short look at them."""
    turns: int | None = None
    """For how many candidates the search has time; None where nobody knows."""
    looked: bool = False
    """Whether a short look has put the candidates in their order."""

    @property
    def candidates(self) -> CandidateSet:
        """The candidates in the order of their turns, the reference first."""
        return CandidateSet(
            Candidate(plan.name, ineligible=self.hopeless.get(plan.name, ""))
            for plan in self.space.plans
        )

    def shortlisted(self, screened: Screened) -> "Question":
        """Return the question with its candidates in the order that a short look suggests."""
        plans = {plan.name: plan for plan in self.space.plans}
        names = tuple(plans)
        found = shortlist(
            names,
            {names[index] for index in looked_at_shortly(self.space.plans)},
            screened.ratios,
            screened.failures,
        )
        return evolve(
            self,
            space=evolve(self.space, plans=tuple(plans[one.name] for one in found)),
            hopeless={one.name: one.ineligible for one in found if one.ineligible},
            looked=True,
        )

    def affordable(self, turns: int | None) -> "Question":
        """Return the question for a search with time for so many turns; None where nobody knows.

        Where that is fewer than there are candidates, and none was looked at, those come first
        that need no variant built: it takes seconds that the search does not have.
        """
        plans = self.space.plans
        if turns is None or turns >= len(plans) - 1 - len(self.hopeless):
            return self
        if not self.looked:
            plans = (plans[0], *sorted(plans[1:], key=lambda plan: bool(plan.variant)))
        return evolve(self, space=evolve(self.space, plans=plans), turns=turns)
