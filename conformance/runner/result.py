"""What came of each vector, and of the whole run."""

from collections import Counter
from collections.abc import Mapping
from enum import Enum

from attrs import field, frozen

from conformance.protocol.fault import ConversationError, Stage
from conformance.protocol.message import Welcome
from conformance.runner.check import Disagreement


class Outcome(Enum):
    """One vector's fate."""

    PASSED = "passed"
    FAILED = "failed"
    FAILED_AS_EXPECTED = "failed as expected"
    UNEXPECTEDLY_PASSED = "unexpectedly passed"
    COULD_NOT_RUN = "could not run"
    NOT_APPLICABLE = "not applicable"


RED = frozenset({Outcome.FAILED, Outcome.UNEXPECTEDLY_PASSED, Outcome.COULD_NOT_RUN})
"""Outcomes that make a run red. A known failure that passes is one, or the list would rot."""


@frozen
class CaseResult:
    """One vector, run."""

    id: str
    rules: tuple[str, ...]
    outcome: Outcome
    reason: str = ""
    """Why it is not applicable, or why its failure is known."""
    disagreement: Disagreement | None = None
    broken: ConversationError | None = None
    repeat: str = ""
    """A command that runs this vector alone."""

    @property
    def area(self) -> str:
        """The first part of the id."""
        return self.id.split("/", maxsplit=1)[0]


@frozen
class Run:
    """All results, in order."""

    welcome: Welcome | None
    """None where the handshake never worked."""
    results: tuple[CaseResult, ...]
    goodbye: ConversationError | None = None
    """What was wrong with the end, after all vectors."""
    elapsed_s: float = field(default=0.0, eq=False)

    def count(self, outcome: Outcome) -> int:
        """Return how many vectors had an outcome."""
        return sum(result.outcome is outcome for result in self.results)

    @property
    def red(self) -> tuple[str, ...]:
        """Return why the run is red; nothing where it is green. A run that shows nothing is red."""
        reasons = [
            f"{self.count(outcome)} {outcome.value}"
            for outcome in Outcome
            if outcome in RED and self.count(outcome)
        ]
        if self.goodbye is not None:
            reasons.append("the conversation did not end as it should")
        shown = (Outcome.PASSED, Outcome.FAILED_AS_EXPECTED)
        if not reasons and not sum(self.count(outcome) for outcome in shown):
            reasons.append("nothing was run: no vector applies to what is declared")
        return tuple(reasons)

    @property
    def is_green(self) -> bool:
        """Whether everything that was run is as it should be, and something was."""
        return not self.red

    def broken_by_stage(self) -> Mapping[Stage, Counter[str]]:
        """Return what kept vectors from running, by stage, with how often."""
        stages: dict[Stage, Counter[str]] = {}
        for result in self.results:
            if result.broken is not None:
                text = f"{result.broken.fault.value}: {result.broken.got}"
                stages.setdefault(result.broken.stage, Counter())[text] += 1
        return stages
