"""What a rig leaves behind: nothing, however it ends."""

import errno
import gc
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import UserDict
from collections.abc import Callable, ItemsView
from pathlib import Path

import psutil
import pytest

from ortsel.errors import UsageError
from ortsel.plan import Plan, SessionSettings
from ortsel.trial import interpreter
from ortsel.trial.errors import TrialFailedError, TrialsUnavailableError
from ortsel.trial.limits import SECOND_NS, TrialLimits
from ortsel.trial.rig import Rig, Verified
from spec.engine.effect import Purpose
from spec.failure import FailureKind
from tests.ortsel.trial import models
from tests.ortsel.trial.models import FEED, REFERENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
SINGLE = Plan("single", settings=models.SINGLE_THREADED)


def in_seconds(seconds: float) -> int:
    return time.monotonic_ns() + int(seconds * SECOND_NS)


def eventually(holds: Callable[[], bool], seconds: float = 20.0) -> bool:
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def descriptors() -> int:
    return psutil.Process().num_fds()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return models.linear(tmp_path / "model.onnx")


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


def test_closing_leaves_no_process_thread_descriptor_or_file(model: Path, scratch: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None, scratch=scratch) as rig:
        rig.validate(SINGLE, in_seconds(30))  # what is opened once for all is open now
    before = descriptors(), threading.active_count()
    with Rig(model, REFERENCE, [FEED], None, scratch=scratch) as rig:
        rig.validate(SINGLE, in_seconds(30))
        pids = list(rig.process_ids().values())
        assert len(pids) == 2, "pointless unless both children live"
        (private,) = scratch.iterdir()
        assert private.stat().st_mode & 0o777 == 0o700
    assert all(not psutil.pid_exists(pid) for pid in pids)
    gc.collect()  # mapped outputs
    assert (descriptors(), threading.active_count()) == before
    assert not list(scratch.iterdir())
    rig.close()
    with pytest.raises(UsageError, match="one that is open"):
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_exception_leaves_nothing(
    model: Path, scratch: Path, error: type[BaseException]
) -> None:
    pids: list[int] = []

    def fail() -> None:
        with Rig(model, REFERENCE, [FEED], None, scratch=scratch) as rig:
            rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
            pids.extend(rig.process_ids().values())
            raise error

    with pytest.raises(error):
        fail()
    assert pids
    assert all(not psutil.pid_exists(pid) for pid in pids)
    assert not list(scratch.iterdir())


def test_an_interrupt_while_a_call_hangs_leaves_nothing(tmp_path: Path, scratch: Path) -> None:
    endless = models.endless(tmp_path / "endless.onnx")
    main = threading.main_thread().ident
    assert main is not None
    interrupt = threading.Timer(2.0, signal.pthread_kill, [main, signal.SIGINT])
    before = {child.pid for child in psutil.Process().children()}
    with Rig(endless, REFERENCE, [FEED], None, scratch=scratch) as rig:
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(60))
        interrupt.join()
        assert {child.pid for child in psutil.Process().children()} == before
    assert not list(scratch.iterdir())


def test_a_forgotten_rig_is_closed(model: Path, scratch: Path) -> None:
    rig = Rig(model, REFERENCE, [FEED], None, scratch=scratch)
    rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
    pids = list(rig.process_ids().values())
    del rig
    gc.collect()
    assert pids
    assert all(is_gone(pid) for pid in pids)
    assert not list(scratch.iterdir())


class Interrupted(UserDict[str, object]):
    def items(self) -> ItemsView[str, object]:
        raise KeyboardInterrupt


def test_an_interrupt_while_feeds_are_written_leaves_no_file(model: Path, scratch: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        Rig(model, REFERENCE, [Interrupted(FEED)], None, scratch=scratch)
    assert not list(scratch.iterdir())


SCRIPT = """
import sys, time
from pathlib import Path
from ortsel.trial.rig import Rig
from ortsel.trial.limits import TrialLimits
from spec.engine.effect import Purpose
from tests.ortsel.trial.models import FEED, REFERENCE
rig = Rig(Path({model!r}), REFERENCE, [FEED], None, scratch=Path({scratch!r}))
latency_ns = rig.measure(REFERENCE, Purpose.WARMUP, time.monotonic_ns() + 60 * 10**9)
print(latency_ns, *rig.process_ids().values(), flush=True)
"""


def script_of(model: Path, scratch: Path, ending: str = "") -> str:
    text = SCRIPT.format(model=str(model), scratch=str(scratch))
    return text + textwrap.dedent(ending)


def run_python(arguments: list[str], stdin: str = "") -> list[int]:
    result = subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert not result.stderr
    return [int(word) for word in result.stdout.split()]


@pytest.mark.parametrize("way", ["file", "command", "standard input"])
def test_a_script_without_a_main_guard_measures_and_leaves_nothing(
    model: Path, scratch: Path, tmp_path: Path, way: str
) -> None:
    script = script_of(model, scratch)
    assert "__main__" not in script, "pointless with a guard"
    file = tmp_path / "script.py"
    file.write_text(script)
    arguments = {"file": [str(file)], "command": ["-c", script], "standard input": ["-"]}[way]
    latency_ns, pid = run_python(arguments, script if way == "standard input" else "")
    assert latency_ns > 0
    assert is_gone(pid)
    assert not list(scratch.iterdir())


def test_a_fork_that_closes_or_forgets_the_rig_does_not_touch_its_parents_trial(
    model: Path, scratch: Path
) -> None:
    ending = """
        import gc, os
        for closes in (True, False):
            pid = os.fork()
            if pid == 0:
                if closes:
                    rig.close()
                del rig
                gc.collect()
                os._exit(0)  # ONNX Runtime itself hangs in an ordinary exit of a fork
            os.waitpid(pid, 0)
        assert rig.measure(REFERENCE, Purpose.PAIRED, time.monotonic_ns() + 60 * 10**9) > 0
        print(*rig.process_ids().values())
    """
    _, before, after = run_python(["-W", "ignore", "-c", script_of(model, scratch, ending)])
    assert before == after
    assert is_gone(after)


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("state", ["idle", "calling", "loading"])
def test_children_end_when_their_parent_is_killed(
    model: Path, scratch: Path, tmp_path: Path, state: str, within: bool
) -> None:
    settings = SessionSettings()
    if state == "calling":
        model = models.endless(model)
    if state == "loading":
        library = models.custom_op_library(tmp_path, "for (;;) sleep(1);")
        settings = SessionSettings(custom_op_libraries=(str(library),))
    script = f"""
import sys, time
from pathlib import Path
from ortsel.errors import UsageError
from ortsel.plan import Plan, SessionSettings
from ortsel.trial.rig import Rig
from ortsel.trial.limits import TrialLimits
from spec.engine.effect import Purpose
from tests.ortsel.trial.models import FEED
libraries = {settings.custom_op_libraries!r}
plan = Plan("reference", settings=SessionSettings(custom_op_libraries=libraries))
limits = TrialLimits(creation_ns=5 * 10**9)
outer = Path({str(scratch)!r}) / "outer"
outer.mkdir()
inner = outer / "inner" if {within} else Path({str(scratch)!r})
inner.mkdir(exist_ok=True)
(outer / "model.onnx").write_bytes(b"a copy")
rig = Rig(
    Path({str(model)!r}), plan, [FEED], None, scratch=inner, outer_scratch=outer, limits=limits
)
rig.measure(plan, Purpose.WARMUP, time.monotonic_ns() + 60 * 10**9)
print("ready", flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", script],
        env=dict(os.environ) | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    try:
        watched = psutil.Process(parent.pid)
        assert eventually(lambda: bool(watched.children()))
        if state == "idle":
            assert parent.stdout is not None
            assert parent.stdout.readline() == b"ready\n"
        else:
            time.sleep(2.0)  # into the call or the library
        children = [child.pid for child in watched.children(recursive=True)]
        assert children
    finally:
        parent.kill()
        parent.wait()
        if parent.stdout is not None:
            parent.stdout.close()
    assert eventually(lambda: all(is_gone(pid) for pid in children), 30.0)
    if state != "loading":  # there, nothing of Python's runs any more that could remove it
        assert eventually(lambda: not list(scratch.iterdir()))


def test_an_outer_folder_stays_the_callers_while_the_caller_lives(
    model: Path, scratch: Path
) -> None:
    (scratch / "model.onnx").write_bytes(b"a copy")
    with Rig(model, REFERENCE, [FEED], None, scratch=scratch, outer_scratch=scratch) as rig:
        rig.validate(SINGLE, in_seconds(30))
        os.kill(rig.process_ids()[REFERENCE.name], signal.SIGTERM)
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
    assert [file.name for file in scratch.iterdir()] == ["model.onnx"]


def test_a_child_does_not_belong_to_the_terminals_group(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None) as rig:
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        pid = rig.process_ids()[REFERENCE.name]
        assert os.getpgid(pid) == pid
        assert os.getsid(pid) != os.getsid(0)


def test_a_reference_that_dies_is_restarted_once(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None) as rig:
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        first = rig.process_ids()[REFERENCE.name]
        os.kill(first, signal.SIGKILL)
        assert rig.measure(REFERENCE, Purpose.PAIRED, in_seconds(30)) > 0
        second = rig.process_ids()[REFERENCE.name]
        assert second != first
        os.kill(second, signal.SIGKILL)
        with pytest.raises(TrialFailedError) as caught:
            rig.measure(REFERENCE, Purpose.PAIRED, in_seconds(30))
        assert caught.value.failure.kind is FailureKind.TRANSIENT


def test_a_reference_that_hangs_is_not_started_again(tmp_path: Path) -> None:
    endless = models.endless(tmp_path / "endless.onnx")
    limits = TrialLimits(first_call_ns=SECOND_NS)
    with Rig(endless, REFERENCE, [FEED], None, limits=limits) as rig:
        with pytest.raises(TrialFailedError) as caught:
            rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        assert caught.value.failure.code == "hang"
        assert not rig.process_ids()


def test_a_deadline_that_is_over_costs_no_child(model: Path) -> None:
    with Rig(model, REFERENCE, [FEED], None) as rig:
        rig.validate(SINGLE, in_seconds(30))
        before = rig.process_ids()
        for plan in (REFERENCE, SINGLE, Plan("other")):
            with pytest.raises(TrialFailedError, match="no time was left"):
                rig.measure(plan, Purpose.PAIRED, time.monotonic_ns())
        assert rig.process_ids() == before
        assert rig.measure(SINGLE, Purpose.PAIRED, in_seconds(30)) > 0


def test_no_place_for_files_makes_trials_unavailable(model: Path, tmp_path: Path) -> None:
    with pytest.raises(TrialsUnavailableError, match="a folder that can be written to") as caught:
        Rig(model, REFERENCE, [FEED], None, scratch=tmp_path / "is-not-there")
    assert "ortsel-trial-" not in str(caught.value), "another name each time"


def test_at_most_one_candidate_lives_beside_the_reference(model: Path) -> None:
    two = Plan("two", settings=SessionSettings((("intra_op_num_threads", 2),)))
    with Rig(model, REFERENCE, [FEED], None) as rig:
        rig.measure(SINGLE, Purpose.WARMUP, in_seconds(30))
        before = rig.process_ids()
        rig.measure(two, Purpose.WARMUP, in_seconds(30))
        after = rig.process_ids()
        assert set(before) == {"reference", "single"}
        assert set(after) == {"reference", "two"}
        assert before["reference"] == after["reference"]
        assert not psutil.pid_exists(before["single"])


def test_what_onnx_runtime_prints_does_not_reach_the_messages(model: Path, tmp_path: Path) -> None:
    body = 'for (int i = 0; i < 1000; i++) puts("to standard output"); fflush(stdout);'
    library = models.custom_op_library(tmp_path, body)
    printing = Plan("printing", settings=SessionSettings(custom_op_libraries=(str(library),)))
    with Rig(model, REFERENCE, [FEED], None) as rig:
        assert rig.validate(printing, in_seconds(30)) == Verified(1)


def test_what_start_up_code_prints_does_not_reach_the_messages(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text('print("from sitecustomize", flush=True)\n')
    monkeypatch.syspath_prepend(tmp_path)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        assert rig.validate(REFERENCE, in_seconds(30)) == Verified(1)


def test_a_log_does_not_grow_without_limit(model: Path, scratch: Path, tmp_path: Path) -> None:
    body = 'for (int i = 0; i < 20000; i++) puts("a line that somebody prints again and again");'
    library = models.custom_op_library(tmp_path, body + " fflush(stdout); sleep(1);")
    printing = Plan("printing", settings=SessionSettings(custom_op_libraries=(str(library),)))
    limits = TrialLimits(log_bytes=1000)
    with Rig(model, REFERENCE, [FEED], None, scratch=scratch, limits=limits) as rig:
        rig.measure(printing, Purpose.WARMUP, in_seconds(30))
        sizes = [log.stat().st_size for log in scratch.rglob("*.log")]
        assert len(sizes) == 2
        assert max(sizes) < 100_000


@pytest.mark.parametrize(
    "executable", ["", "/usr/sbin/uwsgi", "C:/blender/blender.exe", "pythonista"]
)
def test_an_embedding_program_is_not_started(executable: str) -> None:
    with pytest.raises(TrialsUnavailableError, match=r"sys\.executable"):
        interpreter.worker_command(executable)


@pytest.mark.parametrize(
    "executable", ["/usr/bin/python", "python3.11", "C:/x/python.exe", "/o/pypy3", "python3.13t"]
)
def test_an_interpreter_is_started_by_its_path(executable: str) -> None:
    assert interpreter.worker_command(executable)[0] == executable


def test_an_interpreter_that_is_not_there_makes_trials_unavailable(
    model: Path, monkeypatch: pytest.MonkeyPatch, scratch: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(scratch / "python"))
    with (
        Rig(model, REFERENCE, [FEED], None, scratch=scratch) as rig,
        pytest.raises(TrialsUnavailableError, match="to start an interpreter"),
    ):
        rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))


def test_a_program_that_never_greets_makes_trials_unavailable(
    model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\nprintf 'a trace\\n%s: this is no worker\\n' $6 >&2\nexit 7\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    said = set()
    for _ in range(2):
        with (
            Rig(model, REFERENCE, [FEED], None) as rig,
            pytest.raises(
                TrialsUnavailableError, match=r"exit code 7.*this is no worker"
            ) as caught,
        ):
            rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        said.add(str(caught.value))
    (text,) = said  # the same words each time, so that one warning is one
    assert "ortsel-trial-" not in text
    assert "a trace" not in text


def descriptors_run_out(patch: pytest.MonkeyPatch) -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))


def processes_run_out(patch: pytest.MonkeyPatch) -> None:
    """Nobody can make the system refuse a process to its administrator, as which tests may run."""

    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    patch.setattr(subprocess, "Popen", refuse)


def memory_runs_out(patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    patch.setattr(subprocess, "Popen", refuse)


@pytest.mark.parametrize("run_out", [descriptors_run_out, processes_run_out, memory_runs_out])
def test_no_room_for_a_process_is_transient(
    model: Path, monkeypatch: pytest.MonkeyPatch, run_out: Callable[[pytest.MonkeyPatch], None]
) -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    with Rig(model, REFERENCE, [FEED], None) as rig:
        try:
            with monkeypatch.context() as patch:
                run_out(patch)
                with pytest.raises(TrialFailedError) as caught:
                    rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        failure = caught.value.failure
        assert (failure.kind, failure.code) == (FailureKind.TRANSIENT, "no-process")
        assert rig.measure(REFERENCE, Purpose.WARMUP, in_seconds(30)) > 0
