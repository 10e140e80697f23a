"""JSON Schemas of the vectors, for readers and for other languages."""

from typing import Final

from conformance.codec import EFFECT, EVENT, POLICY, json_schema
from conformance.codec.json_schema import DRAFT
from conformance.vectors.flags import FLAGS
from conformance.vectors.layout import AREAS, FILE_MEMBERS, compact
from conformance.vectors.questions import KINDS
from conformance.vectors.rules import RULES
from conformance.vectors.vector import SCRIPT
from spec.canonical_json import Json

STRINGS: Final[Json] = {"type": "array", "items": {"type": "string"}}


def schema_files() -> dict[str, str]:
    """Return the text of each schema by its name."""
    return {
        "vector_file.json": _text(_vector_file()),
        "questions.json": _text(_questions()),
        "script.json": _text(_script()),
    }


def _text(schema: dict[str, Json]) -> str:
    """Return the schema with a line for each member, and for each definition."""
    lines = []
    for name, one in schema.items():
        if name == "$defs" and isinstance(one, dict):
            kinds = ",\n".join(f"  {compact(kind)}: {compact(two)}" for kind, two in one.items())
            lines.append(f" {compact(name)}: {{\n{kinds}\n }}")
        else:
            lines.append(f" {compact(name)}: {compact(one)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _object(properties: dict[str, Json]) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _vector_file() -> dict[str, Json]:
    rules: Json = {"type": "array", "items": {"enum": list(RULES)}, "uniqueItems": True}
    flags: Json = {"type": "array", "items": {"enum": list(FLAGS)}, "minItems": 1}
    common: dict[str, Json] = {
        "id": {"type": "string", "pattern": "^[a-z]+/[a-z0-9-]+/[a-z0-9-]+$"},
        "comment": {"type": "string", "minLength": 1},
        "rules": _object({"holds": rules, "breaks": rules}),
        "flags": flags,
    }
    question = _object({**common, "kind": {"enum": sorted(KINDS)}, "input": True, "expected": True})
    script = _object(
        {
            **common,
            "kind": {"const": SCRIPT},
            "policy": {"type": "object"},
            "styles": {"type": "array", "items": {"enum": ["stepping", "calling"]}},
            "answers": STRINGS,
            "steps": {"type": "array", "items": {"type": "object"}},
        }
    )
    members: dict[str, Json] = {
        "area": {"enum": list(AREAS)},
        "group": {"type": "string"},
        "spec_version": {"type": "string"},
        "flags": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
        "vectors": {"type": "array", "items": {"oneOf": [question, script]}, "minItems": 1},
    }
    return {
        "$schema": DRAFT,
        "title": "A file of vectors",
        **_object({name: members[name] for name in FILE_MEMBERS}),
    }


def _questions() -> dict[str, Json]:
    return {
        "$schema": DRAFT,
        "title": "Input and expected answer of each kind of question, shorthand expanded",
        "$defs": {name: KINDS[name].schema() for name in sorted(KINDS)},
    }


def _script() -> dict[str, Json]:
    effects: Json = {"type": "array", "items": json_schema(EFFECT.shape)}
    event = json_schema(EVENT.shape)
    steps: list[Json] = [
        _object({"event": event, "effects": effects}),
        _object({"event": event, "refused": {"enum": ["out-of-turn", "invalid-value"]}}),
        _object(
            {
                "look": {"enum": ["fingerprint", "statistics", "reports"]},
                "now": {"type": ["object", "null"]},
                "expected": True,
            }
        ),
    ]
    return {
        "$schema": DRAFT,
        "title": "Policy and steps of a script, shorthand expanded",
        "type": "object",
        "properties": {
            "policy": json_schema(POLICY.shape),
            "steps": {"type": "array", "items": {"oneOf": steps}},
        },
    }
