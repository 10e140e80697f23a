"""The cases of a benchmark: real models, each at the shapes that it is used with."""

import importlib
import os
import sys
from collections.abc import Iterator
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any, Final

import numpy as np
from attrs import frozen

ROOT: Final = Path(__file__).resolve().parents[2]
ZOO: Final = ROOT.parent / "shared" / "zoo"
QUICK_MS: Final = 15.0
"""Models slower than that are left to the full run."""

Feed = dict[str, np.ndarray[Any, np.dtype[Any]]]


@frozen
class Case:
    """One model at one shape."""

    model: str
    shape: int
    path: Path
    zoo: Any
    """Module that makes the feeds."""
    entry: dict[str, Any]

    @property
    def name(self) -> str:
        """Return what the case is called in results."""
        return f"{self.model}#{self.shape}"

    def feed(self) -> Feed:
        """Return one seeded feed."""
        found: Feed = next(islice(self.zoo.feeds(self.entry), self.shape, None))
        return found


def zoo_cases(folder: Path, site: str | None, only: str, *, quick: bool) -> list[Case]:
    """Return every model that is installed: all at their first shape, then at their second, ...

    So a run that ends early has seen as many models as it could.
    """
    if not (folder / "zoo.py").is_file():
        message = f"--zoo: got {folder}, need the folder of zoo.py"
        raise SystemExit(message)
    sys.path.insert(0, os.fspath(folder))
    zoo = importlib.import_module("zoo")
    by_model = [
        list(_shapes(zoo, entry, site, quick=quick))
        for entry in zoo.entries()
        if only in _name(entry)
    ]
    cases = [case for row in zip_longest(*by_model) for case in row if case is not None]
    if not cases:
        message = f"no case: got no installed model whose name contains {only!r} in {folder}"
        raise SystemExit(message)
    return cases


def _name(entry: dict[str, Any]) -> str:
    """Return package and file: the file alone is often called model.onnx."""
    return f"{entry['package']}/{Path(entry.get('relpath') or 'minilm-l3-fused.onnx').name}"


def _shapes(zoo: Any, entry: dict[str, Any], site: str | None, *, quick: bool) -> Iterator[Case]:
    try:
        path = Path(zoo.model_path(entry, site=site))
    except ImportError as error:  # a derived model needs the packages that build it
        print(f"{_name(entry)}: {error}", file=sys.stderr)
        return
    if not path.is_file():
        print(f"{_name(entry)}: package {entry['package']} is not installed", file=sys.stderr)
        return
    for shape, run in enumerate(entry["runs"]):
        if quick and (shape or run["median_ms"] > QUICK_MS):
            continue
        yield Case(_name(entry), shape, path, zoo, entry)
