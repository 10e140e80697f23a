"""Registering provider libraries in this process, each at most once.

ONNX Runtime refuses a name twice, offers a file twice under two names, and never says what is
registered under which name: whoever registers through ortsel is remembered.
"""

import os
import threading
from importlib import import_module
from typing import Any, Final

from attrs import define, field

from ortsel.fork import starts_over
from ortsel.providers.library_search import content_of
from ortsel.providers.plugin import PluginLibrary, PluginLibraryError


@define
class _Guard:
    """A lock that a fork of this process does not inherit."""

    lock: threading.Lock = field(factory=threading.Lock)

    def after_fork_in_child(self) -> None:
        self.lock = threading.Lock()


_guard: Final = _Guard()
starts_over(_guard)
_by_user: Final[dict[str, str]] = {}
_by_plan: Final[dict[str, str]] = {}
"""Paths by registration name. What a plan needed is apart: it must not change what a key says about
the process, or the same session would be another after it was tuned."""


def register_execution_provider_library(name: str, path: str | os.PathLike[str]) -> None:
    """Register a library, exactly as `onnxruntime.register_execution_provider_library` does.

    Sessions that name its provider can be tuned then, since children know what to register.
    """
    # From below, because `ortsel.install` puts this function under the name above.
    from onnxruntime.capi import _pybind_state as native

    with _guard.lock:
        if _by_plan.get(name) == os.path.realpath(path):
            _by_user[name] = _by_plan.pop(name)  # there already, on ortsel's own account
            return
        native.register_execution_provider_library(name, os.fspath(path))
        _by_user[name] = os.path.realpath(path)


def unregister_execution_provider_library(name: str) -> None:
    """Take a registration back, as `onnxruntime.unregister_execution_provider_library` does."""
    from onnxruntime.capi import _pybind_state as native

    with _guard.lock:
        native.unregister_execution_provider_library(name)
        _by_user.pop(name, None)
        _by_plan.pop(name, None)


def ensure_registered(library: PluginLibrary) -> None:
    """Register a plan's library unless it is there already, under this name or another.

    Raises `PluginLibraryError` where the file is another than the plan was made with, the name
    belongs to another library, or ONNX Runtime cannot load it.
    """
    from onnxruntime.capi import _pybind_state as native

    try:
        content = content_of(library.path)
    except OSError as error:
        raise PluginLibraryError(library.path, str(error), "the file of the plan") from error
    if content != library.content:
        need = f"that of the plan, {library.content[:12]}"
        raise PluginLibraryError(library.path, f"content {content[:12]}", need)
    path = os.path.realpath(library.path)
    with _guard.lock:
        if path in (*_by_user.values(), *_by_plan.values()) or path in registered_paths():
            return
        try:
            native.register_execution_provider_library(library.registration, path)
        except Exception as error:  # ONNX Runtime's classes have no common base of their own
            raise PluginLibraryError(library.path, str(error), "a library that loads") from error
        _by_plan[library.registration] = path


def registered_by_user() -> dict[str, str]:
    """Return the paths of libraries that the user registered through ortsel, by name."""
    with _guard.lock:
        return dict(_by_user)


def registered_for_plans() -> frozenset[str]:
    """Return the paths of libraries that are registered only because a plan needs them."""
    with _guard.lock:
        return frozenset(_by_plan.values()) - frozenset(_by_user.values())


def registered_paths() -> frozenset[str]:
    """Return the paths of libraries with a device here, as far as ONNX Runtime tells them."""
    import onnxruntime

    return frozenset(filter(None, (library_path(one) for one in onnxruntime.get_ep_devices())))


def _native() -> Any:
    """Return ONNX Runtime's own functions, whose public names may stand for ours."""
    return import_module("onnxruntime.capi.onnxruntime_pybind11_state")


def library_path(device: Any) -> str:
    """Return the file behind one of ONNX Runtime's devices; empty where it does not say."""
    path = str(dict(device.ep_metadata).get("library_path", ""))
    return os.path.realpath(path) if path else ""
