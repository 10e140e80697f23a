"""The JSON Schema of every message, for readers and for other languages' validators."""

import json
from pathlib import Path
from typing import Final

from conformance.codec import json_schema
from conformance.codec.json_schema import DRAFT
from conformance.codec.shape import OneOf, Shape
from conformance.protocol.wire import FROM_IMPLEMENTATION, FROM_SUITE
from spec.canonical_json import Json

FOLDER: Final = Path(__file__).resolve().parents[1] / "schema" / "protocol"
DIRECTIONS: Final[dict[str, Shape]] = {
    "from-suite": FROM_SUITE.shape,
    "from-implementation": FROM_IMPLEMENTATION.shape,
}


def schema_files() -> dict[str, str]:
    """Return the text of each file by its place: one per message and direction."""
    return {
        f"{direction}/{name}.json": json.dumps(schema, indent=2) + "\n"
        for direction, shape in DIRECTIONS.items()
        for name, schema in _messages(direction, shape)
    }


def write(folder: Path = FOLDER) -> None:
    """Write every file, and remove those that belong to no message."""
    files = schema_files()
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path in folder.rglob("*.json"):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()


def differences(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the places where the folder is not what `write` would make it."""
    files = schema_files()
    found = {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*.json")
    }
    places = sorted({*files, *found})
    return tuple(place for place in places if files.get(place) != found.get(place))


def _messages(direction: str, shape: Shape) -> list[tuple[str, Json]]:
    assert isinstance(shape, OneOf), "a direction is a closed union of messages"
    found: list[tuple[str, Json]] = []
    for case in shape.cases:
        whole = json_schema(OneOf((case,)))
        assert isinstance(whole, dict), "a schema is an object"
        alone = whole["oneOf"]
        assert isinstance(alone, list), "of one case"
        inner = alone[0]
        assert isinstance(inner, dict), "a schema is an object"
        title = f"{case.tag}, {direction.replace('-', ' ')}"
        found.append((case.tag, {"$schema": DRAFT, "title": title, **inner}))
    return found
