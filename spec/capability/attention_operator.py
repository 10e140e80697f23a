"""The attention operators of ONNX and of the com.microsoft domain."""

from enum import Enum
from typing import Final


class Operator(Enum):
    """An attention operator; the ONNX one counts once per opset that changes its kernels."""

    ATTENTION = "com.microsoft.Attention"
    MULTI_HEAD_ATTENTION = "com.microsoft.MultiHeadAttention"
    GROUP_QUERY_ATTENTION = "com.microsoft.GroupQueryAttention"
    PACKED_ATTENTION = "com.microsoft.PackedAttention"
    PACKED_MULTI_HEAD_ATTENTION = "com.microsoft.PackedMultiHeadAttention"
    DECODER_MASKED_SELF_ATTENTION = "com.microsoft.DecoderMaskedSelfAttention"
    DECODER_MASKED_MULTI_HEAD_ATTENTION = "com.microsoft.DecoderMaskedMultiHeadAttention"
    PAGED_ATTENTION = "com.microsoft.PagedAttention"
    ONNX_ATTENTION_23 = "Attention.23"
    ONNX_ATTENTION_24 = "Attention.24"
    ONNX_ATTENTION_25 = "Attention.25"
    """Opset 25 and newer, where windows were added and fused kernels are missing."""


EVERY_OPERATOR: Final = frozenset(Operator)

ONNX_OPERATORS: Final = frozenset(
    {Operator.ONNX_ATTENTION_23, Operator.ONNX_ATTENTION_24, Operator.ONNX_ATTENTION_25}
)
"""Operators whose schema has a function body, so that a missing kernel is inlined, not fatal."""

RAGGED_OPERATORS: Final = frozenset(
    {Operator.PACKED_ATTENTION, Operator.PACKED_MULTI_HEAD_ATTENTION, Operator.PAGED_ATTENTION}
)
"""Operators that take tokens without padding and the length of each sequence."""

DECODER_MASKED_OPERATORS: Final = frozenset(
    {Operator.DECODER_MASKED_SELF_ATTENTION, Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION}
)
"""Operators that have one kernel and nothing to fall back on."""
