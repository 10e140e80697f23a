"""Runs at the start of every interpreter below `ortsel exec`: has `onnxruntime` give our classes.

Python imports `sitecustomize` from the first folder of the module path that has one. This one needs
the standard library alone, imports nothing that the program does not, steps out of the module path,
and hands on to the `sitecustomize` that would have run without it. The environment still names its
folder, so that the program's own children are reached too; ortsel's are not, because they are given
this process's module path.
"""

from __future__ import annotations

import importlib.util
import os
import sys

TYPE_CHECKING = False  # the real one costs every process of the program the import of `typing`
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any

TARGET = "onnxruntime"
ROOT = "ORTSEL_EXEC_ROOT"
"""Where the command found ortsel, for the same interpreter if it would find none."""
PREFIX = "ORTSEL_EXEC_PREFIX"
"""Which interpreter that was."""


class InstallWhenLoaded:
    """Finds `onnxruntime` as the other finders do, and installs ortsel when it has been loaded."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """Return nothing for any other module."""
        if name != TARGET:
            return None
        for finder in sys.meta_path:
            search = None if finder is self else getattr(finder, "find_spec", None)
            spec = search(name, path, target) if search is not None else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader.exec_module = then_install(spec.loader.exec_module)
                return spec
        return None


def then_install(load: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    """Return what loads a module and then puts ortsel in place."""

    def exec_module(module: ModuleType) -> None:
        load(module)
        try:
            obstacle = install()
        except Exception as error:  # noqa: BLE001
            obstacle = f"{type(error).__name__}: {error}"
        if obstacle:
            sys.stderr.write(f"ortsel: {obstacle}: plain ONNX Runtime runs\n")

    return exec_module


def install() -> str:
    """Put ortsel in place, and return why it cannot be; empty where it is."""
    if importlib.util.find_spec("ortsel") is None:
        root = os.environ.get(ROOT)
        if root is None or os.environ.get(PREFIX) != sys.prefix:
            return f"not installed for {sys.executable}"
        sys.path.append(root)
    from ortsel.installation import install as put_in_place

    put_in_place()
    return ""


def step_out(own: str) -> None:
    """Take a folder out of the module path."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != own]


def hand_on(own_module: ModuleType) -> None:
    """Import the next module of this name; where there is none, this one keeps it."""
    name = own_module.__name__
    del sys.modules[name]
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        sys.modules[name] = own_module


if __name__ == "sitecustomize":
    sys.meta_path.insert(0, InstallWhenLoaded())
    step_out(os.path.dirname(os.path.abspath(__file__)))
    hand_on(sys.modules[__name__])
