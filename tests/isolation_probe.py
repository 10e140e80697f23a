"""Run with `python -I -S`: imports every module of a package where only a few others exist.

Arguments: the tree's root, the package, then NAME=FOLDER for each package that may be found.
"""

import importlib
import importlib.machinery
import pkgutil
import sys
from collections.abc import Sequence
from types import ModuleType

ABSENT = ("numpy", "onnx", "onnxruntime")


class Only:
    """A finder that knows a few packages by name."""

    def __init__(self, places: dict[str, str]) -> None:
        self.places = places

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Find a top-level package that is allowed; the ordinary finder then finds its parts."""
        del path, target
        place = self.places.get(name)
        return None if place is None else importlib.machinery.PathFinder.find_spec(name, [place])


def probe(root: str, package: str, places: dict[str, str]) -> int:
    """Import everything and return how many modules there were."""
    sys.path.insert(0, root)
    sys.meta_path.append(Only(places))
    for absent in ABSENT:
        try:
            importlib.import_module(absent)
        except ImportError:
            continue
        sys.exit(f"{absent} is not absent: this check proves nothing")
    module = importlib.import_module(package)
    names = [
        found.name
        for found in pkgutil.walk_packages(module.__path__, package + ".")
        if not found.name.endswith("__main__")
    ]
    for name in names:
        importlib.import_module(name)
    return 1 + len(names)


if __name__ == "__main__":
    root, package, *allowed = sys.argv[1:]
    places = dict(item.split("=", 1) for item in allowed)
    count = probe(root, package, places)
    print(f"{count} modules of {package} import with the standard library, {', '.join(places)}")
