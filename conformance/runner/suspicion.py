"""Which rule a disagreement is about, where nobody has said so: read off what was expected."""

from collections.abc import Iterator, Mapping
from typing import Final

from spec.canonical_json import Json

_BY_SOURCE: Final = {
    "tuned": ("S7", "S6"),
    "memory": ("S3",),
    "stored": ("S5",),
    "disabled": ("S2",),
    "bypassed": ("S8", "S6"),
    "nested": ("S2",),
    "busy": ("S4",),
    "cache-miss": ("S2", "S5"),
}
_BY_FAILURE: Final = {"invalid": ("S1",), "quarantined": ("S2", "S8"), "device": ("S8",)}
_BY_EFFECT: Final = {
    "measure": ("S6",),
    "validate": ("S6", "S5"),
    "load-record": ("S5", "S2"),
    "save-record": ("S8", "S7"),
    "remove-record": ("S9", "S5"),
}
ANY: Final = ("S13",)
"""The same events lead to the same result, in every implementation."""


def suspected_rules(expected: Json, got: Json) -> tuple[str, ...]:
    """Return the rules that the differing answers are about, most likely first; never nothing."""
    found: dict[str, None] = {}
    for one, other in ((expected, got), (got, expected)):
        theirs = list(_parts(other))
        for part in _parts(one):
            if part not in theirs:
                found.update(dict.fromkeys(_rules_of(part)))
    return tuple(found) or ANY


def _rules_of(part: Mapping[str, Json]) -> tuple[str, ...]:
    kind = part.get("type")
    if kind == "decision":
        return _BY_SOURCE.get(str(part.get("source")), ())
    if kind == "failure":
        return _BY_FAILURE.get(str(part.get("kind")), ())
    return _BY_EFFECT.get(str(kind), ())


def _parts(json: Json) -> Iterator[Mapping[str, Json]]:
    if isinstance(json, Mapping):
        yield json
        for member in json.values():
            yield from _parts(member)
    elif isinstance(json, (list, tuple)):
        for item in json:
            yield from _parts(item)
