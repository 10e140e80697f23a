"""`--shape`: sizes for what a model leaves open.

`--shape NAME=DIMS` gives an input's whole shape when NAME is an input, and otherwise the size of
the open dimension NAME wherever it occurs. A dimension that gets a size from one input's shape has
that size in the inputs that are not given a shape of their own.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from ortsel.cli.errors import OpenDimensionsError
from ortsel.cli.model_inputs import Dimension, ModelInput, shape_words
from ortsel.errors import UsageError

MAX_SIZE: Final = 2**40
_DIMS: Final = re.compile(r"\d{1,15}(?:[x,]\d{1,15})*", re.ASCII)
_SHOWN: Final = 6
"""Inputs that an error lists. Models with a key-value cache have dozens."""


@frozen
class ShapeArgument:
    """One `--shape`, not yet matched with a model."""

    name: str
    sizes: tuple[int, ...]
    """Empty is a scalar."""
    text: str


def parse_shape(text: str) -> ShapeArgument:
    """Return NAME=DIMS in parts; DIMS are sizes with x or commas between, or nothing for a scalar.

    Raises `UsageError`.
    """
    name, equals, dims = text.rpartition("=")
    compact = dims.strip().lower()
    readable = not compact or _DIMS.fullmatch(compact) is not None
    if not equals or not name.strip() or not readable:
        raise UsageError("--shape", repr(text), "NAME=DIMS such as input_ids=1x128 or batch=1")
    sizes = tuple(int(size) for size in re.split("[x,]", compact)) if compact else ()
    if any(size > MAX_SIZE for size in sizes):
        raise UsageError("--shape", repr(text), f"sizes of at most {MAX_SIZE}")
    return ShapeArgument(name.strip(), sizes, text)


def resolve_shapes(
    inputs: Sequence[ModelInput], arguments: Sequence[ShapeArgument], model: str
) -> dict[str, tuple[int, ...]]:
    """Return a shape for every input.

    Raises `UsageError` for names that the model does not have, for sizes that contradict its
    declarations or each other, and `OpenDimensionsError` when something stays open.
    """
    given, dimensions = _match(inputs, arguments)
    shared = _shared_sizes(inputs, given)
    shapes: dict[str, tuple[int, ...]] = {}
    for one in inputs:
        if one.name in given:
            shapes[one.name] = given[one.name]
            continue
        sizes = [_size(one, size, dimensions, shared) for size in one.shape]
        shapes[one.name] = tuple(size for size in sizes if size is not None)
    unresolved = [
        one for one in inputs if one.name not in given and len(shapes[one.name]) != len(one.shape)
    ]
    if unresolved:
        raise _open(inputs, unresolved, {**_only(shared), **dimensions}, arguments, model)
    return shapes


def _match(
    inputs: Sequence[ModelInput], arguments: Sequence[ShapeArgument]
) -> tuple[dict[str, tuple[int, ...]], dict[str, int]]:
    """Return the shapes of inputs and the sizes of dimensions that were given."""
    by_name = {one.name: one for one in inputs}
    known = list(
        dict.fromkeys(size for one in inputs for size in one.shape if isinstance(size, str))
    )
    given: dict[str, tuple[int, ...]] = {}
    dimensions: dict[str, int] = {}
    for argument in arguments:
        name = argument.name
        if name in given or name in dimensions:
            raise UsageError("--shape", f"{name!r} twice", "each name once")
        if name in by_name:
            given[name] = _checked(by_name[name], argument)
        elif name not in known:
            need = f"an input ({_names(by_name)})"
            need += f" or an open dimension ({_names(known)})" if known else ""
            raise UsageError("--shape", repr(name), need)
        elif len(argument.sizes) != 1:
            need = f"one size for the dimension {name!r}, such as {name}=1"
            raise UsageError("--shape", repr(argument.text), need)
        else:
            dimensions[name] = argument.sizes[0]
    for name, sizes in given.items():
        for size, declared in zip(sizes, by_name[name].shape, strict=False):
            if isinstance(declared, str) and dimensions.get(declared, size) != size:
                got = f"{declared}={dimensions[declared]} and {declared}={size} in {name}"
                raise UsageError("--shape", got, "one size for one dimension")
    return given, dimensions


def _checked(one: ModelInput, argument: ShapeArgument) -> tuple[int, ...]:
    """Return the shape for an input that declares this one. Without a declaration, any goes."""
    fits = not one.shape or (
        len(one.shape) == len(argument.sizes)
        and all(
            declared == size
            for declared, size in zip(one.shape, argument.sizes, strict=True)
            if isinstance(declared, int)
        )
    )
    if not fits:
        raise UsageError("--shape", repr(argument.text), f"a shape that fits {one.declared()}")
    return argument.sizes


def _shared_sizes(
    inputs: Sequence[ModelInput], given: Mapping[str, tuple[int, ...]]
) -> dict[str, dict[int, str]]:
    """Return, for each named dimension, the sizes that given shapes imply and where."""
    shared: dict[str, dict[int, str]] = {}
    for one in inputs:
        if len(given.get(one.name, ())) != len(one.shape):
            continue
        for size, declared in zip(given.get(one.name, ()), one.shape, strict=True):
            if isinstance(declared, str):
                shared.setdefault(declared, {}).setdefault(size, one.name)
    return shared


def _only(shared: Mapping[str, Mapping[int, str]]) -> dict[str, int]:
    return {name: next(iter(sizes)) for name, sizes in shared.items() if len(sizes) == 1}


def _size(
    one: ModelInput,
    declared: Dimension,
    dimensions: Mapping[str, int],
    shared: Mapping[str, Mapping[int, str]],
) -> int | None:
    """Return the size of one dimension of an input that got no shape; None when it stays open."""
    if not isinstance(declared, str):
        return declared
    if declared in dimensions:
        return dimensions[declared]
    sizes = shared.get(declared, {})
    if len(sizes) > 1:
        got = " and ".join(f"{declared}={size} in {where}" for size, where in sizes.items())
        raise UsageError("--shape", got, f"a shape for {one.declared()} as well")
    return next(iter(sizes), None)


def _open(
    inputs: Sequence[ModelInput],
    unresolved: Sequence[ModelInput],
    sizes: Mapping[str, int],
    arguments: Sequence[ShapeArgument],
    model: str,
) -> OpenDimensionsError:
    """Return the error that lists what is open and shows a complete command."""
    declared = ", ".join(one.declared() for one in inputs[:_SHOWN])
    if len(inputs) > _SHOWN:
        declared += f" and {len(inputs) - _SHOWN} more"
    taken = {one.name for one in inputs}
    chosen = dict(sizes)
    missing: list[str] = []
    extra: list[str] = []
    for one in unresolved:
        names = [size for size in one.shape if isinstance(size, str) and size not in sizes]
        example = [_example_size(one, at, chosen) for at in range(len(one.shape))]
        missing.extend(names + ([f"? of {one.name}"] if None in one.shape else []))
        if None in one.shape or not taken.isdisjoint(names):
            extra.append(f"{one.name}={'x'.join(map(str, example))}")
        else:
            extra.extend(f"{name}={chosen[name]}" for name in names)
    parts = ["ortsel", "tune", model]
    for text in dict.fromkeys([argument.text for argument in arguments] + extra):
        parts.extend(["--shape", text])
    return OpenDimensionsError(declared, ", ".join(dict.fromkeys(missing)), shlex.join(parts))


def _example_size(one: ModelInput, at: int, chosen: dict[str, int]) -> int:
    """Return a plausible size, the same for a named dimension wherever it occurs."""
    declared = one.shape[at]
    if isinstance(declared, int):
        return declared
    image = len(one.shape) == len("NCHW")
    inner = (3 if at == 1 else 224) if image else 128
    size = 1 if at == 0 else inner
    return chosen.setdefault(declared, size) if declared is not None else size


def _names(names: "Mapping[str, object] | Sequence[str]") -> str:
    listed = list(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more if listed else "none"


def shapes_words(shapes: Mapping[str, Sequence[int]]) -> str:
    """Return shapes as text: "input_ids[1,128]"."""
    return ", ".join(f"{name}{shape_words(shape)}" for name, shape in shapes.items())
