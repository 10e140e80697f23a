"""Every wrong implementation turns the suite red, and the failures name the rule that it breaks."""

import sys
from collections.abc import Callable, Iterator

import pytest

from conformance.adapters import InProcess, Process, serve
from conformance.adapters.in_process import Main
from conformance.implementations.python import ReferenceHarness
from conformance.protocol import Conversation, Fault, Limits, Style
from conformance.runner import Outcome, Run, chosen, run
from conformance.vectors import load
from conformance.vectors.rules import RULES
from conformance.zoo import ENGINE_FAULTS, QUESTION_FAULTS, WIRE_FAULTS, ZOO, Wrong
from conformance.zoo.__main__ import main as zoo_main
from conformance.zoo.swapped import swapped

VECTORS = load()
QUICK = Limits(answer_s=0.5, line_bytes=2**20)
PATIENT = Limits(answer_s=30.0)
FEW = 2
"""Vectors that show a broken conversation; what is in them plays no part."""
IN_A_PROCESS = ("abort", "stale-hit", "accepts-nan", "two-answers")


def right(lines: Iterator[str], write: Callable[[str], object]) -> None:
    serve(ReferenceHarness(), lines, write)


def against(main: Main, wrong: Wrong, limits: Limits = QUICK) -> Run:
    vectors = chosen(VECTORS, [], wrong.vectors)
    if wrong in WIRE_FAULTS:
        vectors = vectors[:FEW]
    return run(lambda: Conversation(InProcess(main, limits)), vectors, style=Style.STEPPING)


def rules_named(done: Run, wrong: Wrong) -> tuple[int, int]:
    """How many failures there are, and how many name a rule that it breaks."""
    failed = [result for result in done.results if result.outcome is Outcome.FAILED]
    named = [result for result in failed if set(result.rules) & set(wrong.rules)]
    return len(failed), len(named)


@pytest.mark.parametrize(
    "wrong", [one for one in WIRE_FAULTS if not one.needs_process], ids=lambda one: one.name
)
def test_who_breaks_the_conversation_cannot_run_and_the_rule_is_named(wrong: Wrong) -> None:
    done = against(wrong.main, wrong)
    assert not done.is_green
    broken = [result.broken for result in done.results if result.broken is not None]
    if done.goodbye is not None:
        broken.append(done.goodbye)
    assert broken
    assert {error.fault.value for error in broken} <= set(wrong.rules)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [*QUESTION_FAULTS, *ENGINE_FAULTS], ids=lambda one: one.name)
def test_who_breaks_a_rule_fails_and_most_failures_name_the_rule(wrong: Wrong) -> None:
    done = against(wrong.main, wrong, PATIENT)
    failed, named = rules_named(done, wrong)
    assert not done.is_green
    assert failed > 0, "nobody noticed"
    assert named * 2 > failed
    assert done.count(Outcome.COULD_NOT_RUN) == 0
    assert done.goodbye is None


@pytest.mark.slow
def test_the_right_implementation_passes_all_that_the_zoo_is_tried_on() -> None:
    patterns = sorted({pattern for wrong in ZOO for pattern in wrong.vectors})
    vectors = chosen(VECTORS, [], patterns)
    done = run(lambda: Conversation(InProcess(right, PATIENT)), vectors)
    assert done.is_green, done.red
    assert done.count(Outcome.PASSED) == len(vectors)


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [one for one in ZOO if one.name in IN_A_PROCESS], ids=lambda one: one.name
)
def test_wrong_programs_turn_the_suite_red_as_well(wrong: Wrong) -> None:
    command = (sys.executable, "-m", "conformance.zoo", wrong.name)
    vectors = chosen(VECTORS, [], wrong.vectors)
    if wrong in WIRE_FAULTS:
        vectors = vectors[:FEW]
    done = run(lambda: Conversation(Process(command, PATIENT)), vectors)
    assert not done.is_green


def test_the_zoo_is_large_and_covers_the_rules() -> None:
    assert len({wrong.name for wrong in ZOO}) == len(ZOO) >= 60
    broken = {rule for wrong in ZOO for rule in wrong.rules}
    assert {f"S{number}" for number in range(1, 14)} <= broken
    known = {*RULES, *(fault.value for fault in Fault)}
    assert broken <= known


def test_a_fault_that_would_replace_nothing_is_refused() -> None:
    with pytest.raises(AttributeError), swapped(Limits, "no_such_part", lambda real: real):
        pass


def test_what_is_replaced_is_put_back(capsys: pytest.CaptureFixture[str]) -> None:
    class Owner:
        part = "right"

    with swapped(Owner, "part", lambda real: f"not {real}"):
        assert Owner.part == "not right"
    assert Owner.part == "right"
    assert zoo_main([]) == 0
    assert "stale-hit" in capsys.readouterr().out
    assert zoo_main(["no-such-fault"]) == 2
