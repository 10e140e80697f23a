"""The command `ortsel`. This file needs the standard library only, to say what else is needed."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Final

_NEEDED: Final = ("click", "rich")
_USAGE_ERROR: Final = 2
_INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (the process's own by default); return the exit code.

    Where a package of the extra `cli` is missing, one line says so and nothing else happens.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        packages = " and ".join(missing)
        sys.stderr.write(f'ortsel: the command line needs {packages}: pip install "ortsel[cli]"\n')
        return _USAGE_ERROR
    try:
        from ortsel.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:  # before or after a command; a command says so itself
        return _INTERRUPTED
