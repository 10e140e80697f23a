"""A model without its large weights, read without ever holding them.

Parsing a whole model holds its weights twice for a moment, once as the file and once as the parsed
message; in a process that serves, that is the highest its memory ever rises.
"""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from attrs import frozen

KEPT_BYTES: Final = 1024
"""Values up to this size stay, unless asked otherwise: flags and shapes say what a node does."""

_GRAPH: Final = 7
"""`ModelProto.graph`."""
_INITIALIZER: Final = 5
"""`GraphProto.initializer`."""
_RAW_DATA: Final = 9
"""`TensorProto.raw_data`."""
_LENGTH_DELIMITED: Final = 2
_FIXED: Final = {1: 8, 5: 4}
_MOST_VARINT_BYTES: Final = 10
_CONTINUES: Final = 0x80
"""The bit of a byte that says that another follows."""


class _MalformedError(Exception):
    """No protobuf message of fields as ONNX has them."""


@frozen
class Weight:
    """Raw data that an outline leaves out."""

    initializer: int
    """Position among the main graph's."""
    start: int
    """First byte in the model."""
    size_bytes: int


@frozen
class Outline:
    """A model as protobuf, without the raw data of the main graph's large initializers."""

    message: bytes
    weights: tuple[Weight, ...] = ()


def read_outline(model: Path | bytes, kept_bytes: int = KEPT_BYTES) -> Outline:
    """Return the outline of a model, without raw data of more than `kept_bytes`.

    What is no such message is there whole. Raises `OSError` where the file cannot be read.
    """
    if isinstance(model, bytes):
        return _outline(_Bytes(model), len(model), kept_bytes, lambda: model)
    with model.open("rb") as file:
        return _outline(_File(file), file.seek(0, 2), kept_bytes, model.read_bytes)


@frozen
class _Bytes:
    data: bytes

    def read(self, start: int, end: int) -> bytes:
        return self.data[start:end]


@frozen
class _File:
    file: BinaryIO

    def read(self, start: int, end: int) -> bytes:
        self.file.seek(start)
        return self.file.read(end - start)


@frozen
class _Field:
    number: int
    is_message: bool
    start: int
    value: int
    """Where its value begins: behind the tag and, where there is one, the length."""
    end: int


def _outline(
    source: _Bytes | _File, size: int, kept_bytes: int, whole: Callable[[], bytes]
) -> Outline:
    weights: list[Weight] = []
    counter = itertools.count()
    parts: list[bytes] = []
    graphs = 0
    try:
        for field in _fields(source, 0, size):
            if field.number != _GRAPH or not field.is_message:
                parts.append(source.read(field.start, field.end))
                continue
            graphs += 1
            inner = b"".join(_graph(source, field, kept_bytes, counter, weights))
            parts += _head(_GRAPH, len(inner)), inner
    except _MalformedError:
        return Outline(whole())
    if graphs > 1:  # the parser joins them, and positions are wrong
        return Outline(whole())
    return Outline(b"".join(parts), tuple(weights))


def _graph(
    source: _Bytes | _File,
    graph: _Field,
    kept_bytes: int,
    counter: Iterator[int],
    weights: list[Weight],
) -> Iterator[bytes]:
    for field in _fields(source, graph.value, graph.end):
        if field.number != _INITIALIZER or not field.is_message:
            yield source.read(field.start, field.end)
            continue
        position, kept, raw = next(counter), list[bytes](), 0
        for part in _fields(source, field.value, field.end):
            size = part.end - part.value
            raw += part.number == _RAW_DATA
            if part.number == _RAW_DATA and part.is_message and size > kept_bytes:
                weights.append(Weight(position, part.value, size))
            else:
                kept.append(source.read(part.start, part.end))
        if raw > 1:  # the last one counts
            raise _MalformedError
        inner = b"".join(kept)
        yield _head(_INITIALIZER, len(inner)) + inner


def _head(number: int, size: int) -> bytes:
    return _varint(number << 3 | _LENGTH_DELIMITED) + _varint(size)


def _fields(source: _Bytes | _File, start: int, end: int) -> Iterator[_Field]:
    place = start
    while place < end:
        head = source.read(place, min(end, place + 2 * _MOST_VARINT_BYTES))
        tag, used = _number(head, 0)
        kind = tag & 7
        if kind == _LENGTH_DELIMITED:
            size, used = _number(head, used)
        elif kind == 0:
            _, used = _number(head, used)
            size = 0
        elif kind in _FIXED:
            size = _FIXED[kind]
        else:
            raise _MalformedError
        value = place + used
        if tag >> 3 == 0 or value + size > end:
            raise _MalformedError
        yield _Field(tag >> 3, kind == _LENGTH_DELIMITED, place, value, value + size)
        place = value + size


def _number(data: bytes, start: int) -> tuple[int, int]:
    """Return the variable-length integer at `start`, and where it ends."""
    number = 0
    for position, byte in enumerate(data[start : start + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << 7 * position
        if byte < _CONTINUES:
            return number, start + position + 1
    raise _MalformedError


def _varint(number: int) -> bytes:
    out = bytearray()
    while number >= _CONTINUES:
        out.append(number & 0x7F | _CONTINUES)
        number >>= 7
    out.append(number)
    return bytes(out)
