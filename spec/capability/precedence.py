"""The order in which each operator tries its kernels, as data.

Source: onnxruntime contrib_ops/cuda/bert/{attention,multihead_attention,group_query_attention,
packed_attention,packed_multihead_attention,paged_attention}.cc, core/providers/cuda/llm/
attention.cc and contrib_ops/cpu/bert at 89b01b406c (2026-08-22); cuDNN's place in PagedAttention
from 1.31.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from attrs import frozen

from spec.capability.attention_operator import Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.kernel_options import CUDNN_AUTO_SM


@frozen
class Slot:
    """One try: the backend, on devices of this range of compute capabilities (10 major + minor)."""

    backend: Backend
    minimum_sm: int = 0
    maximum_sm: int = 999

    def covers(self, sm: int) -> bool:
        """Whether the operator makes this try on such a device."""
        return self.minimum_sm <= sm <= self.maximum_sm


def _slots(*backends: Backend) -> tuple[Slot, ...]:
    return tuple(Slot(backend) for backend in backends)


_B = Backend
_ONNX = _slots(_B.CUDNN, _B.FLASH_ATTENTION_2, _B.MEMORY_EFFICIENT, _B.MATH)

CUDA_PRECEDENCE: Final[Mapping[Operator, tuple[Slot, ...]]] = MappingProxyType(
    {
        Operator.ATTENTION: _slots(
            _B.CUDNN,
            _B.FLASH_ATTENTION_2,
            _B.TENSORRT_FLASH,
            _B.TENSORRT_FUSED,
            _B.MEMORY_EFFICIENT,
            _B.MATH,
        ),
        Operator.MULTI_HEAD_ATTENTION: (
            Slot(_B.DECODER_MASKED),
            Slot(_B.LEAN),
            Slot(_B.CUDNN, minimum_sm=CUDNN_AUTO_SM),
            Slot(_B.FLASH_ATTENTION_2),
            Slot(_B.CUDNN, maximum_sm=CUDNN_AUTO_SM - 1),
            Slot(_B.TENSORRT_CROSS),
            Slot(_B.TENSORRT_FLASH),
            Slot(_B.TENSORRT_FUSED),
            Slot(_B.MEMORY_EFFICIENT),
            Slot(_B.MATH),
        ),
        Operator.GROUP_QUERY_ATTENTION: _slots(
            _B.XQA,
            _B.CUDNN,
            _B.FLASH_DECODE,
            _B.FLASH_ATTENTION_2,
            _B.MEMORY_EFFICIENT,
            _B.MATH,
        ),
        Operator.PACKED_ATTENTION: _slots(
            _B.TENSORRT_FLASH, _B.TENSORRT_FUSED, _B.MEMORY_EFFICIENT, _B.MATH
        ),
        Operator.PACKED_MULTI_HEAD_ATTENTION: _slots(
            _B.VARIABLE_LENGTH,
            _B.TENSORRT_FLASH,
            _B.TENSORRT_FUSED,
            _B.MEMORY_EFFICIENT,
            _B.MATH,
        ),
        Operator.DECODER_MASKED_SELF_ATTENTION: _slots(_B.DECODER_MASKED),
        Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION: _slots(_B.DECODER_MASKED),
        Operator.PAGED_ATTENTION: _slots(
            _B.XQA, _B.CUDNN, _B.VARIABLE_LENGTH, _B.MEMORY_EFFICIENT, _B.FLASH_DECODE
        ),
        Operator.ONNX_ATTENTION_23: _ONNX,
        Operator.ONNX_ATTENTION_24: _ONNX,
    }
)
"""First slot first. The latent (MLA) kernel of PagedAttention is not modelled."""

CPU_PRECEDENCE: Final[Mapping[Operator, tuple[Slot, ...]]] = MappingProxyType(
    {
        Operator.ATTENTION: _slots(_B.MATH),
        Operator.MULTI_HEAD_ATTENTION: _slots(_B.DECODER_MASKED, _B.CPU, _B.MATH),
        Operator.GROUP_QUERY_ATTENTION: _slots(_B.FLASH_DECODE, _B.CPU, _B.MATH),
        Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION: _slots(_B.DECODER_MASKED),
        Operator.ONNX_ATTENTION_23: _slots(_B.MATH),
        Operator.ONNX_ATTENTION_24: _slots(_B.MATH),
    }
)

_INLINED = _slots(_B.MATH)


def precedence(operator: Operator, provider: Provider) -> tuple[Slot, ...]:
    """The operator's tries on that provider; an inlined body is plain MATH, nowhere has none."""
    if provider is Provider.CUDA:
        return CUDA_PRECEDENCE.get(operator, ())
    if provider is Provider.CPU:
        return CPU_PRECEDENCE.get(operator, ())
    return _INLINED if provider is Provider.INLINED else ()


def dispatches(operator: Operator, provider: Provider, backend: Backend) -> bool:
    """Whether the operator ever tries the backend on that provider."""
    return any(slot.backend is backend for slot in precedence(operator, provider))
