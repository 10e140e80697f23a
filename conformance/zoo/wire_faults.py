"""Harnesses that know every rule of selection and break one of the conversation (P1 to P8)."""

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from conformance.adapters.harness import serve
from conformance.adapters.in_process import Main
from conformance.implementations.python import ReferenceHarness
from conformance.zoo.wrong import Wrong
from spec.canonical_json import Json

Write: TypeAlias = Callable[[str], object]
Answer: TypeAlias = dict[str, Json]
VECTORS: Final = ("keys/canonical/*",)
"""Any few do: the fault is not in what is said."""
LONG_S: Final = 3600.0
ENDLESS_CHUNK: Final = "x" * 2**16


def _through(write: Write, change: Callable[[Answer, Write], None]) -> Write:
    """Return a `write` that passes every answer after the welcome through `change`."""
    seen = [0]

    def changed(line: str) -> None:
        seen[0] += 1
        if seen[0] == 1:
            write(line)
        else:
            change(json.loads(line), write)

    return changed


def _answering(change: Callable[[Answer, Write], None]) -> Main:
    def main(lines: Iterator[str], write: Write) -> None:
        serve(ReferenceHarness(), lines, _through(write, change))

    return main


def _line(answer: Answer) -> str:
    return json.dumps(answer) + "\n"


def _wrong_number(answer: Answer, write: Write) -> None:
    seq = answer["seq"]
    assert isinstance(seq, int), "the protocol's own number"
    write(_line({**answer, "seq": seq + 1}))


def _no_number(answer: Answer, write: Write) -> None:
    write(_line({name: one for name, one in answer.items() if name != "seq"}))


def _twice(answer: Answer, write: Write) -> None:
    write(_line(answer) * 2)


def _for_ever(answer: Answer, write: Write) -> None:
    while True:
        write(_line(answer))


def _without_end(answer: Answer, write: Write) -> None:
    del answer
    while True:
        write(ENDLESS_CHUNK)


def _silent(answer: Answer, write: Write) -> None:
    del answer, write
    time.sleep(LONG_S)


def _raising(answer: Answer, write: Write) -> None:
    del write
    message = f"cannot say {answer['type']}"
    raise RuntimeError(message)


def _dying(answer: Answer, write: Write) -> None:
    del answer, write
    os.abort()


def _garbage(answer: Answer, write: Write) -> None:
    write(f"answer {answer['seq']}: fine\n")


def _cut(answer: Answer, write: Write) -> None:
    write(_line(answer)[:-3] + "\n")


def _float_member(answer: Answer, write: Write) -> None:
    text = _line(answer)
    write(text.replace(f'"seq": {answer["seq"]}', f'"seq": {answer["seq"]}.0', 1))


def _nan_member(answer: Answer, write: Write) -> None:
    write(_line(answer).replace("{", '{"speedup": NaN, ', 1))


def _one_more_member(answer: Answer, write: Write) -> None:
    write(_line({**answer, "elapsed_ns": 12}))


def _member_twice(answer: Answer, write: Write) -> None:
    write(_line(answer).replace("{", f'{{"seq": {answer["seq"]}, ', 1))


def _wrong_kind(answer: Answer, write: Write) -> None:
    write(_line({"type": "noted", "seq": answer["seq"]}))


def _greeting_first(lines: Iterator[str], write: Write) -> None:
    write("loading kernels ... done\n")
    serve(ReferenceHarness(), lines, write)


def _other_protocol(lines: Iterator[str], write: Write) -> None:
    def newer(line: str) -> None:
        answer: Answer = json.loads(line)
        write(_line({**answer, "protocol": 2} if answer["type"] == "welcome" else answer))

    serve(ReferenceHarness(), lines, newer)


def _ahead(lines: Iterator[str], write: Write) -> None:
    """Answer a question before it was asked, with what was right the last time."""

    def eager(line: str) -> None:
        answer: Answer = json.loads(line)
        seq = answer["seq"]
        assert isinstance(seq, int), "the protocol's own number"
        following = _line({**answer, "seq": seq + 1}) if answer["type"] == "returned" else ""
        write(line + following)

    serve(ReferenceHarness(), lines, eager)


def _after_goodbye(lines: Iterator[str], write: Write) -> None:
    serve(ReferenceHarness(), lines, write)
    write("all done\n")


def _bad_end(lines: Iterator[str], write: Write) -> None:
    serve(ReferenceHarness(), lines, write)
    message = "could not free the device"
    raise RuntimeError(message)


def _mute(lines: Iterator[str], write: Write) -> None:
    del write
    for _ in lines:
        time.sleep(LONG_S)


def _gone(lines: Iterator[str], write: Write) -> None:
    del lines, write


WIRE_FAULTS: Final = (
    Wrong(
        "wrong-number", "answers with the next number", ("P4",), VECTORS, _answering(_wrong_number)
    ),
    Wrong("no-number", "leaves the number out", ("P3",), VECTORS, _answering(_no_number)),
    Wrong("two-answers", "says everything twice", ("P5",), VECTORS, _answering(_twice)),
    Wrong("endless-answers", "repeats an answer for ever", ("P5",), VECTORS, _answering(_for_ever)),
    Wrong("endless-line", "a line that never ends", ("P7",), VECTORS, _answering(_without_end)),
    Wrong("silence", "never answers a question", ("P6",), VECTORS, _answering(_silent)),
    Wrong("crash", "raises at a question", ("P1",), VECTORS, _answering(_raising)),
    Wrong("abort", "dies by a signal", ("P1",), VECTORS, _answering(_dying), needs_process=True),
    Wrong("garbage", "answers in prose", ("P3",), VECTORS, _answering(_garbage)),
    Wrong("cut-line", "JSON without its end", ("P3",), VECTORS, _answering(_cut)),
    Wrong("float", "a number with a point", ("P3",), VECTORS, _answering(_float_member)),
    Wrong("nan", "a member that is NaN", ("P3",), VECTORS, _answering(_nan_member)),
    Wrong("unknown-member", "adds a member", ("P3",), VECTORS, _answering(_one_more_member)),
    Wrong("member-twice", "gives a member twice", ("P3",), VECTORS, _answering(_member_twice)),
    Wrong("wrong-kind", "answers with another message", ("P8",), VECTORS, _answering(_wrong_kind)),
    Wrong("prints-first", "prints before the handshake", ("P2",), VECTORS, _greeting_first),
    Wrong("other-protocol", "speaks version 2", ("P2",), VECTORS, _other_protocol),
    Wrong("answers-ahead", "answers before it is asked", ("P5",), VECTORS, _ahead),
    Wrong("after-goodbye", "talks after the goodbye", ("P5",), VECTORS, _after_goodbye),
    Wrong("bad-end", "fails after the goodbye", ("P1",), VECTORS, _bad_end),
    Wrong("mute", "does not even greet", ("P6",), VECTORS, _mute),
    Wrong("gone", "ends before the handshake", ("P1",), VECTORS, _gone),
)
