"""What a model computes, as a hash: the graph and every weight, never a name or a place of a file.

An ONNX model is hashed in the form of `make_canonical`. A model in ONNX Runtime's own format, and
bytes that nobody can parse, are hashed as they are.
"""

import hashlib
import os
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from attrs import frozen

from ortsel.canonical_model import (
    UnknownContentError,
    external_locations,
    make_canonical,
    read_chunks,
    sha256_of,
)
from ortsel.content_memory import ContentMemory, FileIdentity, RememberedContent
from ortsel.model_outline import read_outline
from spec.canonical_json import Json

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
"""Age that a file must have when hashing begins for its hash to be remembered. A younger one could
change again within the tick of its file system's clock (two seconds, at worst) in which it was
written, and would then have its old identity."""

_Request: TypeAlias = tuple[str, str, bool]
_Files: TypeAlias = tuple[tuple[Path, FileIdentity], ...]
_NOTHING: Final = ContentMemory(None)


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
    model: Path | str | bytes,
    external_folder: Path | None = None,
    *,
    node_names: bool = False,
    memory: ContentMemory = _NOTHING,
) -> ModelContent:
    """Return what identifies the content of a model: a path, or the model itself in bytes.

    `external_folder` is where the files of weights lie, by default the directory of the model; a
    model in bytes has none. With `node_names` the names of nodes count, for sessions that place
    nodes by name. The result for a path is remembered in this process, and for others in `memory`,
    until one of its files changes in size, time of modification or of change, inode or device. It
    is not remembered where one of them was written, or its status changed, in the two seconds
    before it was hashed or since.

    Raises `UnknownContentError` for a file that is missing or too short and for a location outside
    the folder, which ONNX Runtime refuses as well.
    """
    if isinstance(model, bytes):
        return _hash_bytes(model, external_folder, node_names)
    path = Path(model).absolute()
    folder = external_folder or path.parent
    request = str(path), str(folder), node_names
    remembered = _recall(request)
    if remembered is not None:
        _keep(memory, request, *remembered)
        return remembered[1]
    files, content = _recall_elsewhere(memory, request, path, folder) or (None, None)
    if files is None or content is None:
        begun_ns = time.time_ns()
        files, content = _hash_files(path, folder, node_names)
        if not _are_settled(files, begun_ns):
            return content
        _keep(memory, request, files, content)
    _remember(request, files, content)
    return content


def _keep(memory: ContentMemory, request: _Request, files: _Files, content: ModelContent) -> None:
    """Keep a hash for other processes, once: whoever hashed first may have had no place for it."""
    if memory.folder is None or (memory.folder, request, files) in _kept:
        return
    if len(_kept) >= _REMEMBERED:
        _kept.clear()
    _kept.add((memory.folder, request, files))
    (_, identity), *others = files
    external = dict(zip(content.external, (one for _, one in others), strict=True))
    found = RememberedContent(content.digest, content.kind, identity, external)
    memory.remember(_named(request), found)


def _hash_files(path: Path, folder: Path, node_names: bool) -> tuple[_Files, ModelContent]:
    """Hash a model and say which files it was read from.

    A file that changes meanwhile has an identity of just now, which nobody remembers.
    """
    before = _identity(path)
    size = before[0]
    if size > _LARGEST_MESSAGE:
        content = ModelContent(_hash_file(path), "raw")
    else:
        content = _hash_onnx(path, folder, node_names)
    others = ((folder / name, _identity(folder / name)) for name in content.external)
    return ((path, _identity(path)), *others), content


_memory: Final[dict[_Request, tuple[_Files, ModelContent]]] = {}
_kept: Final[set[tuple[Path, _Request, _Files]]] = set()
"""What is known to be remembered where."""


def _recall(request: _Request) -> tuple[_Files, ModelContent] | None:
    found = _memory.get(request)
    if found is None:
        return None
    try:
        same = all(_identity(path) == identity for path, identity in found[0])
    except UnknownContentError:
        return None
    return found if same else None


def _recall_elsewhere(
    memory: ContentMemory, request: _Request, path: Path, folder: Path
) -> tuple[_Files, ModelContent] | None:
    """Return what another process found out about the same files.

    Which files of weights there are is read from the model again: small where they are many, since
    the weights are not in it.
    """
    found = memory.recall(_named(request))
    if found is None or found.model != _identity(path):
        return None
    if not found.external:
        content = ModelContent(found.digest, _kind(found.kind))
        return ((path, found.model),), content
    model = _parse(_read(path))
    if model is None:
        return None
    try:
        names = tuple(sorted(external_locations(model, folder)))
        files = tuple((folder / name, _identity(folder / name)) for name in names)
    except UnknownContentError:
        return None
    if dict(zip(names, (identity for _, identity in files), strict=True)) != found.external:
        return None
    content = ModelContent(found.digest, _kind(found.kind), names)
    return ((path, found.model), *files), content


def _named(request: _Request) -> Json:
    path, folder, node_names = request
    return {
        "content": CONTENT_SCHEMA,
        "folder": os.fsencode(folder).hex(),
        "node_names": node_names,
        "path": os.fsencode(path).hex(),
    }


def _kind(word: str) -> Literal["onnx", "ort", "raw"]:
    return "onnx" if word == "onnx" else "ort" if word == "ort" else "raw"


def _are_settled(files: _Files, begun_ns: int) -> bool:
    latest_ns = begun_ns - _SETTLED_NS
    return all(max(modified, changed) < latest_ns for _, (_, modified, changed, _, _) in files)


def _remember(request: _Request, files: _Files, content: ModelContent) -> None:
    _memory[request] = files, content
    for oldest in list(_memory)[:-_REMEMBERED]:
        _memory.pop(oldest, None)


def forget_all() -> None:
    """Forget what this process remembers, as a new process would."""
    _memory.clear()
    _kept.clear()


def _identity(path: Path) -> FileIdentity:
    try:
        found = path.stat()
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error


def _hash_onnx(path: Path, folder: Path, node_names: bool) -> ModelContent:
    """Hash a model file without holding its weights."""
    try:
        outline = read_outline(path)
    except OSError as error:
        raise UnknownContentError(str(path), error.strerror or str(error), "a file") from error
    model = _parse(outline.message) if outline.weights else None
    if model is None:
        return _hash_bytes(_read(path), folder, node_names)
    hashed = {
        one.initializer: sha256_of(path, one.start, one.size_bytes) for one in outline.weights
    }
    return _canonical_content(model, folder, node_names, hashed)


def _hash_bytes(data: bytes, folder: Path | None, node_names: bool) -> ModelContent:
    if data[4:8] == _ORT_IDENTIFIER:
        return ModelContent(_digest("ort", data), "ort")
    model = _parse(data)
    if model is None:
        return ModelContent(_digest("raw", data), "raw")
    return _canonical_content(model, folder, node_names, {})


def _canonical_content(
    model: "onnx.ModelProto", folder: Path | None, node_names: bool, hashed: dict[int, bytes]
) -> ModelContent:
    external = make_canonical(model, folder, node_names=node_names, hashed=hashed)
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
