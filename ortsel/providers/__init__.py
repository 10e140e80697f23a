"""Execution providers outside of ONNX Runtime: their libraries, their devices, and who chooses.

A plan names the library of its provider with a hash of its content, so that a child process can
register the same one, and a decision about it holds for that content alone.
"""

from ortsel.providers.library_search import library_at, library_of, library_of_package
from ortsel.providers.plugin import Plugin, PluginDevice, PluginLibrary, PluginLibraryError
from ortsel.providers.registration import (
    ensure_registered,
    register_execution_provider_library,
    unregister_execution_provider_library,
)

__all__ = [
    "Plugin",
    "PluginDevice",
    "PluginLibrary",
    "PluginLibraryError",
    "ensure_registered",
    "library_at",
    "library_of",
    "library_of_package",
    "register_execution_provider_library",
    "unregister_execution_provider_library",
]
