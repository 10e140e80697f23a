"""A pytest plugin: `pytest -p conformance.adapters.pytest_plugin`.

A test that takes `conformance_case` runs once per vector:

    def test_my_tuner_keeps_the_rules(conformance_case):
        conformance_case.check(my_main)

`my_main` is a harness's main function or a command; without one, the command of
`--conformance-command` is used. `--conformance-area` and `--conformance-id` choose.

Nothing here imports pytest, so that the suite needs nothing installed.
"""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final
from unittest import SkipTest

from attrs import field, frozen

from conformance.adapters.in_process import InProcess, Main
from conformance.adapters.process import Process
from conformance.protocol.conversation import Conversation
from conformance.protocol.transport import Limits
from conformance.runner.choice import chosen
from conformance.runner.result import CaseResult, Outcome
from conformance.runner.run import run
from conformance.runner.text_report import result_lines
from conformance.vectors import load
from conformance.vectors.vector import Vector

if TYPE_CHECKING:
    import pytest

FIXTURE: Final = "conformance_case"


@frozen
class Case:
    """One vector, ready to be asked."""

    vector: Vector
    command: tuple[str, ...] = ()
    limits: Limits = field(factory=Limits)

    def result(self, implementation: Main | Sequence[str] = ()) -> CaseResult:
        """Ask an implementation, in a conversation of its own. Raises `ValueError` without one."""
        command = implementation or self.command
        if not command:
            message = "got no implementation, need a main function or --conformance-command"
            raise ValueError(message)

        def opening() -> Conversation:
            if callable(command):
                return Conversation(InProcess(command, self.limits))
            return Conversation(Process(command, self.limits))

        outcome = run(opening, (self.vector,))
        (result,) = outcome.results
        if result.outcome is Outcome.PASSED and outcome.goodbye is not None:
            return CaseResult(
                result.id, result.rules, Outcome.COULD_NOT_RUN, broken=outcome.goodbye
            )
        return result

    def check(self, implementation: Main | Sequence[str] = ()) -> None:
        """Raise `AssertionError` with the whole failure, or `SkipTest` where it doesn't apply."""
        result = self.result(implementation)
        if result.outcome is Outcome.NOT_APPLICABLE:
            raise SkipTest(result.reason)
        if result.outcome is not Outcome.PASSED:
            raise AssertionError("\n".join(result_lines(result)))


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options."""
    group = parser.getgroup("conformance")
    group.addoption("--conformance-command", default="", help="the implementation's command line")
    group.addoption("--conformance-area", action="append", default=[], help="only this area")
    group.addoption("--conformance-id", action="append", default=[], help="only ids like this")


def pytest_generate_tests(metafunc: "pytest.Metafunc") -> None:
    """Make one test per chosen vector. Raises `NothingChosenError` where none is."""
    if FIXTURE not in metafunc.fixturenames:
        return
    option = metafunc.config.getoption
    vectors = chosen(load(), option("--conformance-area"), option("--conformance-id"))
    command = tuple(shlex.split(option("--conformance-command")))
    cases = [Case(vector, command) for vector in vectors]
    metafunc.parametrize(FIXTURE, cases, ids=[vector.id for vector in vectors])
