"""Frames and messages between a rig and its child."""

import io
import json

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from ortsel.plan import Plan, Provider, SessionSettings
from ortsel.trial.calling import Calling
from ortsel.trial.devices import BoundDevices, Device
from ortsel.trial.frames import (
    MAGIC,
    MOST_FRAME_BYTES,
    MOST_NOISE_BYTES,
    FrameError,
    read_frame,
    skip_to_magic,
    write_frame,
)
from ortsel.trial.messages import (
    Command,
    Envelope,
    Failed,
    Hello,
    Load,
    Loaded,
    MeasureCalls,
    Park,
    Parked,
    Quit,
    Ran,
    Reply,
    RunOnce,
    Timed,
    envelope_from_json,
    envelope_to_json,
    reply_from_json,
    reply_to_json,
)

names = st.text(max_size=8)
pairs = st.dictionaries(names, names, max_size=3).map(lambda found: tuple(found.items()))
plans = st.builds(
    Plan,
    names,
    st.none() | st.lists(st.builds(Provider, names, pairs), max_size=2).map(tuple),
    st.builds(
        SessionSettings,
        st.dictionaries(names, st.booleans() | st.integers() | names, max_size=3).map(
            lambda found: tuple(found.items())
        ),
        pairs,
        st.dictionaries(names, st.integers(), max_size=2).map(lambda found: tuple(found.items())),
        st.just(()),
        st.lists(names, max_size=2).map(tuple),
    ),
    names,
    st.lists(names, max_size=2).map(tuple),
    names,
    st.lists(st.tuples(names, st.lists(st.integers(0), max_size=2)), max_size=2).map(tuple),
    st.booleans(),
)
places = st.lists(st.tuples(names, st.builds(Device, names, st.integers(0, 7))), max_size=2).map(
    tuple
)
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        Load,
        plans,
        names,
        st.booleans(),
        names,
        st.sampled_from(Calling) | st.builds(BoundDevices, places, places),
        st.none() | st.lists(names, max_size=2).map(tuple),
        st.lists(names, max_size=2).map(tuple),
    ),
    st.builds(RunOnce),
    st.builds(MeasureCalls),
    st.just(Park()),
    st.just(Quit()),
)
replies: st.SearchStrategy[Reply] = st.one_of(
    st.builds(Hello),
    st.builds(Loaded),
    st.builds(Ran),
    st.builds(Parked),
    st.builds(Timed),
    st.builds(Failed),
)


@given(st.builds(Envelope, commands, st.integers(), st.integers()))
def test_a_command_survives_the_way_to_the_child(envelope: Envelope) -> None:
    stream = io.BytesIO()
    write_frame(stream, envelope_to_json(envelope))
    stream.seek(0)
    received = envelope_from_json(read_frame(stream))
    assert received == envelope
    if isinstance(envelope.command, Load) and isinstance(received.command, Load):
        sent, got = (
            [(type(value), value) for _, value in load.plan.settings.attributes]
            for load in (envelope.command, received.command)
        )
        assert got == sent, "true is not 1"


@given(replies)
def test_a_reply_survives_the_way_to_the_rig(reply: Reply) -> None:
    assert reply_from_json(json.loads(json.dumps(reply_to_json(reply)))) == reply


@given(st.lists(st.integers() | st.text() | st.lists(st.none()), max_size=4))
def test_frames_follow_each_other_until_a_clean_end(messages: list[object]) -> None:
    stream = io.BytesIO()
    for message in messages:
        write_frame(stream, message)
    stream.seek(0)
    assert [read_frame(stream) for _ in messages] == messages
    assert read_frame(stream) is None


@given(st.data())
def test_a_frame_cut_anywhere_is_an_error_and_no_end(data: st.DataObject) -> None:
    stream = io.BytesIO()
    write_frame(stream, {"a": [1, 2, 3]})
    whole = stream.getvalue()
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(FrameError):
        read_frame(io.BytesIO(whole[:cut]))


def test_oversized_frames_are_refused_on_both_sides() -> None:
    with pytest.raises(FrameError, match="at most"):
        write_frame(io.BytesIO(), "x" * MOST_FRAME_BYTES)
    huge = (MOST_FRAME_BYTES + 1).to_bytes(4, "big")
    with pytest.raises(FrameError, match="at most"):
        read_frame(io.BytesIO(huge))


def test_a_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(FrameError, match="no JSON"):
        read_frame(io.BytesIO((3).to_bytes(4, "big") + b"{a}"))


@given(st.binary(max_size=200))
@example(MAGIC[:-1])
def test_noise_before_the_greeting_is_skipped(noise: bytes) -> None:
    assume(MAGIC not in noise)
    stream = io.BytesIO(noise + MAGIC + b"rest")
    skip_to_magic(stream)
    assert stream.read() == b"rest"


@pytest.mark.parametrize("noise", [b"", b"no greeting", b"x" * (MOST_NOISE_BYTES + 100) + MAGIC])
def test_a_program_that_does_not_greet_is_refused(noise: bytes) -> None:
    with pytest.raises(FrameError, match="greeting"):
        skip_to_magic(io.BytesIO(noise))
