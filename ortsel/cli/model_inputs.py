"""What a model wants to be fed, as values."""

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

import numpy as np
from attrs import frozen

Dimension: TypeAlias = int | str | None
"""A fixed size, the name of a size that is open, or None for an open size without a name."""

_ELEMENTS: Final[dict[str, type[np.generic]]] = {
    "bool": np.bool_,
    "double": np.float64,
    "float": np.float32,
    "float16": np.float16,
    "int16": np.int16,
    "int32": np.int32,
    "int64": np.int64,
    "int8": np.int8,
    "string": np.object_,
    "uint16": np.uint16,
    "uint32": np.uint32,
    "uint64": np.uint64,
    "uint8": np.uint8,
}
"""ONNX Runtime's words for element types that numpy has."""


@frozen
class ModelInput:
    """One declared input."""

    name: str
    type: str
    """In ONNX Runtime's words, such as "tensor(float)"."""
    shape: tuple[Dimension, ...]
    """Empty for a scalar, and for an input that declares no shape."""

    @property
    def element(self) -> str:
        """ONNX Runtime's word for the type of one element; empty for what is not a tensor."""
        is_tensor = self.type.startswith("tensor(") and self.type.endswith(")")
        return self.type.removeprefix("tensor(").removesuffix(")") if is_tensor else ""

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The numpy type of one element; None where numpy has none."""
        element = _ELEMENTS.get(self.element)
        return None if element is None else np.dtype(element)

    def declared(self) -> str:
        """Return name, element type and shape as one phrase."""
        return f"{self.name} {self.element or self.type}{shape_words(self.shape)}"


def shape_words(shape: Iterable[Dimension]) -> str:
    """Return a shape as text: "[batch,3,?]"."""
    return f"[{','.join('?' if size is None else str(size) for size in shape)}]"


def read_inputs(nodes: Iterable[Any]) -> tuple[ModelInput, ...]:
    """Return what `InferenceSession.get_inputs` gave, as values."""
    return tuple(
        ModelInput(str(node.name), str(node.type), tuple(_dimension(size) for size in node.shape))
        for node in nodes
    )


def _dimension(size: object) -> Dimension:
    if isinstance(size, int):
        return size if size >= 0 else None
    return str(size) if size else None
