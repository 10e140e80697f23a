"""A model whose large weights ONNX Runtime maps instead of parsing them.

Weights inside a model are held twice while it loads: as the message, and as tensors. Beside it,
they are mapped, and gone from memory once they are packed. The file that is mapped is a copy of
ortsel's own, without a name once it is loaded: the model's own file may be overwritten by who
deploys, under a session that serves.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from ortsel.model_outline import (
    Outline,
    Weight,
    external_data,
    raw_data,
    read_outline,
    rewrite_weights,
)
from ortsel.scratch_folder import ScratchFolder

LEAST_BYTES: Final = 16 * 2**20
"""Models with smaller weights load as they are: what would be saved is not worth a file."""
KEPT_BYTES: Final = 64 * 2**10
"""Smaller weights stay in the model, and integers that may be sizes whatever their number: ONNX
Runtime infers shapes only from values that it finds there."""
FREE_TIMES: Final = 8
"""How much more room than it needs there must be for a copy: a full disk would be others' loss."""
ALIGNMENT: Final = 2**16
"""The largest page of a common machine, at which alone a file can be mapped."""
NOT_DISKS: Final = frozenset(
    {"tmpfs", "ramfs", "hugetlbfs", "nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "virtiofs"}
)
"""File systems where a copy is held in memory itself, or may be gone with a network, which ends a
process that reads what it mapped."""
LIES_BESIDE: Final = b"\x0a\x08location"
"""In every message with a tensor whose values lie in a file: the key of the entry that names it."""
MAY_BE_SIZES: Final = (6, 7)
"""ONNX's numbers of int32 and int64."""
_MODEL: Final = "model.onnx"
_DATA: Final = "weights"
_CHUNK_BYTES: Final = 2**20


@contextmanager
def mapped_weights(model: Path | bytes, scratch: Path) -> Iterator[Path | bytes]:
    """Give the model to load in place of `model`: the same, with its weights beside it.

    `model` itself where its weights are small, where some lie beside it already, or where it cannot
    be done (no room, say). What is written, into a new folder in `scratch`, is gone at the end;
    sessions keep what they mapped.
    """
    with ExitStack() as resources:
        written: Path | None = None
        if os.name == "posix":
            with suppress(OSError):
                outline = read_outline(model, KEPT_BYTES)
                if _is_worth_it(outline, scratch):
                    folder = resources.enter_context(ScratchFolder("mapped-", scratch))
                    written = _written(model, outline, folder.path)
        yield written or model


def _is_worth_it(outline: Outline, scratch: Path) -> bool:
    size = sum(weight.size_bytes for weight in outline.weights)
    if not outline.weights or size < LEAST_BYTES:
        return False
    return shutil.disk_usage(scratch).free >= FREE_TIMES * size and is_on_disk(scratch)


def is_on_disk(folder: Path) -> bool:
    """Whether what is written there leaves memory, as far as the system tells."""
    device = os.stat(folder).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        mounts = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:
        return True  # not Linux
    for mount in mounts:
        place, _, source = mount.partition(" - ")
        if place.split()[2:3] == [wanted]:
            kind = source.split()[0]
            return kind not in NOT_DISKS and not kind.startswith("fuse")
    return True  # Btrfs has device numbers of its own


def _written(model: Path | bytes, outline: Outline, folder: Path) -> Path | None:
    # What lies beside the model is found from the model's folder, and this will be another one.
    if LIES_BESIDE in outline.message:
        return None
    with (folder / _DATA).open("wb") as data:
        source = None if isinstance(model, bytes) else model.open("rb")

        def placed(weight: Weight) -> bytes:
            end = weight.start + weight.size_bytes
            if weight.data_type in MAY_BE_SIZES:
                return raw_data(_read(model, source, weight.start, end))
            begin = -(-data.tell() // ALIGNMENT) * ALIGNMENT
            data.seek(begin)
            for start in range(weight.start, end, _CHUNK_BYTES):
                data.write(_read(model, source, start, min(start + _CHUNK_BYTES, end)))
            return external_data(location=_DATA, offset=str(begin), length=str(weight.size_bytes))

        try:
            message = rewrite_weights(model, KEPT_BYTES, placed)
        finally:
            if source is not None:
                source.close()
    if message is None:
        return None
    path = folder / _MODEL
    path.write_bytes(message)
    return path


def _read(model: Path | bytes, source: BinaryIO | None, start: int, end: int) -> bytes:
    if isinstance(model, bytes):
        return model[start:end]
    assert source is not None
    source.seek(start)
    read = source.read(end - start)
    if len(read) < end - start:
        raise OSError("the model became shorter")
    return read
