"""Runs the shell's tests on the oldest supported ONNX Runtime, in an environment of its own.

`python -m tests.oldest_runtime [ROOT]`. Where the package cannot be installed (another platform, no
network) it says so and fails nothing: a machine that cannot have it cannot test it.
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ("tests/ortsel/session", "tests/ortsel/trial", "tests/ortsel/keys")


def oldest_version(root: Path) -> str:
    """Return the lower bound of onnxruntime in pyproject.toml."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    [requirement] = project["optional-dependencies"]["cpu"]
    found = re.fullmatch(r"onnxruntime>=([0-9.]+)", requirement)
    assert found is not None, f"cannot tell the oldest version from {requirement!r}"
    return found.group(1)


def main(root: Path) -> int:
    """Install, check the version, and run."""
    oldest = oldest_version(root)
    constraints = root / "constraints.txt"
    kept = [
        line for line in constraints.read_text().splitlines() if not line.startswith("onnxruntime=")
    ]
    with tempfile.TemporaryDirectory(prefix="ortsel-oldest-") as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        narrowed = Path(folder) / "constraints.txt"
        narrowed.write_text("\n".join(kept) + "\n")
        wanted = [f"onnxruntime=={oldest}.*", f"{root}[cpu,test]"]
        install = [python, "-m", "pip", "install", "-q", "-c", str(narrowed), *wanted]
        if subprocess.run(install, check=False).returncode:
            print(f"onnxruntime {oldest} cannot be installed on this machine: not tested here")
            return 0
        check = f"import onnxruntime as o; assert o.__version__.startswith({oldest + '.'!r})"
        subprocess.run([python, "-c", check], check=True)
        command = [python, "-m", "pytest", "-q", "-m", "not deep and not soak and not zoo", *TESTS]
        return subprocess.run(command, cwd=root, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT))
