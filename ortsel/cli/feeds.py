"""Inputs to tune with: made up from shapes, or read from an npz file and checked."""

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import psutil
from attrs import frozen

from ortsel.cli.errors import UnusableFileError
from ortsel.cli.model_inputs import ModelInput, shape_words
from ortsel.cli.shapes import shapes_words
from ortsel.errors import UsageError

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_INPUT: Final = "--input"
INTEGER_END: Final = 2
"""Made-up integers are 0 or 1: valid as token ids, as masks and as indices into nearly anything."""


@frozen
class Feeds:
    """Inputs for one call, and where they come from."""

    arrays: Mapping[str, Array]
    source: str
    """The npz file; empty when they were made up."""

    @property
    def synthetic(self) -> bool:
        """Whether they were made up."""
        return not self.source

    def words(self) -> str:
        """Return names and shapes as text."""
        return shapes_words({name: array.shape for name, array in self.arrays.items()})


def parse_fill(text: str) -> tuple[str, str]:
    """Return NAME=VALUE in parts. Raises `UsageError`."""
    name, equals, value = text.rpartition("=")
    if not equals or not name.strip() or not value.strip():
        raise UsageError("--fill", repr(text), "NAME=VALUE such as attention_mask=1")
    return name.strip(), value.strip()


def make_feeds(
    inputs: Sequence[ModelInput],
    shapes: Mapping[str, tuple[int, ...]],
    fills: Sequence[tuple[str, str]],
    seed: int,
) -> Feeds:
    """Return made-up inputs: the same for the same seed, whatever the machine.

    An input named in `fills` holds that value everywhere. Raises `UsageError` for a type that numpy
    does not have, for a fill that does not fit, and for inputs that memory cannot hold.
    """
    by_name = {one.name: one for one in inputs}
    values: dict[str, str] = {}
    for name, value in fills:
        if name not in by_name:
            raise UsageError("--fill", repr(name), f"an input ({', '.join(by_name) or 'none'})")
        if name in values:
            raise UsageError("--fill", f"{name!r} twice", "each input once")
        values[name] = value
    _check_memory(inputs, shapes)
    generator = np.random.default_rng(seed)
    arrays: dict[str, Array] = {}
    for one in inputs:
        made = _random(one, shapes[one.name], generator)
        arrays[one.name] = _filled(one, made, values[one.name]) if one.name in values else made
    return Feeds(arrays, "")


def read_feeds(
    path: Path, inputs: Sequence[ModelInput], optional: Sequence[ModelInput] = ()
) -> Feeds:
    """Return the arrays of an npz file: every input, each of its declared type and shape.

    `optional` are initialisers that an input may replace. Raises `UnusableFileError`.
    """
    return check_feeds(path, read_npz(path, _INPUT), inputs, optional, _INPUT)


def check_feeds(
    path: Path,
    arrays: Mapping[str, Array],
    inputs: Sequence[ModelInput],
    optional: Sequence[ModelInput],
    option: str,
) -> Feeds:
    """Return arrays as feeds: every input, each of its declared type and shape.

    `path` is where they come from and `option` how the user named it, for messages. Raises
    `UnusableFileError`.
    """
    declared = {one.name: one for one in (*inputs, *optional)}
    for name in arrays:
        if name not in declared:
            known = ", ".join(declared) or "none"
            raise UnusableFileError(
                option, str(path), f"{name!r} is not an input of the model ({known})"
            )
    for one in inputs:
        if one.name not in arrays:
            held = ", ".join(arrays) or "nothing"
            reason = f"the input {one.declared()} is missing; the file holds {held}"
            raise UnusableFileError(option, str(path), reason)
    checked = {
        name: _checked(path, declared[name], array, option) for name, array in arrays.items()
    }
    return Feeds(checked, str(path))


def _dtype(one: ModelInput) -> np.dtype[Any]:
    if one.dtype is None:
        need = "tensors of a type that numpy has; call ortsel.InferenceSession from Python instead"
        raise UsageError("input", one.declared(), need)
    return one.dtype


def _check_memory(inputs: Sequence[ModelInput], shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse inputs that do not fit, before the system kills the process for them."""
    need_bytes = 0
    for one in inputs:
        elements = 1
        for size in shapes[one.name]:
            elements *= size
        need_bytes += elements * _dtype(one).itemsize
    free_bytes = int(psutil.virtual_memory().available)
    if 4 * need_bytes > free_bytes:
        got = f"{need_bytes / 2**30:.1f} GiB of inputs"
        raise UsageError(
            "--shape", got, f"at most a quarter of the {free_bytes / 2**30:.1f} GiB free"
        )


def _random(one: ModelInput, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    dtype = _dtype(one)
    if dtype.kind == "f":
        return np.asarray(generator.standard_normal(shape)).astype(dtype)
    if dtype.kind == "O":
        return np.full(shape, "a", dtype=dtype)
    return np.asarray(generator.integers(0, INTEGER_END, size=shape)).astype(dtype)


_TRUTHS: Final = {"true": True, "1": True, "false": False, "0": False}


def _filled(one: ModelInput, made: Array, text: str) -> Array:
    value: object
    try:
        match made.dtype.kind:
            case "O":
                value = text
            case "b":
                value = _TRUTHS[text.lower()]
            case "f":
                value = float(text)
            case _:
                value = int(text)
        return np.full(made.shape, value, dtype=made.dtype)
    except (KeyError, ValueError, OverflowError) as error:
        raise UsageError(
            "--fill", repr(f"{one.name}={text}"), f"a value of type {one.element}"
        ) from error


def read_npz(path: Path, option: str) -> dict[str, Array]:
    """Return the arrays of an npz file. Raises `UnusableFileError`."""
    if not path.is_file():
        reason = "it is not a file" if path.exists() else "there is no such file"
        raise UnusableFileError(option, str(path), reason)
    if not zipfile.is_zipfile(path):
        raise UnusableFileError(option, str(path), "it is not an npz file (see numpy.savez)")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, MemoryError) as error:
        reason = f"it cannot be read as an npz file without pickled objects ({error})"
        raise UnusableFileError(option, str(path), reason) from error


def _checked(path: Path, one: ModelInput, array: Array, option: str) -> Array:
    """Return the array as ONNX Runtime takes it, when its type and shape are the declared ones."""
    dtype = _dtype(one)
    if dtype.kind == "O" and array.dtype.kind == "U":
        array = array.astype(np.object_)
    if array.dtype != dtype:
        fix = f'array.astype("{dtype.name}") would make it fit'
        reason = f"{one.name} holds {array.dtype}, the model takes {one.element}"
        raise UnusableFileError(option, str(path), f"{reason}; {fix}")
    fits = not one.shape or (
        len(one.shape) == array.ndim
        and all(
            declared == size
            for declared, size in zip(one.shape, array.shape, strict=True)
            if isinstance(declared, int)
        )
    )
    if not fits:
        reason = (
            f"{one.name} has the shape {shape_words(array.shape)}, the model takes {one.declared()}"
        )
        raise UnusableFileError(option, str(path), reason)
    return np.ascontiguousarray(array) if array.ndim else array
