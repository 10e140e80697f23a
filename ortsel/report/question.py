"""What a key asks, taken apart for people: which model, which shape, on which machine.

The text of a key comes from a file, so every part may be missing or of another type; what cannot be
understood is left empty, never an error.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from attrs import frozen

from ortsel.report.shown_text import TIMES, plain
from ortsel.store.explanation import parse_key_text

Place: TypeAlias = tuple[str, int]
"""An input and one of its axes."""

MOST_AXES: Final = 64


@frozen
class InputShape:
    """One input of a call."""

    name: str
    element: str
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.name} {self.element}[{TIMES.join(map(str, self.shape))}]"


@frozen
class Question:
    """What a decision was made for. Equal questions on one machine are one shape of a report."""

    model: str
    """The digest of the model; empty where nobody said."""
    inputs: tuple[InputShape, ...]
    outputs: tuple[str, ...]
    calling: str
    load: str
    settings: str
    """The reference's settings, as canonical text."""
    machine: str
    """Processor, devices and threads, as canonical text."""
    machine_words: str
    key: str = ""
    """The key itself where its text tells nothing, so that such decisions stay apart."""

    def sizes(self) -> dict[Place, int]:
        """Return the size of every axis of every input."""
        return {
            (one.name, axis): size for one in self.inputs for axis, size in enumerate(one.shape)
        }

    def words(self) -> str:
        """Return the shape on one line."""
        if not self.inputs:
            return f"key {self.key[:12]}" if self.key else "no input"
        return ", ".join(map(str, self.inputs))


def question_of(key: str, key_text: str) -> Question:
    """Return what a key asks."""
    parts = parse_key_text(key_text)
    workload = _members(parts.get("workload"))
    environment = _members(parts.get("environment"))
    options = _members(parts.get("options"))
    machine = {
        "cpu": environment.get("cpu"),
        "devices": _members(environment.get("nvidia")).get("devices"),
        "threads": environment.get("threads"),
    }
    return Question(
        model=_text(parts.get("model")),
        inputs=tuple(
            _input(name, _members(value))
            for name, value in sorted(_members(workload.get("inputs")).items())
        ),
        outputs=tuple(_text(name) for name in _items(workload.get("outputs"))),
        calling=_text(workload.get("calling")),
        load=_text(workload.get("load")),
        settings=_canonical(options.get("reference")),
        machine=_canonical(machine),
        machine_words=_machine_words(machine),
        key="" if parts else key,
    )


def distinguishing_axes(questions: Iterable[Question]) -> tuple[tuple[Place, ...], ...]:
    """Return the axes in which questions differ; equal sizes count once.

    Of axes whose sizes are always equal the one of the shortest name stands first.

    Empty where the questions do not have the same inputs and ranks.
    """
    sizes = [question.sizes() for question in questions]
    if not sizes or any(one.keys() != sizes[0].keys() for one in sizes):
        return ()
    groups: dict[tuple[int, ...], list[Place]] = {}
    for place in list(sizes[0])[:MOST_AXES]:
        column = tuple(one[place] for one in sizes)
        if len(set(column)) > 1:
            groups.setdefault(column, []).append(place)
    return tuple(
        tuple(sorted(places, key=lambda place: (len(place[0]), place)))
        for places in groups.values()
    )


def axis_words(axis: Sequence[Place], names: Mapping[Place, str]) -> str:
    """Return what to call axes of equal sizes: the model's own name where it has one."""
    for place in axis:
        if place in names:
            return plain(names[place], 30)
    name, number = axis[0]
    return plain(f"{name}[{number}]", 40)


def _machine_words(machine: Mapping[str, object]) -> str:
    words = []
    cpu = _members(machine["cpu"])
    lines = dict(
        line.partition(": ")[::2] for line in _items(cpu.get("identity")) if isinstance(line, str)
    )
    words += [lines[name] for name in ("model name", "processor", "CPU part") if name in lines][:1]
    words += [str(_items(device)[0]) for device in _items(machine["devices"]) if _items(device)]
    threads = _members(machine["threads"]).get("threads")
    if isinstance(threads, int):
        words.append("1 thread" if threads == 1 else f"{threads} threads")
    return ", ".join(words)


def _input(name: str, value: Mapping[str, object]) -> InputShape:
    element = _text(value.get("type")).removeprefix("tensor(").removesuffix(")")
    shape = tuple(size for size in _items(value.get("shape")) if type(size) is int)
    return InputShape(name, element, shape)


def _members(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ("" if value is None else _canonical(value))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)
