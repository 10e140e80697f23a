"""One workload as a task for any machine, and how it ended; both as values that JSON can carry."""

import json
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeVar

import cattrs
from attrs import field, frozen

from ortsel.errors import OrtselError
from ortsel.plan import Provider
from spec.canonical_json import Json, canonical, digest

_Known = TypeVar("_Known")

TASK_SCHEMA: Final = 1
"""Grows when the same task would be done in another way, so that older ends count for nothing."""


class Status(Enum):
    """How a workload ended."""

    DECIDED = "decided"
    """There is a decision; that the reference stays is one."""
    UNDECIDED = "undecided"
    """The model ran, but nothing could be decided."""
    FAILED = "failed"
    """It could not be run: the model, its inputs or its process failed."""
    NOT_REACHED = "not-reached"
    """The total budget was spent before its turn."""


@frozen
class Samples:
    """Where the arrays of one call lie."""

    npz: str = ""
    """A file with all of them, or nothing."""
    npy: dict[str, str] = field(factory=dict)
    """A file for each input otherwise."""
    source: str = ""
    """The file or folder, as a person would name it."""


@frozen
class Task:
    """One workload: a model, one call's inputs, and how to search."""

    id: str
    """Hexadecimal SHA-256 of everything that the outcome depends on."""
    model: str
    """Absolute path."""
    name: str
    """The model as the spec writes it."""
    shapes: dict[str, tuple[int, ...]]
    """The shape of every input."""
    samples: Samples | None
    """None is made-up inputs of these shapes."""
    fills: tuple[tuple[str, str], ...]
    seed: int
    budget_s: float
    min_speedup: str
    """A decimal number; empty is the policy's."""
    providers: tuple[Provider, ...]
    threads: int | None
    bound: bool
    gap_ms: int
    tolerance: str
    """A word, or `METRIC=NUMBER`."""
    families: tuple[str, ...]
    ep_context: bool


@frozen
class Warmed:
    """One thing that a deployment would otherwise make at its first start, or why it is not."""

    kind: str
    """provider-cache, graph-variant or ep-context."""
    path: str
    """Relative to the output folder; empty where nothing was written."""
    reason: str


@frozen
class Outcome:
    """How one workload ended."""

    id: str
    status: Status
    reason: str
    plan: str = ""
    """The plan that serves; empty without a decision."""
    serves_reference: bool = True
    source: str = ""
    verified: bool = False
    provisional: bool = False
    complete: bool = False
    """Whether every candidate had its turn. A decision that is not complete is looked at again
    after the policy's `retry_after_s`."""
    ratio: float | None = None
    key: str = ""
    """Of the decision in the store; empty where none is kept there, as when the reference is the
    only candidate."""
    elapsed_s: float = 0.0
    candidates: tuple[dict[str, Any], ...] = ()
    """One row for each that was tried, as `Explanation.candidate_rows` gives them."""
    warmed: tuple[Warmed, ...] = ()
    host: str = ""
    """Network name of the machine that measured."""
    attempts: int = 1
    """How often it was started; more than once where workers were lost."""

    @property
    def measured(self) -> bool:
        """Whether it was searched, rather than found in the store."""
        return self.source == "tuned"


@frozen
class UnreadableDocumentError(OrtselError):
    """A text is not what one of these values is written as."""

    kind: str
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}: got something unreadable ({self.reason}), need what ortsel writes"


_CONVERTER: Final = cattrs.Converter(forbid_extra_keys=True)


def task_to_text(task: Task) -> str:
    """Return a task on one line."""
    return json.dumps(_CONVERTER.unstructure(task), ensure_ascii=True, allow_nan=False)


def task_from_text(text: str) -> Task:
    """Return the task on a line. Raises `UnreadableDocumentError`."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableDocumentError("Task", str(error)) from error
    return _structured(document, Task)


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """Return an outcome as plain values."""
    document: dict[str, Any] = _CONVERTER.unstructure(outcome)
    return document


def outcome_from_document(document: Mapping[str, Any]) -> Outcome:
    """Return the outcome that plain values stand for. Raises `UnreadableDocumentError`."""
    return _structured(document, Outcome)


def task_id(parts: Mapping[str, Json]) -> str:
    """Return the name of a workload by its content."""
    return digest(canonical({"schema": TASK_SCHEMA, **parts}))


def _structured(document: object, kind: type[_Known]) -> _Known:
    try:
        return _CONVERTER.structure(document, kind)
    except Exception as error:
        reason = "; ".join(cattrs.transform_error(error))
        raise UnreadableDocumentError(kind.__name__, reason) from error
