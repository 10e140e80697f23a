"""Names for models and their axes: keys hold neither, so the caller's files give them."""

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Final

from attrs import frozen

from ortsel.content_memory import ContentMemory
from ortsel.model_content import content_hash
from ortsel.report.question import Place

_NOTHING: Final = ContentMemory(None)


@frozen
class NamedModel:
    """A model file that the caller showed."""

    name: str
    digests: tuple[str, ...]
    """Under which its decisions may be stored: with and without the names of nodes."""
    axes: tuple[tuple[Place, str], ...]
    """What the model calls the open sizes of its inputs."""


def read_model(path: Path, memory: ContentMemory = _NOTHING) -> NamedModel:
    """Return what a file says about itself. Raises `UnknownContentError` or `OSError`."""
    digests = [
        content_hash(path, node_names=named, memory=memory).digest for named in (False, True)
    ]
    return NamedModel(path.name, tuple(dict.fromkeys(digests)), tuple(_axes(path)))


def model_names(models: Iterable[NamedModel]) -> dict[str, str]:
    """Return names by digests."""
    return {digest: model.name for model in models for digest in model.digests}


def axis_names(models: Iterable[NamedModel]) -> dict[str, dict[Place, str]]:
    """Return names of axes by digests of models."""
    return {digest: dict(model.axes) for model in models for digest in model.digests}


def _axes(path: Path) -> Iterable[tuple[Place, str]]:
    """Give the named open sizes of a model in ONNX's format; other formats name none."""
    import onnx

    decode_error: type[Exception] = import_module("google.protobuf.message").DecodeError

    try:
        graph = onnx.load(path, load_external_data=False).graph
    except (decode_error, OSError, ValueError):
        return
    for one in graph.input:
        for axis, size in enumerate(one.type.tensor_type.shape.dim):
            if size.dim_param:
                yield (one.name, axis), size.dim_param
