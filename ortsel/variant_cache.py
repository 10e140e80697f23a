"""Built graph variants, kept beside the store so that no request waits for building one again.

A file is named by a hash of what it was built from, never by anything that a store says, and what
is loaded from it is compared with the reference before it serves, like any plan.
"""

import contextlib
import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.errors import OrtselError
from ortsel.plan import VARIANT_SCHEMA
from spec.canonical_json import Json, canonical, digest

MOST_FILES: Final = 16
"""Variants kept; the one that was used longest ago leaves. Each is as large as its model."""
LARGEST_BYTES: Final = 1 << 30
"""A larger variant is built again rather than kept."""
BUILDERS: Final = ("onnx", "onnx-ir", "onnxscript")


@frozen
class VariantMissingError(OrtselError):
    """A decision needs a graph variant that is not here, and no request waits for building one."""

    variant: str

    def __str__(self) -> str:
        return (
            f"the graph variant {self.variant} is not built here: "
            "`ortsel tune` or mode blocking builds it"
        )


@frozen
class VariantCache:
    """A folder of built variants; None keeps nothing."""

    folder: Path | None

    def find(self, content: str, variant: str) -> Path | None:
        """Return the file of a variant of the model with that content, if it was kept."""
        path = self._path(content, variant)
        if path is None or not path.is_file():
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return path

    def keep(self, content: str, variant: str, built: Path) -> None:
        """Keep a copy of a file that was just built. Where that fails, nothing is kept."""
        path = self._path(content, variant)
        if path is None or self.folder is None or path.exists():
            return
        try:
            alone = not any(built.parent.glob(f"{built.name}.*"))
            if not alone or built.stat().st_size > LARGEST_BYTES:
                return
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = path.with_suffix(f".{os.getpid()}")
            shutil.copyfile(built, unfinished)
            os.chmod(unfinished, 0o600)
            os.replace(unfinished, path)
            kept = sorted(self.folder.glob("*.onnx"), key=lambda file: file.stat().st_mtime_ns)
            for old in kept[:-MOST_FILES]:
                old.unlink(missing_ok=True)
        except OSError:
            return

    def _path(self, content: str, variant: str) -> Path | None:
        if self.folder is None:
            return None
        named: dict[str, Json] = {
            "builders": {name: _version(name) for name in BUILDERS},
            "model": content,
            "schema": VARIANT_SCHEMA,
            "variant": variant,
        }
        return self.folder / f"{digest(canonical(named))}.onnx"


def variant_cache(store: str | None) -> VariantCache:
    """Return the cache beside a store's file.

    "default" is the one in the cache folder; that of a store on a server is there, too.
    """
    if store is None:
        return VariantCache(None)
    from ortsel.store import default_path
    from ortsel.store.errors import StoreError
    from ortsel.store.server_url import is_server_url

    try:
        in_cache_folder = store == "default" or is_server_url(store)
        file = default_path() if in_cache_folder else Path(store).absolute()
    except StoreError:
        return VariantCache(None)
    return VariantCache(file.with_name(f"{file.name}.variants"))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
