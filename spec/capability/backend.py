"""The attention backends, their fixed order, and the bits that switch them in ONNX Runtime."""

from enum import Enum
from types import MappingProxyType
from typing import Final

from spec.capability.attention_operator import Operator


class Backend(Enum):
    """One way to compute softmax(Q K^T) V. The order of definition breaks every tie."""

    XQA = "xqa"
    """Decode kernel for grouped queries over a shared cache."""
    FLASH_DECODE = "flash_decode"
    """Attention split over the keys; the parts are joined by their log-sum-exp."""
    FLASH_ATTENTION_3 = "flash_attention_3"
    """Hopper kernel (WGMMA, TMA). ONNX Runtime ships none; a custom build may."""
    FLASH_ATTENTION_2 = "flash_attention_2"
    VARIABLE_LENGTH = "variable_length"
    """FlashAttention 2 over ragged sequences given by cumulative lengths."""
    CUDNN = "cudnn"
    DECODER_MASKED = "decoder_masked"
    """FasterTransformer-style kernel for one query token, with beam indirection."""
    LEAN = "lean"
    """Stream-K decode kernel, compiled in on request only."""
    TENSORRT_CROSS = "tensorrt_cross"
    TENSORRT_FUSED = "tensorrt_fused"
    TENSORRT_FLASH = "tensorrt_flash"
    MEMORY_EFFICIENT = "memory_efficient"
    """CUTLASS tiled attention."""
    METAL = "metal"
    CPU = "cpu"
    """The CPU provider's tiled kernel, which never writes the score matrix out."""
    MATH = "math"
    """Scores, softmax and value product as three steps, on the provider that took the node."""


ORDER: Final[tuple[Backend, ...]] = tuple(Backend)
"""Every backend, in the order that breaks ties."""

CUSTOM_BACKENDS: Final = frozenset({Backend.FLASH_ATTENTION_3, Backend.METAL})
"""Backends no ONNX Runtime operator dispatches to; only a custom operator brings them."""

MATH_BIT: Final = 16

_BITS: Final = MappingProxyType(
    {
        Backend.FLASH_ATTENTION_2: 1,
        Backend.VARIABLE_LENGTH: 1,
        Backend.FLASH_DECODE: 1,
        Backend.MEMORY_EFFICIENT: 2,
        Backend.TENSORRT_FUSED: 4,
        Backend.CUDNN: 8,
        Backend.MATH: MATH_BIT,
        Backend.TENSORRT_FLASH: 4 | 32,
        Backend.TENSORRT_CROSS: 64,
        Backend.LEAN: 256,
        Backend.DECODER_MASKED: 512,
    }
)


def sdpa_bits(backend: Backend, operator: Operator) -> int:
    """Bits of the CUDA option `sdpa_kernel` that the backend needs; 0 where none switches it.

    XQA, the CPU, Metal and FlashAttention 3 have no bit. The paged split-over-keys kernel and the
    decoder-masked operators run without one. TensorRT flash is a mode of the TensorRT fused
    runner, so it needs both bits. Bit 128 (TensorRT causal) was removed in 1.28.

    Source: AttentionBackend in onnxruntime contrib_ops/cpu/bert/attention_common.h.
    """
    if backend is Backend.FLASH_DECODE and operator is Operator.PAGED_ATTENTION:
        return 0
    if backend is Backend.DECODER_MASKED and operator is not Operator.MULTI_HEAD_ATTENTION:
        return 0
    return _BITS.get(backend, 0)
