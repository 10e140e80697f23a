"""Feeds and outputs in files of a private folder: never pickles, nothing executable.

A file is a magic number, the length of a header, the header (JSON), and the tensors' bytes, each at
a multiple of 64. Tensors are mapped, not read, by whoever only compares them.
"""

import json
import mmap
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import numpy as np
from attrs import frozen

from ortsel.errors import OrtselError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
FeedValue: TypeAlias = object
"""What ONNX Runtime accepts for an input: an array, a list (of anything here), None, or scalars."""

MAGIC: Final = b"ORTSELV1"
ALIGNMENT: Final = 64
_LENGTH: Final = struct.Struct("<Q")


@frozen
class ValueFileError(OrtselError):
    """A value cannot be written, or a file does not hold what its header says."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"trial values: got {self.got}, need {self.need}"


@frozen
class Opaque:
    """A value of a type that is not carried between processes, such as a sparse tensor."""

    described: str


def write_values(path: Path, values: Mapping[str, object]) -> None:
    """Write named values. Types that cannot be written become `Opaque`."""
    blobs: list[tuple[int, bytes | memoryview]] = []
    offset = 0

    def place(data: bytes | memoryview) -> tuple[int, int]:
        nonlocal offset
        start = offset
        length = len(data)
        blobs.append((start, data))
        offset = -(-(start + length) // ALIGNMENT) * ALIGNMENT
        return start, length

    def describe(value: object) -> dict[str, object]:
        if value is None:
            return {"kind": "none"}
        if isinstance(value, np.ndarray | np.generic):
            return _describe_array(np.asarray(value), place)
        if isinstance(value, list | tuple):
            return {"kind": "sequence", "items": [describe(item) for item in value]}
        if isinstance(value, Mapping):
            pairs = [[describe(key), describe(item)] for key, item in value.items()]
            return {"kind": "map", "pairs": pairs}
        if type(value) in (bool, int, str):
            return {"kind": type(value).__name__, "value": value}
        if type(value) is float:
            return {"kind": "float", "value": value.hex()}
        described = getattr(value, "described", f"a value of type {type(value).__name__}")
        return {"kind": "opaque", "described": str(described)}

    header = json.dumps({name: describe(value) for name, value in values.items()}).encode()
    begin = len(MAGIC) + _LENGTH.size + len(header)
    begin += -begin % ALIGNMENT
    with path.open("wb") as file:
        file.write(MAGIC + _LENGTH.pack(len(header)) + header)
        for start, data in blobs:
            _pad_to(file, begin + start)
            file.write(data)
        _pad_to(file, begin + offset)


def read_values(path: Path) -> dict[str, object]:
    """Return what `write_values` wrote. Tensors are views of the mapped file and read-only."""
    with path.open("rb") as file:
        size = path.stat().st_size
        if size < len(MAGIC) + _LENGTH.size:
            raise ValueFileError(got=f"{size} bytes", need="a header")
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    if bytes(mapped[: len(MAGIC)]) != MAGIC:
        raise ValueFileError("another magic number", repr(MAGIC))
    start = len(MAGIC) + _LENGTH.size
    (length,) = _LENGTH.unpack(mapped[len(MAGIC) : start])
    if length > size - start:
        raise ValueFileError(got=f"a header of {length} bytes", need=f"at most {size - start}")
    header = json.loads(bytes(mapped[start : start + length]))
    begin = start + length
    begin += -begin % ALIGNMENT
    return {name: _rebuild(node, mapped[begin:]) for name, node in header.items()}


def _describe_array(array: Array, place: Any) -> dict[str, object]:
    if array.dtype.kind in "OSU":
        items = [
            item.decode("utf-8", "surrogateescape") if isinstance(item, bytes) else item
            for item in array.reshape(-1).tolist()
        ]
        if not all(isinstance(item, str) for item in items):
            return {"kind": "opaque", "described": "an array of objects that are no strings"}
        start, length = place(json.dumps(items).encode())
        return {"kind": "strings", "shape": list(array.shape), "at": start, "bytes": length}
    if array.dtype.kind == "V" and array.dtype.fields is not None:
        return {"kind": "opaque", "described": f"an array of type {array.dtype}"}
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    data: bytes | memoryview = native.reshape(-1).view(np.uint8).data if native.size else b""
    start, length = place(data)
    return {
        "kind": "tensor",
        "element": array.dtype.name,
        "shape": list(array.shape),
        "at": start,
        "bytes": length,
    }


def _rebuild(node: Mapping[str, Any], data: memoryview) -> object:
    kind = node["kind"]
    if kind == "none":
        return None
    if kind == "sequence":
        return [_rebuild(item, data) for item in node["items"]]
    if kind == "map":
        return {_rebuild(key, data): _rebuild(value, data) for key, value in node["pairs"]}
    if kind == "float":
        return float.fromhex(node["value"])
    if kind == "opaque":
        return Opaque(node["described"])
    if kind in ("bool", "int", "str"):
        return {"bool": bool, "int": int, "str": str}[kind](node["value"])
    shape: Sequence[int] = node["shape"]
    part = data[node["at"] : node["at"] + node["bytes"]]
    if kind == "strings":
        strings = np.empty(len(items := json.loads(bytes(part))), dtype=object)
        strings[:] = items
        return strings.reshape(shape)
    if kind != "tensor":
        raise ValueFileError(got=f"the kind {kind!r}", need="a known kind")
    return np.frombuffer(part, dtype=element_type(node["element"])).reshape(shape)


def element_type(name: str) -> np.dtype[Any]:
    """Return the numpy type of that name; those that numpy itself lacks come from ml_dtypes."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found


def _pad_to(file: BinaryIO, position: int) -> None:
    file.write(b"\0" * (position - file.tell()))
