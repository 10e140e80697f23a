"""Lines: what is a message, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.codec import CodecError
from conformance.protocol import FROM_IMPLEMENTATION, FROM_SUITE, from_line, to_line
from conformance.protocol.message import (
    Bye,
    Capability,
    Effects,
    Hello,
    Level,
    Refusal,
    Refused,
    Welcome,
)
from spec.canonical_json import Json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_a_line_says_what_was_written_and_is_one_line_of_ascii(value: Json) -> None:
    line = to_line(value)
    assert line.isascii()
    assert line.index("\n") == len(line) - 1
    assert from_line(line) == value


@pytest.mark.parametrize(
    "text",
    ["1.0", "1e3", "NaN", "-Infinity", '{"a": 0.5}', "", "{", "{} {}", '{"a":1,"a":1}', "x"],
)
def test_what_is_not_one_json_text_of_whole_numbers_is_refused(text: str) -> None:
    with pytest.raises(CodecError):
        from_line(text)


def test_text_nested_without_end_is_refused_and_not_a_crash() -> None:
    with pytest.raises(CodecError):
        from_line("[" * 200_000)


def test_messages_survive_the_wire() -> None:
    welcome = Welcome(
        1, 1, "tuner", "2.0", "Rust", (Level.EVIDENCE, Level.KEYS), (Capability.CALLING,)
    )
    for message in (welcome, Effects(2, ()), Refused(3, Refusal.OUT_OF_TURN)):
        line = to_line(FROM_IMPLEMENTATION.encode(message))
        assert FROM_IMPLEMENTATION.decode(from_line(line)) == message
    for question in (Hello(1, 1), Bye(9)):
        assert FROM_SUITE.decode(from_line(to_line(FROM_SUITE.encode(question)))) == question


def test_a_message_of_the_other_direction_is_not_understood() -> None:
    with pytest.raises(CodecError, match="type"):
        FROM_IMPLEMENTATION.decode(FROM_SUITE.encode(Hello(1, 1)))


def test_a_message_with_a_member_too_many_or_too_few_is_not_understood() -> None:
    with pytest.raises(CodecError, match="seq"):
        FROM_IMPLEMENTATION.decode({"type": "ready"})
    with pytest.raises(CodecError, match="mood"):
        FROM_IMPLEMENTATION.decode({"type": "ready", "seq": 1, "mood": "good"})
