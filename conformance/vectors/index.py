"""The memory of ids: none may vanish, and none may come to mean something else unannounced."""

import json
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from attrs import frozen

from conformance.codec.error import CodecError
from conformance.vectors.layout import compact, meaning
from conformance.vectors.vector import Vector
from conformance.vectors.version import SPEC_VERSION
from spec.canonical_json import digest

FILE: Final = "index.json"


@frozen
class Known:
    """What an id means, and in which version of the rules it was last confirmed to."""

    spec_version: str
    sha256: str
    """Of its rules, kind, input and expected answer."""


Index: TypeAlias = Mapping[str, Known]


def index_of(vectors: Iterable[Vector]) -> dict[str, Known]:
    """Return the index of vectors as they are now."""
    return {one.id: Known(SPEC_VERSION, _digest(one)) for one in vectors}


def updated(old: Index, vectors: Iterable[Vector]) -> dict[str, Known]:
    """Return the index with every meaning as it is now, and what vanished as it was.

    A meaning that did not change is confirmed in this version of the rules as well, or it could
    change later without another version.
    """
    return {**old, **index_of(vectors)}


def broken(old: Index, vectors: Iterable[Vector]) -> tuple[str, ...]:
    """Return what the index says against vectors: vanished ids, and changed meanings.

    A meaning may change with the version of the rules, and only then.
    """
    now = index_of(vectors)
    vanished = [f"{name}: the id has vanished" for name in old if name not in now]
    changed = [
        f"{name}: its meaning changed without a new version of the rules"
        for name, one in now.items()
        if name in old
        and old[name].sha256 != one.sha256
        and old[name].spec_version == one.spec_version
    ]
    return (*vanished, *changed)


def to_text(index: Index) -> str:
    """Return the file."""
    lines = [
        f" {compact(name)}: {compact([one.spec_version, one.sha256])}"
        for name, one in sorted(index.items())
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def from_text(text: str) -> dict[str, Known]:
    """Return the index in a file. Raises `CodecError`."""
    found: object = json.loads(text)
    if not isinstance(found, dict):
        raise CodecError("$", type(found).__name__, "an object")
    index = {}
    for name, pair in found.items():
        match pair:
            case [str(version), str(sha256)]:
                index[str(name)] = Known(version, sha256)
            case _:
                path = f"$.{name}"
                raise CodecError(path, repr(pair), "[version, SHA-256]")
    return index


def _digest(vector: Vector) -> str:
    return digest(compact(meaning(vector)))
