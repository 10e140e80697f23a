"""Everything that must hold, behind one command: `python -m tests [GATE ...]`.

Gates: format, lint, types, imports, isolation, vectors, tests, oldest, openvino. Without a name all
of them run, and the command fails when any of them does. What follows `--` goes to pytest, for
example `python -m tests tests -- --cov --cov-report=term:skip-covered`.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.isolation import isolation_command

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("spec", "ortsel", "kernels_cuda", "conformance", "tests", "benchmarks")
PYTHON = sys.executable
BIN = Path(PYTHON).parent


def gates(root: Path, pytest_arguments: list[str]) -> dict[str, list[list[str]]]:
    """Return the commands of each gate, in order."""
    # Two at a time, a file each: most wait for child processes more than they compute.
    two = ["-n", "2", "--dist", "loadfile"]
    ordinary = "not deep and not soak"
    return {
        "format": [[PYTHON, "-m", "ruff", "format", "--check", "."]],
        "lint": [[PYTHON, "-m", "ruff", "check", "."]],
        "types": [[PYTHON, "-m", "mypy", *(name for name in PACKAGES if (root / name).is_dir())]],
        "imports": [[str(BIN / "lint-imports"), "--no-cache"]],
        "isolation": [
            isolation_command(root, "spec"),
            isolation_command(root, "conformance"),
        ],
        "vectors": [[PYTHON, "-m", "conformance.vectors", "lint"]],
        "tests": [[PYTHON, "-m", "pytest", "-m", ordinary, *two, *pytest_arguments]],
        "oldest": [[PYTHON, "-m", "tests.oldest_runtime", str(root)]],
        "openvino": [[PYTHON, "-m", "tests.openvino_runtime", str(root)]],
    }


def run(root: Path, names: list[str], pytest_arguments: list[str]) -> int:
    """Run gates in `root`, say how each ended, and return the number that failed."""
    table = gates(root, pytest_arguments)
    environment = os.environ | {"HYPOTHESIS_PROFILE": os.environ.get("HYPOTHESIS_PROFILE", "ci")}
    failed: list[str] = []
    for name in names or list(table):
        started = time.monotonic()
        for command in table[name]:
            print(f"== {name}: {' '.join(command)[:200]}", flush=True)
            if subprocess.run(command, cwd=root, env=environment, check=False).returncode:
                failed.append(name)
                break
        print(f"== {name}: {time.monotonic() - started:.0f} s", flush=True)
    print(f"== failed: {', '.join(failed)}" if failed else "== all gates hold", flush=True)
    return len(failed)


def main() -> int:
    """Parse the command line and run."""
    arguments = sys.argv[1:]
    pytest_arguments: list[str] = []
    if "--" in arguments:
        position = arguments.index("--")
        arguments, pytest_arguments = arguments[:position], arguments[position + 1 :]
    parser = argparse.ArgumentParser(prog="python -m tests", description=__doc__)
    parser.add_argument("gates", nargs="*", metavar="GATE")
    parser.add_argument("--root", type=Path, default=ROOT, help="the tree to check")
    options = parser.parse_args(arguments)
    known = list(gates(ROOT, []))
    for name in options.gates:
        if name not in known:
            parser.error(f"gate: got {name!r}, need one of {', '.join(known)}")
    return 1 if run(options.root, options.gates, pytest_arguments) else 0


if __name__ == "__main__":
    sys.exit(main())
