"""Samples on disk: npz files, or npy files named like the inputs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from ortsel.builder.task import Samples
from ortsel.cli.errors import UnusableFileError
from ortsel.cli.feeds import Array, Feeds, check_feeds, read_npz
from ortsel.cli.model_inputs import ModelInput

OPTION: Final = "feeds"


def find_samples(path: Path) -> tuple[Samples, ...]:
    """Return the calls that a path holds, in the order of their names.

    A npz file is one call. In a folder each npz file is one; without any, the npy files together
    are one, each named like its input. Raises `UnusableFileError`.
    """
    if path.is_file():
        return (Samples(npz=str(path), source=str(path)),)
    if not path.is_dir():
        raise UnusableFileError(OPTION, str(path), "there is no such file or folder")
    archives = sorted(path.glob("*.npz"))
    arrays = sorted(path.glob("*.npy"))
    if archives and arrays:
        reason = "it holds both npz files (a call each) and npy files (an input each)"
        raise UnusableFileError(OPTION, str(path), reason)
    if archives:
        return tuple(Samples(npz=str(one), source=str(one)) for one in archives)
    if arrays:
        return (Samples(npy={one.stem: str(one) for one in arrays}, source=str(path)),)
    raise UnusableFileError(OPTION, str(path), "it holds neither npz nor npy files")


def read_samples(
    samples: Samples, inputs: Sequence[ModelInput], optional: Sequence[ModelInput] = ()
) -> Feeds:
    """Return the arrays of one call, checked against the model. Raises `UnusableFileError`."""
    path = Path(samples.source)
    if samples.npz:
        arrays = read_npz(path, OPTION)
    else:
        arrays = {name: _read_npy(Path(file)) for name, file in samples.npy.items()}
    return check_feeds(path, arrays, inputs, optional, OPTION)


def _read_npy(path: Path) -> Array:
    try:
        return np.asarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError, EOFError, MemoryError) as error:
        reason = f"it cannot be read as an npy file without pickled objects ({error})"
        raise UnusableFileError(OPTION, str(path), reason) from error
