"""The schemas say the same as the codec, to whoever validates with them."""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import pytest

from conformance.vectors import FOLDER, Question, Script, load
from conformance.vectors.layout import files

SCHEMAS = FOLDER.parent / "schema"


class Validator(Protocol):
    def is_valid(self, instance: object) -> bool: ...


def validator(schema: object) -> Validator:
    make: Callable[[object], Validator] = importlib.import_module("jsonschema").Draft202012Validator
    return make(schema)


def schema(name: str) -> dict[str, object]:
    found: object = json.loads((SCHEMAS / name).read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*/*.json")), ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_every_file_keeps_the_schema(path: Path) -> None:
    check = validator(schema("vector_file.json"))
    file = json.loads(path.read_text())
    assert check.is_valid(file)
    assert not check.is_valid({**file, "odd": 1})
    assert not check.is_valid({**file, "vectors": [*file["vectors"], {}]})


def test_questions_keep_the_schema_of_their_kind() -> None:
    kinds = schema("questions.json")["$defs"]
    assert isinstance(kinds, dict)
    checks = {name: validator(one["expected"]) for name, one in kinds.items()}
    inputs = {name: validator(one["input"]) for name, one in kinds.items()}
    met = set()
    for vector in load():
        body = vector.body
        if isinstance(body, Question):
            assert checks[body.kind].is_valid(body.expected), vector.id
            if body.expected != {"refused": True}:
                assert inputs[body.kind].is_valid(body.input), vector.id
            met.add(body.kind)
    assert met == set(kinds)
    assert not checks["spread"].is_valid({"median": 0.5, "relative_mad": [1, 2]})


def test_scripts_keep_their_schema() -> None:
    check = validator(schema("script.json"))
    sample = [vector for vector in load() if isinstance(vector.body, Script)][::40]
    assert len(sample) > 5
    for vector in sample:
        (text,) = files([vector]).values()
        script = json.loads(text)["vectors"][0]
        found = {"policy": script["policy"], "steps": script["steps"]}
        if "$times" not in text:
            assert check.is_valid(found), vector.id
        assert not check.is_valid({**found, "steps": [{"event": {}, "effects": []}]})
