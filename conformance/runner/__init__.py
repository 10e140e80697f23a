"""Runs vectors against an implementation and says, for each, what came of it."""

from conformance.runner.check import Disagreement, check
from conformance.runner.choice import NothingChosenError, chosen
from conformance.runner.known_failures import KnownFailures, read_known_failures
from conformance.runner.result import CaseResult, Outcome, Run
from conformance.runner.run import Opening, run

__all__ = [
    "CaseResult",
    "Disagreement",
    "KnownFailures",
    "NothingChosenError",
    "Opening",
    "Outcome",
    "Run",
    "check",
    "chosen",
    "read_known_failures",
    "run",
]
