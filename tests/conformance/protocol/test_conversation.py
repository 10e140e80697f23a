"""The suite's side, against harnesses that keep the protocol's rules and those that don't."""

import json
from collections.abc import Callable, Iterator

import pytest

from conformance.adapters import InProcess, serve
from conformance.adapters.in_process import Main
from conformance.implementations.python import ReferenceHarness
from conformance.protocol import (
    Call,
    Conversation,
    ConversationError,
    Fault,
    Happened,
    Limits,
    Refusal,
    Refused,
    Returned,
    Stage,
    Style,
)
from conformance.zoo import WIRE_FAULTS, Wrong
from spec.canonical_json import Json

QUICK = Limits(answer_s=1.0, line_bytes=2**16)
QUESTION: dict[str, Json] = {"function": "canonical-json", "input": {"text": "[1]"}}
STAGES = {
    Fault.STARTS: {Stage.CRASH},
    Fault.HANDSHAKE: {Stage.HANDSHAKE},
    Fault.MESSAGE: {Stage.PROTOCOL},
    Fault.NUMBER: {Stage.ANSWER},
    Fault.COUNT: {Stage.ANSWER},
    Fault.TIME: {Stage.TIME_LIMIT},
    Fault.SIZE: {Stage.PROTOCOL},
    Fault.KIND: {Stage.PROTOCOL},
}


def right(lines: Iterator[str], write: Callable[[str], object]) -> None:
    serve(ReferenceHarness(), lines, write)


def talk(main: Main, questions: int = 3) -> None:
    """A whole conversation. Raises `ConversationError` where it breaks."""
    with Conversation(InProcess(main, QUICK)) as conversation:
        for _ in range(questions):
            conversation.say(Call, QUESTION)
        conversation.close()


def test_a_conversation_goes_from_the_welcome_to_the_goodbye() -> None:
    with Conversation(InProcess(right, QUICK)) as conversation:
        assert conversation.welcome.name == "ortsel-spec"
        answer = conversation.say(Call, QUESTION)
        assert isinstance(answer, Returned)
        assert answer.seq == 2
        conversation.close()


def test_a_refusal_is_an_answer() -> None:
    with Conversation(InProcess(right, QUICK)) as conversation:
        conversation.begin(Style.STEPPING, {})
        stray: Json = {
            "type": "record-absent",
            "request": 7,
            "now": {"monotonic_ns": 1, "wall_s": 1},
        }
        answer = conversation.say(Happened, {"event": stray})
        assert isinstance(answer, Refused)
        assert answer.refusal is Refusal.OUT_OF_TURN


@pytest.mark.parametrize(
    "wrong", [one for one in WIRE_FAULTS if not one.needs_process], ids=lambda one: one.name
)
def test_a_broken_conversation_names_its_rule_and_its_stage(wrong: Wrong) -> None:
    talk(right)
    with pytest.raises(ConversationError) as caught:
        talk(wrong.main)
    assert caught.value.fault.value in wrong.rules
    assert caught.value.stage in STAGES[caught.value.fault]
    assert caught.value.got
    assert caught.value.need


def test_the_traceback_of_a_harness_that_raised_is_shown() -> None:
    (crash,) = [one for one in WIRE_FAULTS if one.name == "crash"]
    with pytest.raises(ConversationError, match="cannot say returned"):
        talk(crash.main)


def test_every_rule_of_the_protocol_has_a_harness_that_breaks_it() -> None:
    broken = {rule for one in WIRE_FAULTS for rule in one.rules}
    assert broken == {fault.value for fault in Fault}


def test_numbers_count_up_by_one_from_one() -> None:
    numbers: list[int] = []

    def listening(lines: Iterator[str], write: Callable[[str], object]) -> None:
        def heard() -> Iterator[str]:
            for line in lines:
                numbers.append(json.loads(line)["seq"])
                yield line

        serve(ReferenceHarness(), heard(), write)

    talk(listening)
    assert numbers == [1, 2, 3, 4, 5]
