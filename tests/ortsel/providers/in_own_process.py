"""Runs a scenario in a process of its own, since a registration lasts as long as its process."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[3]
HEAD = """
import sys
from pathlib import Path
import onnxruntime
import ortsel
from ortsel.providers import *
from tests.ortsel.providers.plugin_models import *
folder = Path(sys.argv[1])
model = write_model(folder / "model.onnx")
"""


def run(scenario: str, folder: Path) -> list[str]:
    """Return the lines that a scenario printed; it has the names of `HEAD`."""
    script = folder / "scenario.py"
    script.write_text(HEAD + textwrap.dedent(scenario))
    done = subprocess.run(
        [sys.executable, str(script), str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
