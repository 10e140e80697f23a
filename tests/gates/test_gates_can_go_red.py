"""Every gate, shown a violation: a gate that stays green on it guards nothing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.__main__ import ROOT, gates
from tests.isolation import isolation_command
from tests.oldest_runtime import oldest_version

VIOLATIONS = {
    "format": ("spec/violation.py", '"""Badly laid out."""\n\nx = [1,2 ,3]\n'),
    "lint": (
        "spec/violation.py",
        '"""Uses a bare except."""\n\ntry:\n    x = 1\nexcept:\n    x = 2\n',
    ),
    "types": ("spec/violation.py", '"""Wrong type."""\n\nx: int = "one"\n'),
    "imports": ("spec/violation.py", '"""Impure."""\n\nimport time\n\nx = time.time()\n'),
    "isolation": (
        "spec/violation.py",
        '"""Needs numpy."""\n\nimport numpy\n\nx = numpy.zeros(1)\n',
    ),
    "tests": ("tests/test_violation.py", "def test_fails() -> None:\n    assert 1 == 2\n"),
}


def small_tree(folder: Path) -> Path:
    """Return a small project with the real tool settings and one clean module per package."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for package in ("spec", "ortsel", "kernels_cuda", "conformance"):
        (folder / package).mkdir()
        (folder / package / "__init__.py").write_text(f'"""The package {package}."""\n')
        (folder / package / "py.typed").touch()
    (folder / "tests").mkdir()
    (folder / "tests" / "test_clean.py").write_text(
        '"""One test."""\n\n\ndef test_holds() -> None:\n    assert 1 + 1 == 2\n'
    )
    return folder


def outcomes(root: Path, gate: str) -> list[int]:
    commands = gates(root, ["--no-cov", "-p", "no:cacheprovider"])[gate]
    return [
        subprocess.run(command, cwd=root, capture_output=True, check=False).returncode
        for command in commands
    ]


@pytest.mark.slow
@pytest.mark.parametrize("gate", list(VIOLATIONS))
def test_a_gate_is_green_on_a_clean_tree_and_red_on_a_violation(gate: str, tmp_path: Path) -> None:
    root = small_tree(tmp_path)
    assert set(outcomes(root, gate)) == {0}, "pointless unless the clean tree is green"
    name, text = VIOLATIONS[gate]
    (root / name).write_text(text)
    assert any(outcomes(root, gate))


def test_the_isolated_interpreter_finds_no_numpy() -> None:
    command = isolation_command(ROOT, "numpy")
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "No module named 'numpy'" in result.stderr


def test_the_isolation_probe_refuses_to_run_where_numpy_is_there() -> None:
    probe = isolation_command(ROOT, "spec")
    with_site_packages = [probe[0], *probe[3:]]
    result = subprocess.run(with_site_packages, capture_output=True, text=True, check=False)
    assert result.returncode != 0
    assert "is not absent" in result.stderr


def test_every_gate_is_shown_red_somewhere() -> None:
    elsewhere = {
        "vectors": "tests/conformance/vectors shows each rule of the linter red",
        "oldest": "runs pytest, as the gate tests does",
        "openvino": "runs pytest, as the gate tests does",
    }
    assert set(gates(ROOT, [])) == set(VIOLATIONS) | set(elsewhere)


def test_the_oldest_runtime_is_read_from_the_project() -> None:
    assert oldest_version(ROOT) == "1.24"


def test_an_unknown_gate_is_a_usage_error() -> None:
    command = [sys.executable, "-m", "tests", "no-such-gate"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2
