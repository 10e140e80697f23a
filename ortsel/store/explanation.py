"""Comparing keys part by part, so that a miss can say what differs."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from ortsel.store.store import Nearest, StoredRecord
from spec.canonical_json import Json, canonical, digest

MODEL_PART: Final = "model"


def plain_parts(parts: Mapping[str, Json]) -> dict[str, object]:
    """Return the parts as plain dictionaries and lists, as they read back from a key's text."""
    return parse_key_text(canonical(parts))


def parse_key_text(key_text: str) -> dict[str, object]:
    """Return the named parts of a key's text; empty where it is not the text of one."""
    try:
        parts = json.loads(key_text)
    except (ValueError, RecursionError):
        return {}
    return parts if isinstance(parts, dict) else {}


def model_digest(parts: Mapping[str, object]) -> str:
    """Return what records of one model have in common; empty where no model is named."""
    if MODEL_PART not in parts:
        return ""
    return digest(json.dumps(parts[MODEL_PART], sort_keys=True))


def differing_parts(
    left: Mapping[str, object], right: Mapping[str, object], prefix: str = ""
) -> tuple[str, ...]:
    """Return the names of the parts in which two keys differ, sorted.

    Where both sides have an object, its members are compared and named "outer.inner".
    """
    names: list[str] = []
    for name in sorted(left.keys() | right.keys()):
        here, there = left.get(name, _ABSENT), right.get(name, _ABSENT)
        if isinstance(here, dict) and isinstance(there, dict):
            names.extend(differing_parts(here, there, f"{prefix}{name}."))
        elif not _equal(here, there):
            names.append(prefix + name)
    return tuple(names)


def nearest_of(parts: Mapping[str, Json], stored: Iterable[StoredRecord]) -> Nearest | None:
    """Return the record with the fewest differing parts: whole parts first, then parts of parts.

    Among equals the first one in `stored` is taken.
    """
    wanted = plain_parts(parts)
    best: tuple[tuple[int, int], Nearest] | None = None
    for candidate in stored:
        found = parse_key_text(candidate.key_text)
        if not found:
            continue
        names = differing_parts(wanted, found)
        rank = len({name.partition(".")[0] for name in names}), len(names)
        if best is None or rank < best[0]:
            best = rank, Nearest(candidate, names)
    return None if best is None else best[1]


_ABSENT: Final = object()


def _equal(left: object, right: object) -> bool:
    """Equal as JSON, where true is not 1."""
    if left is _ABSENT or right is _ABSENT:
        return left is right
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)
