"""Hashes of models that were read before, kept beside the store: a large model is hashed once.

One small file for each model, named by a hash of the request, so that processes never wait for one
another and a file that is damaged costs one more hash. Nothing in it is a name: which files belong
to a model is always taken from the model.
"""

import contextlib
import json
import logging
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from attrs import frozen

from ortsel.store.errors import StoreError
from ortsel.store.place import default_path
from ortsel.store.server_url import is_server_url
from spec.canonical_json import Json, canonical, digest

log: Final = logging.getLogger(__name__)
SUFFIX: Final = ".contents"
"""Follows the name of the store's file."""
MEMORY_SCHEMA: Final = 1
MOST_FILES: Final = 256
"""Models remembered; the one that was hashed longest ago leaves."""
MOST_BYTES: Final = 1 << 20
"""A larger file is not read: it has the identities of more files than a model has."""
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_KINDS: Final = ("onnx", "ort", "raw")
_FIELDS: Final = 6

FileIdentity: TypeAlias = tuple[int, int, int, int, int]
"""Size, nanoseconds of the last modification and of the last change of its status, inode, device.
A tool may rewrite a file and set its time of modification back; the time of its change it cannot
set."""


@frozen
class RememberedContent:
    """What is known about a model whose files have these identities."""

    digest: str
    kind: str
    model: FileIdentity
    external: Mapping[str, FileIdentity]
    """By location, as the model names it. Compared with the model's own, never opened."""


@frozen
class ContentMemory:
    """A folder of remembered hashes; None remembers nothing. No method raises."""

    folder: Path | None

    def recall(self, request: Json) -> RememberedContent | None:
        """Return what was remembered for a request; None where there is nothing that is sound."""
        if self.folder is None:
            return None
        try:
            data = _read(self._path(self.folder, request))
        except FileNotFoundError:
            return None
        except OSError as error:
            log.debug("ortsel: a remembered hash cannot be read: %s", error)
            return None
        return None if data is None else _decode(data)

    def remember(self, request: Json, content: RememberedContent) -> None:
        """Keep what a model's files came to. Where that fails, it is hashed again next time."""
        data = _encode(content)
        if self.folder is None or len(data) > MOST_BYTES:
            return
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _replace(self._path(self.folder, request), data)
            for old in _by_age(self.folder)[:-MOST_FILES]:
                old.unlink(missing_ok=True)
        except OSError as error:
            log.debug("ortsel: a model's hash cannot be kept: %s", error)

    def _path(self, folder: Path, request: Json) -> Path:
        named: dict[str, Json] = {"request": request, "schema": MEMORY_SCHEMA}
        return folder / f"{digest(canonical(named))}.json"


def content_memory(store: str | None) -> ContentMemory:
    """Return the memory beside a store's file; one that remembers nothing for a store in memory.

    "default" is in the cache folder; that of a store on a server is there, too.
    """
    if store is None:
        return ContentMemory(None)
    try:
        in_cache_folder = store == "default" or is_server_url(store)
        file = default_path() if in_cache_folder else Path(store).absolute()
    except StoreError:
        return ContentMemory(None)
    return ContentMemory(file.with_name(file.name + SUFFIX))


def _encode(content: RememberedContent) -> bytes:
    document: dict[str, Json] = {
        "digest": content.digest,
        "external": {name: list(identity) for name, identity in content.external.items()},
        "kind": content.kind,
        "model": list(content.model),
        "schema": MEMORY_SCHEMA,
    }
    document["check"] = digest(json.dumps(document, sort_keys=True))
    return json.dumps(document, sort_keys=True).encode("ascii")


def _decode(data: bytes) -> RememberedContent | None:
    """Return what the bytes say; None unless they are exactly what `_encode` writes.

    The check finds a flipped bit. It is no signature: who can write here can write the store.
    """
    try:
        document = json.loads(data)
        if not isinstance(document, dict) or len(document) != _FIELDS:
            return None
        external = document["external"]
        if not isinstance(external, dict):
            return None
        found = RememberedContent(
            digest=document["digest"],
            kind=document["kind"],
            model=_identity(document["model"]),
            external={name: _identity(value) for name, value in external.items()},
        )
        sound = _DIGEST.fullmatch(found.digest) is not None and found.kind in _KINDS
        return found if sound and _encode(found) == data else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _identity(value: object) -> FileIdentity:
    match value:
        case [int(size), int(modified), int(changed), int(inode), int(device)]:
            return size, modified, changed, inode, device
        case _:
            msg = "five integers are needed"
            raise TypeError(msg)


def _read(path: Path) -> bytes | None:
    """Return the bytes of a regular file of a reasonable size; whatever else it is, None."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        data = file.read(MOST_BYTES + 1)
    return data if len(data) <= MOST_BYTES else None


def _replace(path: Path, data: bytes) -> None:
    descriptor, unfinished = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def _by_age(folder: Path) -> list[Path]:
    aged = []
    with os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                aged.append((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path))
    return [Path(path) for _, path in sorted(aged)]
