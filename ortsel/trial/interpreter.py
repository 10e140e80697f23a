"""How a child that imports the same packages as this process is started."""

import os
import re
import sys
from pathlib import Path
from typing import Final

from ortsel.trial.errors import TrialsUnavailableError

WORKER_MODULE: Final = "ortsel.trial.worker"
PARENT_VARIABLE: Final = "ORTSEL_TRIAL_PARENT"
"""Whose trial a worker runs. By the time a worker can ask for its parent it may be an orphan."""

_INTERPRETER: Final = re.compile(
    r"\.?(python|pypy)w?[0-9.]*[dtmu]*(-wrapped)?(\.exe)?", re.IGNORECASE
)


def worker_command(executable: str | None = None, module: str = WORKER_MODULE) -> list[str]:
    """Return the command line of a worker, which runs `module`.

    Raises `TrialsUnavailableError` where `sys.executable` is empty or a program that embeds Python:
    starting that would start the user's application a second time.
    """
    program = sys.executable if executable is None else executable
    need = "sys.executable to be a Python interpreter that can be started"
    if not program:
        raise TrialsUnavailableError("an empty sys.executable", need)
    if getattr(sys, "frozen", False):
        raise TrialsUnavailableError(got=f"the frozen application {program}", need=need)
    if not _INTERPRETER.fullmatch(Path(program).name):
        raise TrialsUnavailableError(got=f"sys.executable {program}", need=need)
    # -P: the worker's own folder and the current directory shadow nothing.
    # -W ignore: PYTHONWARNINGS=error in the user's environment must not end a trial.
    return [program, "-P", "-W", "ignore", "-m", module]


def worker_environment() -> dict[str, str]:
    """Return this process's environment, in which a child finds the modules that this one found."""
    root = str(Path(__file__).resolve().parents[2])
    # In this process's order, the standard library included: a package folder that was put in
    # front alone would let old backports shadow the standard library.
    folders = [entry or os.curdir for entry in sys.path if isinstance(entry, str)]
    if _is_nowhere():  # a child that looks at a relative folder there does not even start
        folders = [entry for entry in folders if Path(entry).is_absolute()]
    if root not in folders:
        folders.append(root)
    return dict(os.environ) | {"PYTHONPATH": os.pathsep.join(folders)}


def _is_nowhere() -> bool:
    """Whether the current directory was removed."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False
