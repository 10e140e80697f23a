"""Finding a provider's library: by its path, or in an installed package."""

import hashlib
import importlib.metadata
import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from ortsel.providers.plugin import PluginLibrary, PluginLibraryError

ENTRY: Final = b"CreateEpFactories"
"""What every provider library exports."""
SUFFIXES: Final = (".so", ".dll", ".dylib")
CHUNK_BYTES: Final = 2**22


def library_of(place: str | os.PathLike[str], registration: str = "") -> PluginLibrary:
    """Return the library that a user means: a path of one, or the name of an installed package.

    Text is a path where it ends like a library or has a folder in it. Raises `PluginLibraryError`.
    """
    text = os.fspath(place)
    if isinstance(place, os.PathLike) or text.endswith(SUFFIXES) or Path(text).name != text:
        return library_at(text, registration)
    return library_of_package(text, registration)


def library_at(path: str | os.PathLike[str], registration: str = "") -> PluginLibrary:
    """Return the library in a file. Raises `PluginLibraryError` where it is none.

    It is registered under its file's name without prefix and ending, unless told otherwise.
    """
    file = Path(path).absolute()
    if not file.is_file():
        raise PluginLibraryError(str(path), "no such file", "a provider's shared library")
    if not _exports_entry(file):
        need = f"a library that exports {ENTRY.decode()}"
        raise PluginLibraryError(str(path), "no provider", need)
    name = registration or file.name.split(".")[0].removeprefix("lib")
    return PluginLibrary(name, str(file), content_of(file))


def library_of_package(package: str, registration: str = "") -> PluginLibrary:
    """Return the one provider library of an installed package, without importing the package.

    Raises `PluginLibraryError` where it is not installed, or holds none or several.
    """
    try:
        distribution = importlib.metadata.distribution(package)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        need = "the name of an installed package, or a path"
        raise PluginLibraryError(package, "no such package", need) from None
    files = [
        Path(str(distribution.locate_file(file)))
        for file in distribution.files or ()
        if file.name.endswith(SUFFIXES) or ".so." in file.name
    ]
    found = [file for file in files if file.is_file() and _exports_entry(file)]
    if len(found) != 1:
        got = ", ".join(file.name for file in found) or "no provider library in it"
        raise PluginLibraryError(package, got, "exactly one, or the path of the one that is meant")
    return library_at(found[0], registration or package.replace("-", "_"))


def content_of(path: str | os.PathLike[str]) -> str:
    """Return the SHA-256 of a library file; read once for each state of the file."""
    state = os.stat(path)
    return _content(os.path.realpath(path), state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=64)
def _content(path: str, size: int, mtime_ns: int) -> str:
    del size, mtime_ns  # only tell one state of the file from another
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _exports_entry(path: Path) -> bool:
    """Whether a file has the name of the entry point in it, as every library with one does."""
    tail = b""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            tail += chunk
            if ENTRY in tail:
                return True
            tail = tail[-len(ENTRY) :]
    return False
