"""The tutorial's steps, executed as they stand."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.zoo import ZOO

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "conformance" / "README.md"
BLOCK = re.compile(r"^```(\w+) ?(\S*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_command(line: str, folder: Path) -> str:
    words = [sys.executable if word == "python" else word for word in shlex.split(line)]
    done = subprocess.run(
        words,
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return (done.stdout + done.stderr).replace(sys.executable, "python")


@pytest.mark.slow
def test_the_tutorial_does_what_it_says(tmp_path: Path) -> None:
    blocks = BLOCK.findall(README.read_text("utf-8"))
    commands = 0
    for kind, name, text in blocks:
        if kind in {"python", "text"}:
            path = tmp_path / name
            before = path.read_text("utf-8") + "\n\n" if path.exists() else ""
            path.write_text(before + text, "utf-8")
            continue
        assert kind == "console"
        command, *expected = text.strip().splitlines()
        output = run_command(command.removeprefix("$ "), tmp_path)
        commands += 1
        assert expected, "a command without anything to see proves nothing"
        for line in expected:
            assert line in output, command
    assert commands == 7, "one per console block"
    assert {"report.xml", "report.json", "badge.json"} <= {one.name for one in tmp_path.iterdir()}


def test_the_readme_counts_the_zoo_as_it_is() -> None:
    assert f"{len(ZOO)} harnesses that are wrong in one way each" in README.read_text("utf-8")
