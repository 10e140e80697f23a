"""Bundles as files."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ortsel.bundle.bundle import MAX_BUNDLE_BYTES, Bundle
from ortsel.bundle.errors import OversizedBundleError
from ortsel.bundle.signing import PublicKey, SigningKey


def read_bundle(path: Path, trusted: Sequence[PublicKey] = ()) -> Bundle:
    """Return what a file holds after every check.

    Raises `BundleError`, `OSError` for a file that cannot be read, `MissingPackageError` for a
    signature that cannot be checked.
    """
    return Bundle.read(read_bytes(path), trusted)


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, never more than a bundle may have."""
    with open(path, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(0, "not a regular file")
        data = file.read(MAX_BUNDLE_BYTES + 1)
    if len(data) > MAX_BUNDLE_BYTES:
        raise OversizedBundleError("a larger file", f"at most {MAX_BUNDLE_BYTES} bytes")
    return data


def write_bundle(path: Path, bundle: Bundle, key: SigningKey | None = None) -> bytes:
    """Write a bundle, signed if there is a key, and return its bytes.

    The file appears whole or not at all. Raises `OSError`, `OversizedBundleError`.
    """
    data = bundle.write(key)
    write_whole(path, data, 0o666 & ~_umask())
    return data


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Put a file with this content in place, whole or not at all. Raises `OSError`."""
    descriptor, unfinished = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(unfinished, mode)
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise


def _umask() -> int:
    """Return the process's umask, which cannot be read without being set."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
