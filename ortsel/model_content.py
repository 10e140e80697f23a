"""What a model computes, as a hash: the graph and every weight, never a name or a place of a file.

An ONNX model is hashed in the form of `make_canonical`. A model in ONNX Runtime's own format, and
bytes that nobody can parse, are hashed as they are.
"""

import hashlib
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from attrs import frozen

from ortsel.canonical_model import UnknownContentError, make_canonical, read_chunks

if TYPE_CHECKING:
    import onnx

__all__ = ["ModelContent", "UnknownContentError", "content_hash"]

CONTENT_SCHEMA: Final = 1
"""Grows with every change of the canonical form, so that old hashes match nothing."""
_ORT_IDENTIFIER: Final = b"ORTM"
_LARGEST_MESSAGE: Final = 2**31 - 1
"""Protobuf's own limit; a larger file is not an ONNX model."""
_REMEMBERED: Final = 64
_SETTLED_NS: Final = 2_000_000_000
"""Age from which a file counts as unchanged: a younger one could change again within one tick of
its file system's clock, or while it is being hashed, and would keep its old hash."""

_FileIdentity: TypeAlias = tuple[str, int, int, int, int]
_Request: TypeAlias = tuple[str, str, bool]


@frozen
class ModelContent:
    """Identity of a model's content."""

    digest: str
    """Lower-case hexadecimal SHA-256."""
    kind: Literal["onnx", "ort", "raw"]
    """ONNX in canonical form, ONNX Runtime's own format byte by byte, or unknown bytes."""
    external: tuple[str, ...] = ()
    """Locations of the files that hold weights, as the model names them, sorted."""


def content_hash(
    model: Path | str | bytes, external_folder: Path | None = None, *, node_names: bool = False
) -> ModelContent:
    """Return what identifies the content of a model: a path, or the model itself in bytes.

    `external_folder` is where the files of weights lie, by default the directory of the model; a
    model in bytes has none. With `node_names` the names of nodes count, for sessions that place
    nodes by name. The result for a path is remembered until one of its files changes in size, time
    of modification, inode or device, unless one of them was written just now.

    Raises `UnknownContentError` for a file that is missing or too short and for a location outside
    the folder, which ONNX Runtime refuses as well.
    """
    if isinstance(model, bytes):
        return _hash_bytes(model, external_folder, node_names)
    path = Path(model).absolute()
    key = str(path), str(external_folder), node_names
    remembered = _recall(key)
    if remembered is not None:
        return remembered
    before = _identity(path)
    if before[1] > _LARGEST_MESSAGE:
        content = ModelContent(_hash_file(path), "raw")
    else:
        content = _hash_bytes(_read(path), external_folder or path.parent, node_names)
    folder = external_folder or path.parent
    files = before, *(_identity(folder / name) for name in content.external)
    if _identity(path) == before and _are_old(files):
        _remember(key, files, content)
    return content


_memory: Final[dict[_Request, tuple[tuple[_FileIdentity, ...], ModelContent]]] = {}


def _recall(request: _Request) -> ModelContent | None:
    found = _memory.get(request)
    if found is None:
        return None
    files, content = found
    try:
        same = all(_identity(Path(file[0])) == file for file in files)
    except UnknownContentError:
        return None
    return content if same else None


def _are_old(files: tuple[_FileIdentity, ...]) -> bool:
    latest_ns = time.time_ns() - _SETTLED_NS
    return all(modified_ns < latest_ns for _, _, modified_ns, _, _ in files)


def _remember(request: _Request, files: tuple[_FileIdentity, ...], content: ModelContent) -> None:
    _memory[request] = files, content
    for oldest in list(_memory)[:-_REMEMBERED]:
        _memory.pop(oldest, None)


def _identity(path: Path) -> _FileIdentity:
    try:
        status = path.stat()
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error
    return str(path), status.st_size, status.st_mtime_ns, status.st_ino, status.st_dev


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error


def _hash_bytes(data: bytes, folder: Path | None, node_names: bool) -> ModelContent:
    if data[4:8] == _ORT_IDENTIFIER:
        return ModelContent(_digest("ort", data), "ort")
    model = _parse(data)
    if model is None:
        return ModelContent(_digest("raw", data), "raw")
    external = make_canonical(model, folder, node_names=node_names)
    text = model.SerializeToString(deterministic=True)
    return ModelContent(_digest("onnx", text), "onnx", tuple(sorted(external)))


def _parse(data: bytes) -> "onnx.ModelProto | None":
    import onnx

    protobuf: Any = import_module("google.protobuf.message")  # it comes without types
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except protobuf.DecodeError:
        return None
    return model if model.HasField("graph") else None


def _digest(kind: str, data: bytes) -> str:
    return hashlib.sha256(f"{kind} {CONTENT_SCHEMA}\n".encode("ascii") + data).hexdigest()


def _hash_file(path: Path) -> str:
    hashed = hashlib.sha256(f"raw {CONTENT_SCHEMA}\n".encode("ascii"))
    for chunk in read_chunks(path):
        hashed.update(chunk)
    return hashed.hexdigest()
