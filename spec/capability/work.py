"""How much arithmetic one attention call needs, counted exactly from its shapes."""

from typing import assert_never

from spec.capability.attention_input import AttentionInput, CacheForm
from spec.capability.attention_operator import ONNX_OPERATORS
from spec.capability.backend import Backend

SOFTMAX_FLOPS_PER_SCORE = 5
"""Scale, subtract the maximum, exponential, add to the sum, divide: the usual convention."""


def causal_offset(attention: AttentionInput) -> int:
    """Query i sees key j iff j <= i + offset.

    ONNX Attention: the past length with a past, valid length minus S_q with an external cache,
    otherwise 0 (top left, also when S_q and S_kv differ). com.microsoft operators align the last
    query with the last key: S_kv - S_q.
    """
    if attention.operator in ONNX_OPERATORS and attention.cache is CacheForm.NONE:
        return 0
    return attention.key_length - attention.query_length


def visible_pairs(attention: AttentionInput) -> int:
    """Query-key pairs that are not hidden by causality, window or raggedness, over the whole batch.

    For one head. Padding masks, biases and boolean masks depend on values and hide nothing here,
    so this is the largest count that the shapes allow.
    """
    if attention.sequence_lengths:
        offset = causal_offset(attention)
        return sum(
            _pairs(attention, length, max(0, length + offset), offset)
            for length in attention.sequence_lengths
        )
    per_sequence = _pairs(
        attention, attention.query_length, attention.key_length, causal_offset(attention)
    )
    return attention.batch * per_sequence


def _pairs(attention: AttentionInput, queries: int, keys: int, offset: int) -> int:
    """Sum over the queries of the number of keys that each sees."""
    last = _sum_of_clamped(queries, offset + 1, keys) if attention.causal else queries * keys
    if attention.local_window == 0:
        return last
    hidden = _sum_of_clamped(queries, offset + 1 - attention.local_window, keys)
    return last - hidden


def _sum_of_clamped(count: int, start: int, limit: int) -> int:
    """Sum of min(max(i + start, 0), limit) for i = 0 .. count - 1, in closed form."""

    def sum_up_to(top: int) -> int:
        return top * (top + 1) // 2 if top > 0 else 0

    first, last = start, start + count - 1
    if first >= limit:
        return count * limit
    if last <= 0:
        return 0
    saturated = max(0, last - limit)
    return sum_up_to(min(last, limit)) - sum_up_to(first - 1) + saturated * limit


def needed_flops(attention: AttentionInput) -> int:
    """Floating point operations no kernel can avoid: N x pairs x (2 H + 2 H_v + 5).

    A multiply-add counts as two. The causal half counts as half, exactly: `pairs` are the visible
    ones (`visible_pairs`).
    """
    per_pair = 2 * attention.head_size + 2 * attention.value_head_size + SOFTMAX_FLOPS_PER_SCORE
    return attention.query_heads * visible_pairs(attention) * per_pair


def executed_flops(backend: Backend, attention: AttentionInput) -> int:
    """Operations the backend spends: the full rectangle where it doesn't skip hidden pairs.

    MATH and the TensorRT kernels compute every score of B x S_q x S_kv and hide some afterwards.
    The others skip tiles that are hidden altogether; the partly hidden tiles at the edge are not
    counted.
    """
    match backend:
        case (
            Backend.MATH | Backend.TENSORRT_FUSED | Backend.TENSORRT_FLASH | Backend.TENSORRT_CROSS
        ):
            scores = attention.batch * attention.query_length * attention.key_length
            per_pair = (
                2 * attention.head_size + 2 * attention.value_head_size + SOFTMAX_FLOPS_PER_SCORE
            )
            return attention.query_heads * scores * per_pair
        case (
            Backend.XQA
            | Backend.FLASH_DECODE
            | Backend.FLASH_ATTENTION_3
            | Backend.FLASH_ATTENTION_2
            | Backend.VARIABLE_LENGTH
            | Backend.CUDNN
            | Backend.DECODER_MASKED
            | Backend.LEAN
            | Backend.MEMORY_EFFICIENT
            | Backend.METAL
            | Backend.CPU
        ):
            return needed_flops(attention)
        case _:
            assert_never(backend)
