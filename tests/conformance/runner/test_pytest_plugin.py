"""The pytest plugin, in a pytest of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
TEST = """
def test_rules(conformance_case):
    conformance_case.check({})
"""


def pytest_in(folder: Path, body: str, *options: str) -> "subprocess.CompletedProcess[str]":
    (folder / "test_it.py").write_text(body, "utf-8")
    words = [sys.executable, "-m", "pytest", "-p", "conformance.adapters.pytest_plugin", "-q"]
    return subprocess.run(
        [*words, "-p", "no:cacheprovider", "--rootdir", str(folder), *options, "test_it.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_each_vector_is_a_test(tmp_path: Path) -> None:
    command = f"--conformance-command={sys.executable} -m conformance.implementations.python"
    done = pytest_in(tmp_path, TEST.format(""), command, "--conformance-id=keys/canonical/a*")
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


@pytest.mark.slow
def test_a_failure_is_shown_whole_and_what_does_not_apply_is_skipped(tmp_path: Path) -> None:
    body = (
        "from conformance.zoo import ZOO\n"
        "from attrs import evolve\n"
        "wrong = next(one for one in ZOO if one.name == 'accepts-nan').main\n"
    ) + TEST.format("wrong")
    done = pytest_in(tmp_path, body, "--conformance-area=keys")
    assert done.returncode == 1
    assert "expected: " in done.stdout
    assert "K2" in done.stdout
    nothing = (
        "import json\n"
        "def silent(lines, write):\n"
        "    for line in lines:\n"
        "        seq = json.loads(line)['seq']\n"
        "        welcome = dict(type='welcome', protocol=1, name='n', version='1', language='x',"
        " levels=[])\n"
        "        answer = welcome if seq == 1 else {'type': 'goodbye'}\n"
        "        write(json.dumps({**answer, 'seq': seq}))\n"
        "        write('\\n')\n"
    ) + TEST.format("silent")
    done = pytest_in(tmp_path, nothing, "--conformance-id=keys/canonical/a*")
    assert done.returncode == 0
    assert "skipped" in done.stdout
    assert "passed" not in done.stdout


@pytest.mark.slow
def test_a_pattern_that_matches_nothing_and_a_missing_implementation_are_errors(
    tmp_path: Path,
) -> None:
    done = pytest_in(tmp_path, TEST.format(""), "--conformance-id=nothing/*")
    assert done.returncode != 0
    assert "matches no vector" in done.stdout + done.stderr
    done = pytest_in(tmp_path, TEST.format(""), "--conformance-id=keys/canonical/a*")
    assert done.returncode == 1
    assert "--conformance-command" in done.stdout
