"""A model without its large weights, read without ever holding them.

Parsing a whole model holds its weights twice for a moment, once as the file and once as the parsed
message; in a process that serves, that is the highest its memory ever rises.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
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
_DATA_TYPE: Final = 2
"""`TensorProto.data_type`."""
_EXTERNAL_DATA: Final = 13
"""`TensorProto.external_data`."""
_DATA_LOCATION: Final = 14
"""`TensorProto.data_location`."""
_EXTERNAL: Final = 1
"""`TensorProto.DataLocation.EXTERNAL`."""
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
    data_type: int
    """ONNX's number of the element type; 0 where the tensor names none."""


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


def rewrite_weights(
    model: Path | bytes, kept_bytes: int, written: Callable[[Weight], bytes]
) -> bytes | None:
    """Return a model with fields of its tensors in place of raw data of more than `kept_bytes`.

    `written` gives the fields, in the order of the weights of the outline. None where the model is
    no such message. Raises `OSError` where the file cannot be read, and what `written` raises.
    """
    if isinstance(model, bytes):
        return _rewritten(_Bytes(model), len(model), kept_bytes, written)
    with model.open("rb") as file:
        return _rewritten(_File(file), file.seek(0, 2), kept_bytes, written)


def raw_data(data: bytes) -> bytes:
    """Return the field of a tensor that holds these bytes as its values."""
    return _head(_RAW_DATA, len(data)) + data


def external_data(**entries: str) -> bytes:
    """Return the fields of a tensor whose values lie in a file, as these entries say."""
    fields = []
    for key, value in entries.items():
        entry = b"".join(
            _head(number, len(text)) + text
            for number, text in ((1, key.encode()), (2, value.encode()))
        )
        fields.append(_head(_EXTERNAL_DATA, len(entry)) + entry)
    return b"".join(fields) + _varint(_DATA_LOCATION << 3) + _varint(_EXTERNAL)


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

    def left_out(weight: Weight) -> bytes:
        weights.append(weight)
        return b""

    message = _rewritten(source, size, kept_bytes, left_out)
    return Outline(whole()) if message is None else Outline(message, tuple(weights))


def _rewritten(
    source: _Bytes | _File, size: int, kept_bytes: int, written: Callable[[Weight], bytes]
) -> bytes | None:
    counter = itertools.count()
    parts: list[bytes] = []
    graphs = 0
    try:
        for field in _fields(source, 0, size):
            if field.number != _GRAPH or not field.is_message:
                parts.append(source.read(field.start, field.end))
                continue
            graphs += 1
            inner = b"".join(_graph(source, field, kept_bytes, counter, written))
            parts += _head(_GRAPH, len(inner)), inner
    except _MalformedError:
        return None
    if graphs > 1:  # the parser joins them, and positions are wrong
        return None
    return b"".join(parts)


def _graph(
    source: _Bytes | _File,
    graph: _Field,
    kept_bytes: int,
    counter: Iterator[int],
    written: Callable[[Weight], bytes],
) -> Iterator[bytes]:
    for field in _fields(source, graph.value, graph.end):
        if field.number != _INITIALIZER or not field.is_message:
            yield source.read(field.start, field.end)
            continue
        position, kept = next(counter), list[bytes]()
        tensor = list(_fields(source, field.value, field.end))
        if sum(part.number == _RAW_DATA for part in tensor) > 1:  # the last one counts
            raise _MalformedError
        data_type = _data_type(source, tensor)
        for part in tensor:
            size = part.end - part.value
            if part.number == _RAW_DATA and part.is_message and size > kept_bytes:
                kept.append(written(Weight(position, part.value, size, data_type)))
            else:
                kept.append(source.read(part.start, part.end))
        inner = b"".join(kept)
        yield _head(_INITIALIZER, len(inner)) + inner


def _data_type(source: _Bytes | _File, tensor: Sequence[_Field]) -> int:
    found = 0
    for part in tensor:
        if part.number == _DATA_TYPE and not part.is_message:
            field = source.read(part.start, part.end)
            _, used = _number(field, 0)
            found, _ = _number(field, used)
    return found


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
