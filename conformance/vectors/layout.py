"""How vectors lie in files: which, in what order, and down to the byte."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

from conformance.codec.error import CodecError
from conformance.vectors.flags import FLAGS
from conformance.vectors.shorthand import expanded, shortened
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
from spec.canonical_json import Json

AREAS: Final = (
    "cache",
    "capability",
    "evidence",
    "keys",
    "ranking",
    "records",
    "regression",
    "selection",
)
MEMBERS: Final = ("id", "comment", "rules", "flags", "kind")
QUESTION_MEMBERS: Final = (*MEMBERS, "input", "expected")
SCRIPT_MEMBERS: Final = (*MEMBERS, "policy", "styles", "answers", "steps")
FILE_MEMBERS: Final = ("area", "group", "spec_version", "flags", "vectors")


def files(vectors: Iterable[Vector]) -> dict[str, str]:
    """Return the text of every file by its path, such as "selection/busy.json"."""
    ordered = sorted(vectors, key=_place)
    return {
        f"{area}/{group}.json": _file(area, group, tuple(members))
        for (area, group), members in groupby(ordered, lambda one: (one.area, one.group))
    }


def vectors_of(path: str, text: str) -> tuple[Vector, ...]:
    """Return the vectors of one file, shorthand expanded. Raises `CodecError`."""
    found = _object(json.loads(text), path)
    return tuple(
        _vector(_object(one, f"{path}.vectors[{place}]"), f"{path}.vectors[{place}]")
        for place, one in enumerate(_array(found.get("vectors"), f"{path}.vectors"))
    )


def meaning(vector: Vector) -> Json:
    """Return what must not change under an id: everything but comment and flags."""
    known = _members(vector)
    return {name: one for name, one in known.items() if name not in {"id", "comment", "flags"}}


def compact(value: Json) -> str:
    """Return JSON on one line, members in their order."""
    return json.dumps(value, separators=(", ", ": "))


def _place(vector: Vector) -> tuple[str, str, str]:
    return (vector.area, vector.group, vector.id)


def _file(area: str, group: str, vectors: tuple[Vector, ...]) -> str:
    used = sorted({flag for vector in vectors for flag in vector.flags})
    head: dict[str, Json] = {
        "area": area,
        "group": group,
        "spec_version": SPEC_VERSION,
        "flags": {flag: FLAGS.get(flag, "") for flag in used},
    }
    lines = ["{"]
    lines += [f" {compact(name)}: {compact(value)}," for name, value in head.items()]
    lines.append(' "vectors": [')
    for place, vector in enumerate(vectors):
        lines += _lines(vector)
        lines[-1] += "," if place < len(vectors) - 1 else ""
    lines += [" ]", "}", ""]
    return "\n".join(lines)


def _lines(vector: Vector) -> list[str]:
    members = _members(vector)
    steps = members.pop("steps", None)
    lines = ["  {"]
    lines += [f"   {compact(name)}: {compact(value)}," for name, value in members.items()]
    if isinstance(steps, list):
        lines.append('   "steps": [')
        lines += [f"    {compact(step)}," for step in steps]
        lines[-1] = lines[-1].removesuffix(",")
        lines.append("   ]")
    lines[-1] = lines[-1].removesuffix(",")
    return [*lines, "  }"]


def _members(vector: Vector) -> dict[str, Json]:
    members: dict[str, Json] = {
        "id": vector.id,
        "comment": vector.comment,
        "rules": {"holds": list(vector.holds), "breaks": list(vector.breaks)},
        "flags": list(vector.flags),
        "kind": vector.kind,
    }
    body = vector.body
    if isinstance(body, Question):
        return {
            **members,
            "input": shortened(body.input),
            "expected": shortened(body.expected),
        }
    return {
        **members,
        "policy": body.policy,
        "styles": list(body.styles),
        "answers": list(body.answers),
        "steps": [shortened(_step(step)) for step in body.steps],
    }


def _step(step: Step) -> Json:
    match step:
        case Happens():
            return {"event": step.event, "effects": step.effects}
        case Refused():
            return {"event": step.event, "refused": step.refused}
        case Looked():
            return {"look": step.look, "now": step.now, "expected": step.expected}


def _vector(found: Mapping[str, Json], path: str) -> Vector:
    kind = _text(found.get("kind"), f"{path}.kind")
    _exactly(found, SCRIPT_MEMBERS if kind == SCRIPT else QUESTION_MEMBERS, path)
    rules = _object(found["rules"], f"{path}.rules")
    _exactly(rules, ("holds", "breaks"), f"{path}.rules")
    body: Question | Script
    if kind == SCRIPT:
        steps = _array(found["steps"], f"{path}.steps")
        body = Script(
            found["policy"],
            tuple(_read_step(one, f"{path}.steps[{at}]") for at, one in enumerate(steps)),
            _texts(found["styles"], f"{path}.styles"),
            _texts(found["answers"], f"{path}.answers"),
        )
    else:
        body = Question(kind, expanded(found["input"]), expanded(found["expected"]))
    return Vector(
        _text(found["id"], f"{path}.id"),
        _text(found["comment"], f"{path}.comment"),
        _texts(rules["holds"], f"{path}.rules.holds"),
        _texts(rules["breaks"], f"{path}.rules.breaks"),
        _texts(found["flags"], f"{path}.flags"),
        body,
    )


def _read_step(json_: Json, path: str) -> Step:
    step = _object(expanded(json_), path)
    if "effects" in step:
        _exactly(step, ("event", "effects"), path)
        return Happens(step["event"], step["effects"])
    if "refused" in step:
        _exactly(step, ("event", "refused"), path)
        return Refused(step["event"], _text(step["refused"], f"{path}.refused"))
    _exactly(step, ("look", "now", "expected"), path)
    return Looked(_text(step["look"], f"{path}.look"), step["now"], step["expected"])


def _exactly(found: Mapping[str, Json], names: Sequence[str], path: str) -> None:
    if set(found) != set(names):
        raise CodecError(path, ", ".join(found), "exactly " + ", ".join(names))


def _object(found: Json, path: str) -> Mapping[str, Json]:
    if not isinstance(found, Mapping):
        raise CodecError(path, type(found).__name__, "an object")
    return found


def _array(found: Json, path: str) -> Sequence[Json]:
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise CodecError(path, type(found).__name__, "an array")
    return found


def _text(found: Json, path: str) -> str:
    if not isinstance(found, str):
        raise CodecError(path, type(found).__name__, "a string")
    return found


def _texts(found: Json, path: str) -> tuple[str, ...]:
    return tuple(_text(one, path) for one in _array(found, path))
