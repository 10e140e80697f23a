"""Importing a package where nothing is installed but what it may use."""

import sys
from importlib.util import find_spec
from pathlib import Path

ALLOWED = ("attr", "attrs", "immutables", "typing_extensions")
PROBE = Path(__file__).with_name("isolation_probe.py")


def isolation_command(root: Path, package: str) -> list[str]:
    """Return a command that imports every module of `package` from `root`, in an interpreter that
    has no site-packages and can find only `ALLOWED` besides the standard library."""
    places = [
        f"{name}={Path(spec.origin).parent.parent}"
        for name in ALLOWED
        if (spec := find_spec(name)) is not None and spec.origin is not None
    ]
    return [sys.executable, "-I", "-S", str(PROBE), str(root), package, *places]
