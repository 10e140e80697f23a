"""What a child is started with."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from ortsel.trial.interpreter import worker_command, worker_environment
assert "" in sys.path
folder = Path({folder!r})
folder.mkdir()
os.chdir(folder)
{remove}
command = [worker_command()[0], "-c", "import ortsel"]
sys.exit(subprocess.run(command, env=worker_environment()).returncode)
"""


@pytest.mark.skipif(os.name != "posix", reason="no other system lets a current directory go")
@pytest.mark.parametrize("remove", ["", "folder.rmdir()"])
def test_a_child_starts_whether_or_not_the_current_directory_is_there(
    tmp_path: Path, remove: str
) -> None:
    program = PROGRAM.format(folder=str(tmp_path / "here"), remove=remove)
    subprocess.run([sys.executable, "-c", program], check=True)
