"""What a kernel is given: shapes, element types, alignment, hardware features (rule R3)."""

from functools import cached_property
from math import prod
from types import MappingProxyType

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import at_least

ELEMENT_BITS = MappingProxyType(
    {
        "float4e2m1": 4,
        "int4": 4,
        "uint4": 4,
        "bool": 8,
        "float8e4m3fn": 8,
        "float8e4m3fnuz": 8,
        "float8e5m2": 8,
        "float8e5m2fnuz": 8,
        "float8e8m0": 8,
        "int8": 8,
        "uint8": 8,
        "bfloat16": 16,
        "float16": 16,
        "int16": 16,
        "uint16": 16,
        "float32": 32,
        "int32": 32,
        "uint32": 32,
        "complex64": 64,
        "double": 64,
        "int64": 64,
        "uint64": 64,
        "complex128": 128,
    }
)
"""Bits of one element, by lower-case name of the ONNX `TensorProto.DataType`. Strings have none."""


@frozen
class TensorInput:
    """One input tensor. A dimension of zero is legal: the tensor is empty."""

    shape: tuple[int, ...]
    dtype: str

    def __attrs_post_init__(self) -> None:
        if any(length < 0 for length in self.shape):
            raise InvalidValue("shape", str(self.shape), "lengths of at least 0", "R3")
        if self.dtype not in ELEMENT_BITS:
            raise InvalidValue("dtype", repr(self.dtype), "a sized ONNX element type", "R3")

    @property
    def size_bytes(self) -> int:
        """Bytes of the elements, packed for types under 8 bits, rounded up to whole bytes."""
        return (prod(self.shape) * ELEMENT_BITS[self.dtype] + 7) // 8


@frozen
class KernelInputs:
    """All inputs of one call, the alignment of their addresses, and what the hardware offers."""

    tensors: tuple[TensorInput, ...]
    alignment_bytes: int = field(default=1, validator=at_least(1, "R3"))
    """The largest power of two that divides every input's address."""
    features: frozenset[str] = frozenset()

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of all inputs together."""
        return sum(tensor.size_bytes for tensor in self.tensors)

    @cached_property
    def dtypes(self) -> frozenset[str]:
        """Element types of all inputs."""
        return frozenset(tensor.dtype for tensor in self.tensors)
