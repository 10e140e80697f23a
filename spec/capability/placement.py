"""Which execution provider takes an attention node, before any kernel looks at it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from spec.capability.attention_input import AttentionInput
from spec.capability.attention_operator import ONNX_OPERATORS, Operator
from spec.capability.build import OrtBuild, Provider
from spec.capability.element_type import HALF_TYPES, ElementType
from spec.capability.hardware import DeviceKind, Hardware

_FLOAT32 = frozenset({ElementType.FLOAT32})
_FP32_FP16 = _FLOAT32 | {ElementType.FLOAT16}
_FP32_HALF = _FLOAT32 | HALF_TYPES

CUDA_TYPES: Final[Mapping[Operator, frozenset[ElementType]]] = MappingProxyType(
    {
        Operator.ATTENTION: _FP32_HALF,
        Operator.MULTI_HEAD_ATTENTION: _FP32_HALF,
        Operator.GROUP_QUERY_ATTENTION: HALF_TYPES,
        Operator.PACKED_ATTENTION: _FP32_FP16,
        Operator.PACKED_MULTI_HEAD_ATTENTION: _FP32_FP16,
        Operator.DECODER_MASKED_SELF_ATTENTION: _FP32_FP16,
        Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION: _FP32_FP16,
        Operator.PAGED_ATTENTION: HALF_TYPES,
        Operator.ONNX_ATTENTION_23: _FP32_HALF,
        Operator.ONNX_ATTENTION_24: _FP32_HALF,
    }
)
"""Query types for which the CUDA provider registers the operator (kernel registrations of 1.31)."""

CPU_TYPES: Final[Mapping[Operator, frozenset[ElementType]]] = MappingProxyType(
    {
        Operator.ATTENTION: _FP32_FP16,
        Operator.MULTI_HEAD_ATTENTION: _FP32_FP16,
        Operator.GROUP_QUERY_ATTENTION: _FP32_FP16,
        Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION: _FP32_FP16,
        Operator.ONNX_ATTENTION_23: _FP32_FP16,
        Operator.ONNX_ATTENTION_24: _FP32_FP16,
    }
)
"""Query types that run on the CPU provider (1.32), float16 through inserted casts where needed.

A float16 MultiHeadAttention session was created and a bfloat16 one refused with 1.32 on x86.
"""

CAST_ON_CPU: Final = frozenset(
    {
        Operator.ATTENTION,
        Operator.MULTI_HEAD_ATTENTION,
        Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION,
    }
)
"""Operators whose only CPU kernel is float32: ONNX Runtime casts float16 around it."""

_CACHE_OPERATORS = frozenset({Operator.GROUP_QUERY_ATTENTION, Operator.PAGED_ATTENTION})
_CPU_CACHE_TYPES = frozenset({ElementType.INT8, ElementType.INT4})


def place(attention: AttentionInput, hardware: Hardware, build: OrtBuild) -> Provider:
    """The provider that takes the node, in the order CUDA, CPU, function body, none.

    A GPU older than the build's CUDA toolkit serves, or one of another vendor, leaves the node to
    the CPU provider: that is what ONNX Runtime does without an error.
    """
    on_cuda = (
        Provider.CUDA in build.providers
        and hardware.kind is DeviceKind.CUDA
        and hardware.compute_capability >= build.minimum_compute_capability
    )
    if on_cuda and _registered(attention, CUDA_TYPES, build.cache_types):
        return Provider.CUDA
    if _registered(attention, CPU_TYPES, _CPU_CACHE_TYPES):
        return Provider.CPU
    body_types = _FP32_HALF if on_cuda else _FP32_FP16
    if attention.operator in ONNX_OPERATORS and attention.dtype in body_types:
        return Provider.INLINED
    return Provider.NOWHERE


def _registered(
    attention: AttentionInput,
    types: Mapping[Operator, frozenset[ElementType]],
    cache_types: frozenset[ElementType],
) -> bool:
    if attention.dtype not in types.get(attention.operator, frozenset()):
        return False
    if not attention.quantized_cache:
        return True
    return attention.operator in _CACHE_OPERATORS and attention.cache_dtype in cache_types
