"""The vectors: questions and scripts with the only right answers (`README.md`)."""

from pathlib import Path
from typing import Final

from conformance.vectors.layout import AREAS, vectors_of
from conformance.vectors.vector import (
    SCRIPT,
    Happens,
    Looked,
    Question,
    Refused,
    Script,
    Step,
    Vector,
)
from conformance.vectors.version import SPEC_VERSION

FOLDER: Final = Path(__file__).parent


def load(folder: Path = FOLDER) -> tuple[Vector, ...]:
    """Return every vector on disk, by area, group and id, shorthand expanded."""
    return tuple(
        vector
        for area in AREAS
        for path in sorted((folder / area).glob("*.json"))
        for vector in vectors_of(f"{area}/{path.name}", path.read_text(encoding="utf-8"))
    )


__all__ = [
    "AREAS",
    "FOLDER",
    "SCRIPT",
    "SPEC_VERSION",
    "Happens",
    "Looked",
    "Question",
    "Refused",
    "Script",
    "Step",
    "Vector",
    "load",
]
