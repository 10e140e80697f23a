"""Element types of attention operands, and how many bytes a count of elements takes."""

from enum import Enum


class ElementType(Enum):
    """A tensor element type, named as ONNX does. INT8 and INT4 occur in key/value caches only."""

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    FLOAT8_E4M3 = "float8_e4m3"
    FLOAT8_E5M2 = "float8_e5m2"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def bits(self) -> int:
        """Bits that one element takes in memory."""
        return _BITS[self]


_BITS = {
    ElementType.FLOAT32: 32,
    ElementType.FLOAT16: 16,
    ElementType.BFLOAT16: 16,
    ElementType.FLOAT8_E4M3: 8,
    ElementType.FLOAT8_E5M2: 8,
    ElementType.INT8: 8,
    ElementType.INT4: 4,
}

HALF_TYPES = frozenset({ElementType.FLOAT16, ElementType.BFLOAT16})
"""The 16-bit float types, which most fused kernels are written for."""

CACHE_ONLY_TYPES = frozenset({ElementType.INT8, ElementType.INT4})
"""Types that only a quantized key/value cache can have."""


def bytes_of(elements: int, element_type: ElementType) -> int:
    """Bytes that `elements` packed elements take: ceil(elements x bits / 8)."""
    return -(-elements * element_type.bits // 8)
