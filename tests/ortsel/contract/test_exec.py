"""`ortsel exec` runs a program as it is, with ortsel in the place of ONNX Runtime."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import pytest

from ortsel.cli import main
from tests.ortsel.trial import models

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

SHOW = """
import json, os, sys
seen = {"path": sys.path, "arguments": sys.argv, "pid": os.getpid(), "name": __name__}
from onnxruntime import InferenceSession
seen["module"] = InferenceSession.__module__
print(json.dumps(seen))
"""


def environment(**variables: str) -> dict[str, str]:
    """Return what a program that is started from this tree finds, without this test's own."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("ORTSEL_")}
    return kept | {"PYTHONPATH": str(ROOT)} | variables


def ortsel_exec(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ortsel.cli", "exec", *arguments]


def run(
    *arguments: str, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(arguments),
        cwd=cwd,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def shown(result: subprocess.CompletedProcess[str]) -> Any:
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_a_script_finds_the_same_path_and_arguments_and_our_classes(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(SHOW)
    command = [sys.executable, str(program), "--flag", "exec", "--", "-x"]
    plain = shown(run(*command))
    ours = shown(run(*ortsel_exec("--", *command)))
    assert plain["module"].startswith("onnxruntime."), "pointless unless it is plain without us"
    assert ours["module"] == "ortsel.session"
    assert (ours["path"], ours["arguments"]) == (plain["path"], plain["arguments"])


def test_a_module_is_run_from_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "__main__.py").write_text(SHOW)
    command = [sys.executable, "-m", "served", "one"]
    ours = shown(run(*ortsel_exec(*command), cwd=tmp_path))
    assert (ours["module"], ours["name"]) == ("ortsel.session", "__main__")
    assert ours["arguments"][1:] == ["one"]


def test_a_console_script_is_found_on_the_path_and_becomes_the_process(tmp_path: Path) -> None:
    script = tmp_path / "serve-it"
    script.write_text(f"#!{sys.executable}\n{SHOW}")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    process = subprocess.Popen(
        ortsel_exec("--", "serve-it"),
        env=environment(PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}"),
        stdout=subprocess.PIPE,
        text=True,
    )
    output, _ = process.communicate(timeout=60)
    seen = json.loads(output)
    assert (seen["module"], seen["pid"]) == ("ortsel.session", process.pid)


CHILDREN = """
import json, multiprocessing, subprocess, sys

def module(_):
    import onnxruntime
    return onnxruntime.InferenceSession.__module__

if __name__ == "__main__":
    code = "import onnxruntime; print(onnxruntime.InferenceSession.__module__)"
    started = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(json.dumps([started.stdout.strip(), *pool.map(module, [0])]))
"""


def test_processes_that_the_program_starts_are_reached_too(tmp_path: Path) -> None:
    program = tmp_path / "app.py"
    program.write_text(CHILDREN)
    seen = shown(run(*ortsel_exec("--", sys.executable, str(program))))
    assert seen == ["ortsel.session", "ortsel.session"]


TUNE = """
import json, sys
import onnxruntime, numpy as np
from ortsel.trial.interpreter import worker_environment
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession(sys.argv[1], options)
session.run(None, {"x": np.ones((8, 16), np.float32)})
config = session._ortsel_config
print(json.dumps({
    "mode": config.mode.value, "store": config.store, "budget_s": config.budget_s,
    "searches": session.statistics().explorations, "why": str(session.explain()),
    "to workers": worker_environment()["PYTHONPATH"],
}))
"""


def test_a_program_tunes_by_the_options_and_its_trials_are_not_reached(tmp_path: Path) -> None:
    model = models.linear(tmp_path / "model.onnx")
    store = tmp_path / "store.sqlite"
    options = ["--mode", "blocking", "--budget", "2s", "--store", str(store)]
    seen = shown(run(*ortsel_exec(*options, sys.executable, "-c", TUNE, str(model))))
    assert (seen["mode"], seen["store"], seen["budget_s"]) == ("blocking", str(store), 2.0)
    assert seen["searches"] == 1, seen["why"]
    assert "exec_site" not in seen["to workers"]
    assert str(ROOT) in seen["to workers"]


def test_variables_do_the_same_as_options_and_options_win() -> None:
    code = "import os; print(os.environ['ORTSEL_MODE'], os.environ['ORTSEL_BUDGET_S'])"
    result = run(
        *ortsel_exec("--mode", "disabled", sys.executable, "-c", code),
        ORTSEL_MODE="blocking",
        ORTSEL_BUDGET_S="7",
    )
    assert result.stdout.split() == ["disabled", "7"]


def test_another_start_up_module_still_runs_and_sees_itself(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import sys; print('theirs', __name__)\n")
    code = "import sitecustomize, onnxruntime; print(sitecustomize.__file__, end=' ')\n"
    code += "print(onnxruntime.InferenceSession.__module__)"
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    result = run(*ortsel_exec(sys.executable, "-c", code), PYTHONPATH=path)
    # The command itself is a Python program, and runs it first.
    assert result.stdout.splitlines() == [
        "theirs sitecustomize",
        "theirs sitecustomize",
        f"{tmp_path / 'sitecustomize.py'} ortsel.session",
    ]


def test_a_start_up_module_that_fails_fails_as_without_us(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import no_such_module_at_all\n")
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    command = [sys.executable, "-c", "print('runs')"]
    plain = run(*command, PYTHONPATH=path)
    ours = run(*ortsel_exec(*command), PYTHONPATH=path)
    assert "no_such_module_at_all" in plain.stderr, "pointless unless it is said without us"
    assert ours.stdout == plain.stdout == "runs\n"
    assert ours.stderr.splitlines()[-1] == plain.stderr.splitlines()[-1]


def test_an_interpreter_without_ortsel_runs_plain_onnx_runtime_and_says_so(tmp_path: Path) -> None:
    home = tmp_path / "venv"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    modules = tmp_path / "modules"
    (modules / "onnxruntime").mkdir(parents=True)
    (modules / "onnxruntime" / "__init__.py").write_text("InferenceSession = 'theirs'\n")
    code = "import json; import onnxruntime as ort; print(ort.InferenceSession)"
    inner = f"PYTHONPATH=$PYTHONPATH:{modules} {python} -c '{code}'"
    # Through a shell, as a start script would: the command's own path names this tree.
    inner = inner.replace("$PYTHONPATH:", "${PYTHONPATH%%:*}:")
    result = run(*ortsel_exec("sh", "-c", inner), cwd=tmp_path)
    assert result.stdout == "theirs\n"
    assert result.stderr == (f"ortsel: not installed for {python}: plain ONNX Runtime runs\n"), (
        result.stderr
    )


def test_a_program_without_onnx_runtime_imports_nothing_of_ours() -> None:
    code = (
        "import sys; print([m for m in sys.modules"
        " if m.split('.')[0] in ('ortsel', 'spec', 'typing', 'attrs')])"
    )
    result = run(*ortsel_exec(sys.executable, "-c", code))
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_the_exit_code_is_the_programs() -> None:
    assert run(*ortsel_exec(sys.executable, "-c", "raise SystemExit(7)")).returncode == 7


def test_a_signal_reaches_the_program(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    code = (
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(43))\n"
        f"pathlib.Path({str(ready)!r}).touch()\n"
        "time.sleep(60)"
    )
    process = subprocess.Popen(ortsel_exec(sys.executable, "-c", code), env=environment())
    until = time.monotonic() + 60
    while not ready.exists() and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 43


def test_what_cannot_be_started_ends_with_the_codes_of_a_shell(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["exec", "no-such-program"]) == 127
    assert capsys.readouterr().err == "ortsel: no program 'no-such-program' found\n"
    broken = tmp_path / "broken"
    broken.write_bytes(b"\x7fELF")
    broken.chmod(0o755)
    assert main(["exec", str(broken)]) == 126
    assert capsys.readouterr().err.startswith(f"ortsel: {broken} cannot be executed: ")


@pytest.mark.parametrize(
    ("arguments", "mode", "said"),
    [
        (["--mode", "often", "true"], "", "'--mode': 'often' is not one of"),
        (["--budget", "soon", "true"], "", "soon"),
        (["true"], "often", "ORTSEL_MODE: got 'often', need one of"),
        ([], "", "Missing argument"),
    ],
)
def test_a_wrong_option_or_variable_is_said_before_anything_runs(
    arguments: list[str],
    mode: str,
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ORTSEL_MODE", mode)
    assert main(["exec", *arguments]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1
