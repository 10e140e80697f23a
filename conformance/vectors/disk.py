"""The vectors' folder and their schemas: reading them whole, and writing them whole."""

from pathlib import Path
from typing import Final

from conformance.vectors import index as ids
from conformance.vectors.authoring.all_vectors import all_vectors
from conformance.vectors.index import Known
from conformance.vectors.layout import AREAS, files
from conformance.vectors.lint import Disk
from conformance.vectors.schema import schema_files
from conformance.vectors.vector import Vector

SCHEMAS: Final = "schema"


def read(root: Path) -> Disk:
    """Return what lies under `root`, the folder of the suite, beside what would be written now."""
    return Disk(_present(root), read_index(root), written(all_vectors()))


def written(vectors: tuple[Vector, ...]) -> dict[str, str]:
    """Return the text of every vector file and schema by its path under the suite's folder."""
    texts = {f"vectors/{path}": text for path, text in files(vectors).items()}
    return {**texts, **{f"{SCHEMAS}/{name}": text for name, text in schema_files().items()}}


def read_index(root: Path) -> dict[str, Known]:
    """Return the index; empty where there is none yet."""
    path = root / "vectors" / ids.FILE
    return ids.from_text(path.read_text(encoding="utf-8")) if path.exists() else {}


def write(root: Path, vectors: tuple[Vector, ...]) -> tuple[str, ...]:
    """Write all files, and take away vector files that nothing writes.

    Writes nothing and returns the complaints if an id vanished, or changed its meaning without a
    new version of the rules.
    """
    old = read_index(root)
    complaints = ids.broken(old, vectors)
    if complaints:
        return complaints
    texts = written(vectors)
    for path in _present(root):
        if path not in texts:
            (root / path).unlink()
    for path, text in texts.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode())
    index = ids.to_text(ids.updated(old, vectors))
    (root / "vectors" / ids.FILE).write_bytes(index.encode())
    return ()


def _present(root: Path) -> dict[str, bytes]:
    """Return vector files, and the schemas that belong to them."""
    paths = [
        *(path for area in AREAS for path in (root / "vectors" / area).glob("*")),
        *(root / SCHEMAS / name for name in schema_files()),
    ]
    return {
        path.relative_to(root).as_posix(): path.read_bytes() for path in paths if path.is_file()
    }
