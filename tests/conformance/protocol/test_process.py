"""Real processes: pipes, limits, signals, and what is left behind."""

import os
import sys
import time
from pathlib import Path

import pytest

from conformance.adapters import Process
from conformance.protocol import Call, Conversation, ConversationError, Fault, Limits, Stage
from conformance.zoo import WIRE_FAULTS, Wrong
from spec.canonical_json import Json

pytestmark = pytest.mark.slow
RIGHT = (sys.executable, "-m", "conformance.implementations.python")
QUICK = Limits(answer_s=1.0, line_bytes=2**16)
PATIENT = Limits(answer_s=30.0, line_bytes=2**22)
QUESTION: dict[str, Json] = {"function": "canonical-json", "input": {"text": "[1]"}}
IN_A_PROCESS = ("abort", "silence", "endless-line", "endless-answers", "bad-end", "prints-first")


def talk(command: tuple[str, ...], limits: Limits, questions: int = 2) -> None:
    with Conversation(Process(command, limits)) as conversation:
        for _ in range(questions):
            conversation.say(Call, QUESTION)
        conversation.close()


def script(body: str) -> tuple[str, ...]:
    return (sys.executable, "-c", body)


def test_the_reference_model_talks_as_a_program() -> None:
    talk(RIGHT, PATIENT, questions=20)


def test_a_command_that_does_not_exist_says_so() -> None:
    with pytest.raises(ConversationError, match="no-such-program") as caught:
        Process(("no-such-program", "x"), QUICK)
    assert caught.value.stage is Stage.START
    assert caught.value.fault is Fault.STARTS


@pytest.mark.parametrize(
    "wrong", [one for one in WIRE_FAULTS if one.name in IN_A_PROCESS], ids=lambda one: one.name
)
def test_a_program_that_breaks_the_protocol_is_found_out_and_ended(wrong: Wrong) -> None:
    limits = Limits(answer_s=5.0, line_bytes=2**16)
    started_s = time.monotonic()
    with pytest.raises(ConversationError) as caught:
        talk((sys.executable, "-m", "conformance.zoo", wrong.name), limits)
    assert caught.value.fault.value in wrong.rules
    assert time.monotonic() - started_s < 60


def test_a_line_longer_than_a_pipe_holds_reaches_a_program_that_answers_late() -> None:
    text = "[" + ",".join("1" for _ in range(200_000)) + "]"
    question: dict[str, Json] = {"function": "canonical-json", "input": {"text": text}}
    with Conversation(Process(RIGHT, PATIENT)) as conversation:
        answer = conversation.say(Call, question)
    assert type(answer).__name__ == "Returned"


def test_a_program_that_never_reads_costs_the_time_limit_and_no_more() -> None:
    welcome = (
        '{"type":"welcome","seq":1,"protocol":1,"name":"n","version":"1","language":"x",'
        '"levels":[]}'
    )
    deaf = script(f"import sys,time; input(); print('{welcome}', flush=True); time.sleep(60)")
    huge: dict[str, Json] = {"function": "canonical-json", "input": {"text": "1" * 10_000_000}}
    with Conversation(Process(deaf, QUICK)) as conversation:
        started_s = time.monotonic()
        with pytest.raises(ConversationError, match="read") as caught:
            conversation.say(Call, huge)
    assert caught.value.stage is Stage.TIME_LIMIT
    assert time.monotonic() - started_s < 20


def test_what_it_wrote_to_standard_error_is_shown() -> None:
    failing = script("import sys; sys.exit('no such device: gpu7')")
    with pytest.raises(ConversationError, match="gpu7") as caught:
        Conversation(Process(failing, PATIENT))
    assert caught.value.stage is Stage.CRASH
    assert "exit status 1" in caught.value.got


def test_much_standard_error_blocks_nobody() -> None:
    loud = script(
        "import sys; sys.stderr.write('x' * 10**6); sys.stderr.flush()\n"
        "from conformance.implementations.python.__main__ import *\n"
        "serve(ReferenceHarness())"
    )
    talk(loud, PATIENT)


def test_stopping_ends_the_program_and_what_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "child"
    parent = script(
        "import subprocess,sys,time\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(mark)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    process = Process(parent, QUICK)
    for _ in range(200):
        if mark.exists() and mark.read_text():
            break
        time.sleep(0.05)
    child = int(mark.read_text())
    process.stop()
    for _ in range(200):
        if not _is_alive(child):
            break
        time.sleep(0.05)
    assert not _is_alive(child)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or " Z " not in state.read_text()
