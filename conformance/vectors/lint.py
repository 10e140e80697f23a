"""What may be wrong with the vectors on disk. Every check returns complaints; none is good news."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from attrs import frozen

from conformance.codec import CodecError, decode_effects, decode_event, decode_policy
from conformance.vectors.authoring.scenario import summary
from conformance.vectors.flags import FLAGS
from conformance.vectors.index import Index, broken
from conformance.vectors.layout import AREAS, compact, vectors_of
from conformance.vectors.questions import KINDS
from conformance.vectors.rules import RULES
from conformance.vectors.second_route.opinion import opinion
from conformance.vectors.second_route.script import complaints
from conformance.vectors.second_route.worked_examples import WORKED, differs
from conformance.vectors.vector import Happens, Question, Refused, Script, Vector
from spec.canonical_json import Json
from spec.engine.effect import Answer

FEWEST: Final = 400
FOLDER: Final = "vectors/"
ID: Final = re.compile(r"[a-z]+/[a-z0-9-]+/[a-z0-9-]+")
REFUSALS: Final = frozenset({"out-of-turn", "invalid-value"})
LOOKS: Final = frozenset({"fingerprint", "statistics", "reports"})
STYLES: Final = (("stepping",), ("stepping", "calling"))


@frozen
class Disk:
    """What lies in the suite's folder, by path, and what the tool would write there."""

    files: Mapping[str, bytes]
    index: Index
    written: Mapping[str, str]


def lint(disk: Disk, fewest: int = FEWEST) -> tuple[str, ...]:
    """Return every complaint. Files that can't be read are complained of and left out."""
    found: list[str] = list(_bytes(disk))
    vectors: list[Vector] = []
    for path, content in sorted(disk.files.items()):
        if not path.startswith(FOLDER):
            continue
        try:
            text = content.decode()
            json.loads(text, parse_float=_float, parse_constant=_float)
            of_file = vectors_of(path, text)
        except (ValueError, CodecError) as error:
            found.append(f"{path}: {error}")
            continue
        found += _homes(path, of_file)
        vectors += of_file
    found += broken(disk.index, vectors)
    found += _new(disk.index, vectors)
    found += _unique(vectors)
    found += _covered(vectors)
    found += _worked(vectors)
    if len(vectors) < fewest:
        found.append(f"{len(vectors)} vectors, need at least {fewest}")
    for vector in vectors:
        found += (f"{vector.id}: {one}" for check in CHECKS for one in check(vector))
    return tuple(found)


def _float(text: str) -> Json:
    message = f"the floating-point number {text}"
    raise ValueError(message)


def _bytes(disk: Disk) -> Iterator[str]:
    for path in sorted({*disk.files, *disk.written}):
        if path not in disk.files:
            yield f"{path}: the file is missing"
        elif path not in disk.written:
            yield f"{path}: nothing writes this file"
        elif disk.files[path] != disk.written[path].encode():
            yield f"{path}: differs from what is written now (python -m conformance.vectors write)"


def _homes(path: str, vectors: Sequence[Vector]) -> Iterator[str]:
    for vector in vectors:
        if not ID.fullmatch(vector.id):
            yield f"{path}: {vector.id!r} is no area/group/name"
        elif f"{FOLDER}{vector.area}/{vector.group}.json" != path:
            yield f"{vector.id}: lies in {path}"
        if vector.area not in AREAS:
            yield f"{vector.id}: {vector.area!r} is no area"


def _new(index: Index, vectors: Sequence[Vector]) -> Iterator[str]:
    for vector in vectors:
        if vector.id not in index:
            yield f"{vector.id}: not in the index"


def _unique(vectors: Sequence[Vector]) -> Iterator[str]:
    seen: set[str] = set()
    for vector in vectors:
        if vector.id in seen:
            yield f"{vector.id}: the id is there twice"
        seen.add(vector.id)


def _covered(vectors: Sequence[Vector]) -> Iterator[str]:
    held = {rule for vector in vectors for rule in vector.holds}
    broke = {rule for vector in vectors for rule in vector.breaks}
    for rule in RULES:
        if rule not in held:
            yield f"rule {rule}: no vector in which it holds"
        if rule not in broke:
            yield f"rule {rule}: no vector in which it breaks"


def _worked(vectors: Sequence[Vector]) -> Iterator[str]:
    by_id = {vector.id: vector for vector in vectors}
    for name, worked in WORKED.items():
        body = by_id[name].body if name in by_id else None
        if not isinstance(body, Question):
            yield f"{name}: worked out by hand, but there is no such question"
        elif differs(worked, body.expected):
            yield f"{name}: {differs(worked, body.expected)}"


def _labels(vector: Vector) -> Iterator[str]:
    if not vector.comment:
        yield "no comment"
    if not vector.rules:
        yield "tests no rule"
    if not vector.flags:
        yield "no flag says why it exists"
    for rule in vector.rules:
        if rule not in RULES:
            yield f"unknown rule {rule}"
    for flag in vector.flags:
        if flag not in FLAGS:
            yield f"unknown flag {flag}"


def _question(vector: Vector) -> Iterator[str]:
    body = vector.body
    if not isinstance(body, Question):
        return
    if body.kind not in KINDS:
        yield f"unknown kind {body.kind}"
        return
    answer = KINDS[body.kind].answered(body.input)
    if compact(answer) != compact(body.expected):
        yield f"expected {compact(body.expected)}, the reference model says {compact(answer)}"
    second = opinion(body.kind, body.input)
    if second is not None and not _same(second, body.expected):
        yield f"expected {compact(body.expected)}, by the second way {compact(second)}"


def _same(left: Json, right: Json) -> bool:
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def _script(vector: Vector) -> Iterator[str]:
    body = vector.body
    if not isinstance(body, Script):
        return
    if body.styles not in STYLES:
        yield f"unknown styles {body.styles}"
    answers: list[str] = []
    try:
        decode_policy(body.policy)
        for step in body.steps:
            if isinstance(step, Happens):
                decode_event(step.event)
                answers += (
                    summary(one.result)
                    for one in decode_effects(step.effects)
                    if isinstance(one, Answer)
                )
            elif isinstance(step, Refused):
                decode_event(step.event)
                if step.refused not in REFUSALS:
                    yield f"unknown refusal {step.refused}"
            elif step.look not in LOOKS:
                yield f"unknown look {step.look}"
    except CodecError as error:
        yield str(error)
        return
    if tuple(answers) != body.answers:
        yield f"answers are {answers}, expected {list(body.answers)}"
    happened = [
        {"event": step.event, "effects": step.effects}
        for step in body.steps
        if isinstance(step, Happens)
    ]
    yield from complaints(body.policy, happened)


CHECKS: Final[tuple[Callable[[Vector], Iterator[str]], ...]] = (_labels, _question, _script)
