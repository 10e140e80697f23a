"""`ortsel exec`: run a program with ortsel under the names of ONNX Runtime."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

import ortsel
from ortsel.cli.durations import duration_argument
from ortsel.cli.exit_codes import ExitCode
from ortsel.exec_site.sitecustomize import PREFIX, ROOT
from ortsel.selection_config import SelectionMode
from ortsel.selection_environment import BUDGET_S, MODE, STORE, selection_from

PACKAGE: Final = Path(ortsel.__file__).resolve().parent
SITE: Final = PACKAGE / "exec_site"

_HELP: Final = f"""Run a program with ortsel in the place of ONNX Runtime; its code stays as it is.

\b
  ortsel exec -- python app.py
  ortsel exec --mode cache-only -- python -m app
  ortsel exec -- gunicorn --preload app:api

Every Python process that the program starts is reached too. ortsel must be installed for the
interpreter that runs it. Interpreters started with -I, -E or -S read no module path from the
environment and run plain ONNX Runtime.

\b
Options are handed on as {MODE}, {STORE} and {BUDGET_S},
which can be set instead of them.

\b
Exit codes:
  2    an option is wrong; one line on stderr says what
  126  the program cannot be executed
  127  the program was not found
  any other is the program's own
"""


@click.command(
    "exec",
    help=_HELP,
    short_help="Run a program with ortsel in the place of ONNX Runtime.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--mode",
    type=click.Choice([mode.value for mode in SelectionMode]),
    help="When sessions may measure.",
)
@click.option("--store", metavar="PATH", help="File of the decisions; :memory: for no file.")
@click.option(
    "--budget", type=duration_argument, metavar="TIME", help="Longest search, such as 90s."
)
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def exec_(
    mode: str | None, store: str | None, budget: float | None, command: tuple[str, ...]
) -> ExitCode:
    """Become the program; returns only where it could not be started."""
    given = {MODE: mode, STORE: store, BUDGET_S: None if budget is None else str(budget)}
    environment = dict(os.environ)
    environment |= {name: value for name, value in given.items() if value is not None}
    selection_from(environment)
    program = shutil.which(command[0])
    if program is None:
        click.echo(f"ortsel: no program {command[0]!r} found", err=True)
        return ExitCode.NOT_FOUND
    try:
        return _become(program, list(command), program_environment(environment))
    except OSError as error:
        click.echo(f"ortsel: {program} cannot be executed: {error.strerror}", err=True)
        return ExitCode.NOT_EXECUTABLE


def program_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python finds the start-up code first, then what it found."""
    before = [entry for entry in environment.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = [str(SITE), *(entry for entry in before if entry != str(SITE))]
    place = {ROOT: str(PACKAGE.parent), PREFIX: sys.prefix}
    return dict(environment) | place | {"PYTHONPATH": os.pathsep.join(folders)}


def _become(program: str, command: list[str], environment: dict[str, str]) -> ExitCode:
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # there, replacing a process lets its parent go on
        done = subprocess.run(command, executable=program, env=environment, check=False)
        sys.exit(done.returncode)
    # Python ignores these, and the program would inherit that.
    ignored = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]
    before = {number: signal.signal(number, signal.SIG_DFL) for number in ignored}
    try:
        os.execve(program, command, environment)  # noqa: S606
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
