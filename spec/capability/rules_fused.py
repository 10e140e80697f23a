"""Rules of the cuDNN and the CUTLASS (memory-efficient) kernels."""

from typing import Final

from spec.capability.attention_input import CacheForm, Layout, MaskKind, ScoresOutput, Sink
from spec.capability.attention_operator import (
    EVERY_OPERATOR,
    ONNX_OPERATORS,
    RAGGED_OPERATORS,
    Operator,
)
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import HALF_TYPES, ElementType
from spec.capability.gates import (
    OPTIONS,
    REVISION,
    compiled,
    dispatched,
    equal_heads,
    head_sizes,
    limits,
    masks,
    native_cache,
    no_bias,
    no_cache,
    no_decoder_inputs,
    no_dropout,
    no_scores_output,
    placed,
    sm_at_least,
    switched_on,
    types,
)
from spec.capability.kernel_options import CUDNN_AUTO_SM
from spec.capability.rule import Case, Rule, rule

_CUDNN_SOURCE = f"contrib_ops/cuda/bert/cudnn_fmha/cudnn_flash_attention.cc, {REVISION}"
_MEA_SOURCE = f"contrib_ops/cuda/bert/cutlass_fmha/memory_efficient_attention.h, {REVISION}"
_ATTENTION = f"contrib_ops/cuda/bert/attention.cc, {REVISION}"
_MHA = f"contrib_ops/cuda/bert/multihead_attention.cc, {REVISION}"
_GQA = f"contrib_ops/cuda/bert/group_query_attention.cc, {REVISION}"
_PACKED = f"contrib_ops/cuda/bert/packed_multihead_attention.cc, {REVISION}"
_ONNX = f"core/providers/cuda/llm/attention.cc, {REVISION}"
_PAGED = "contrib_ops/cuda/bert/paged_attention.cc, messages in the 1.31.1 binary; PR 32493"

_CUDA = frozenset({Provider.CUDA})
_GROUPED = frozenset({Operator.GROUP_QUERY_ATTENTION})
_PAGED_ONLY = frozenset({Operator.PAGED_ATTENTION})
_BERT = frozenset({Operator.ATTENTION, Operator.MULTI_HEAD_ATTENTION})

CUDNN_SINCE: Final = {
    Operator.ATTENTION: (1, 29, 0),
    Operator.MULTI_HEAD_ATTENTION: (1, 28, 0),
    Operator.GROUP_QUERY_ATTENTION: (1, 28, 0),
    Operator.ONNX_ATTENTION_23: (1, 29, 0),
    Operator.ONNX_ATTENTION_24: (1, 29, 0),
    Operator.PAGED_ATTENTION: (1, 31, 0),
}
"""First release in which the operator's cuDNN path is the one described here.

Pull requests 28849, 29717, 29715 and 32493. MultiHeadAttention had a float16 path before 1.28, by
request only; the model counts from 1.28.
"""

_CUDNN = Backend.CUDNN
_CUDNN_MAXIMUM_HEAD: Final = 256
_EFFICIENT_MAXIMUM_HEAD: Final = 1024
_FIRST_STABLE = (9, 3, 0)
_UNSTABLE = frozenset({(9, 10, 0), (9, 10, 1)})
_FREE_LENGTHS = (9, 6, 0)
_LENGTH_MULTIPLE = 64
_PAGED_SINCE = (9, 5, 0)


def _wanted(case: Case) -> bool:
    """Switched on, or preferred unasked on a new device."""
    return case.options.allows(Backend.CUDNN) or (
        case.options.cudnn_auto and case.hardware.sm >= CUDNN_AUTO_SM
    )


def _lengths_fit(case: Case) -> bool:
    queries, keys = case.attention.query_length, case.attention.key_length
    if queries == keys or case.build.cudnn >= _FREE_LENGTHS:
        return True
    return queries % _LENGTH_MULTIPLE == 0 and keys % _LENGTH_MULTIPLE == 0


def _lengths(case: Case) -> str:
    return f"{case.attention.query_length} queries and {case.attention.key_length} keys"


def _version(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))


CUDNN_RULES: Final[tuple[Rule, ...]] = (
    compiled(_CUDNN),
    placed(_CUDNN, _CUDA),
    dispatched(_CUDNN),
    rule(
        _CUDNN,
        "ort_version",
        "ORT 1.28 (MultiHeadAttention, GroupQueryAttention), 1.29 (Attention), 1.31 (Paged)",
        "ORT pull requests 28849, 29717, 29715, 32493",
        holds=lambda case: case.build.version >= CUDNN_SINCE[case.attention.operator],
        got=lambda case: f"ORT {_version(case.build.version)}",
        operators=CUDNN_SINCE,
    ),
    rule(
        _CUDNN,
        "switched_on",
        "bit 8 in sdpa_kernel, or with sdpa_kernel 0 its variable on, or not off and SM 9.0+",
        OPTIONS,
        holds=_wanted,
        got=lambda case: f"sdpa_kernel {case.options.sdpa_kernel} on SM {case.hardware.sm}",
    ),
    rule(
        _CUDNN,
        "cudnn_version",
        "cuDNN 9.3 or newer, not 9.10.0 or 9.10.1",
        _CUDNN_SOURCE,
        holds=lambda case: case.build.cudnn >= _FIRST_STABLE and case.build.cudnn not in _UNSTABLE,
        got=lambda case: f"cuDNN {_version(case.build.cudnn)}",
    ),
    sm_at_least(_CUDNN, 80, _CUDNN_SOURCE),
    types(_CUDNN, HALF_TYPES, _CUDNN_SOURCE),
    head_sizes(
        _CUDNN,
        "multiples of 8 up to 256",
        _CUDNN_SOURCE,
        lambda size: size % 8 == 0 and size <= _CUDNN_MAXIMUM_HEAD,
    ),
    rule(
        _CUDNN,
        "causal_lengths",
        "no more queries than keys when causal with several queries",
        _CUDNN_SOURCE,
        holds=lambda case: (
            not case.attention.causal
            or case.attention.query_length == 1
            or case.attention.query_length <= case.attention.key_length
        ),
        got=_lengths,
    ),
    rule(
        _CUDNN,
        "length_multiples",
        "equal lengths, multiples of 64, or cuDNN 9.6",
        _CUDNN_SOURCE,
        holds=_lengths_fit,
        got=lambda case: f"{_lengths(case)} with cuDNN {_version(case.build.cudnn)}",
        operators=EVERY_OPERATOR - _PAGED_ONLY,
    ),
    masks(
        _CUDNN,
        frozenset({MaskKind.NONE, MaskKind.KEY_LENGTHS}),
        f"{_ATTENTION}; {_MHA}",
        _BERT,
    ),
    no_cache(_CUDNN, _ATTENTION, {Operator.ATTENTION}),
    rule(
        _CUDNN,
        "attention_bias",
        "no bias on the scores unless not causal, or S_q equal to S_kv",
        _MHA,
        holds=lambda case: (
            not case.attention.attention_bias
            or not case.attention.causal
            or case.attention.query_length == case.attention.key_length
        ),
        got=lambda case: f"a bias, causal, {_lengths(case)}",
        operators={Operator.MULTI_HEAD_ATTENTION},
    ),
    rule(
        _CUDNN,
        "grouped_plain",
        "no bias, softcap, sink or window",
        _GQA,
        holds=lambda case: (
            not case.attention.attention_bias
            and case.attention.softcap == 0
            and case.attention.sink is Sink.NONE
            and case.attention.local_window == 0
        ),
        got=lambda _case: "a bias, softcap, sink or window",
        operators=_GROUPED,
    ),
    native_cache(_CUDNN, _GQA, _GROUPED),
    rule(
        _CUDNN,
        "cache_layout",
        "a heads-first (BNSH) cache",
        _GQA,
        holds=lambda case: case.attention.layout is Layout.BNSH,
        got=lambda case: f"{case.attention.layout.value} cache",
        operators=_GROUPED,
    ),
    rule(
        _CUDNN,
        "onnx_decode",
        "one query over an external cache, without mask, softcap or scores output",
        _ONNX,
        holds=lambda case: (
            case.attention.cache is CacheForm.EXTERNAL
            and case.attention.query_length == 1
            and case.attention.mask is MaskKind.NONE
            and case.attention.softcap == 0
            and case.attention.scores_output is ScoresOutput.NONE
        ),
        got=lambda case: (
            f"cache {case.attention.cache.value}, {_lengths(case)}, "
            f"mask {case.attention.mask.value}, softcap {case.attention.softcap}"
        ),
        operators=ONNX_OPERATORS,
    ),
    rule(
        _CUDNN,
        "paged_decode",
        "cuDNN 9.5, compute capability 9.0, one query token and attention_metadata",
        _PAGED,
        holds=lambda case: (
            case.build.cudnn >= _PAGED_SINCE
            and case.hardware.sm >= CUDNN_AUTO_SM
            and case.attention.query_length == 1
            and case.attention.attention_metadata
        ),
        got=lambda case: (
            f"cuDNN {_version(case.build.cudnn)}, SM {case.hardware.sm}, "
            f"{case.attention.query_length} query tokens, "
            f"metadata {'given' if case.attention.attention_metadata else 'absent'}"
        ),
        operators=_PAGED_ONLY,
    ),
    no_dropout(_CUDNN),
    *limits(_CUDNN),
)

_MEA = Backend.MEMORY_EFFICIENT
_MINIMUM_SM: Final = {
    ElementType.FLOAT32: 50,
    ElementType.FLOAT16: 53,
    ElementType.BFLOAT16: 80,
}
_LENGTH_GATED: Final = {
    Operator.ATTENTION: frozenset({ElementType.FLOAT32}),
    Operator.MULTI_HEAD_ATTENTION: frozenset({ElementType.FLOAT32, ElementType.BFLOAT16}),
    Operator.PACKED_MULTI_HEAD_ATTENTION: frozenset({ElementType.FLOAT32}),
}
"""Types for which the operator wants long sequences: MultiHeadAttention exempts float16 alone."""


def _long_enough(case: Case) -> bool:
    attention = case.attention
    if attention.dtype not in _LENGTH_GATED.get(attention.operator, frozenset()):
        return True
    length = attention.query_length
    if attention.operator is Operator.MULTI_HEAD_ATTENTION:
        length = attention.longest
    return length >= case.options.minimum_efficient_fp32_length


def _bias_aligned(case: Case) -> bool:
    step = 4 * case.attention.dtype.bits // 8
    return not case.attention.attention_bias or case.attention.query_length % step == 0


def _equal_where_grouped(case: Case) -> bool:
    attention = case.attention
    plain = attention.group_size == 1 and attention.cache is not CacheForm.APPENDED
    return plain or attention.head_size == attention.value_head_size


MEMORY_EFFICIENT_RULES: Final[tuple[Rule, ...]] = (
    compiled(_MEA),
    placed(_MEA, _CUDA),
    dispatched(_MEA),
    switched_on(_MEA, "bit 2"),
    types(
        _MEA,
        frozenset({ElementType.FLOAT32, ElementType.FLOAT16}),
        _ATTENTION,
        {Operator.ATTENTION},
        "type_not_bfloat16",
    ),
    types(
        _MEA,
        frozenset({ElementType.FLOAT16}),
        f"contrib_ops/cuda/bert/packed_attention.cc, {REVISION}",
        {Operator.PACKED_ATTENTION},
        "type_float16",
    ),
    rule(
        _MEA,
        "compute_capability",
        "compute capability 5.0 for float32, 5.3 for float16, 8.0 for bfloat16",
        _MEA_SOURCE,
        holds=lambda case: case.hardware.sm >= _MINIMUM_SM[case.attention.dtype],
        got=lambda case: f"SM {case.hardware.sm} for {case.attention.dtype.value}",
    ),
    head_sizes(
        _MEA,
        "multiples of 8 up to 1024",
        _MEA_SOURCE,
        lambda size: size % 8 == 0 and size <= _EFFICIENT_MAXIMUM_HEAD,
    ),
    equal_heads(_MEA, _MEA_SOURCE, _GROUPED | _PAGED_ONLY),
    no_cache(_MEA, _ATTENTION, {Operator.ATTENTION}),
    masks(
        _MEA,
        frozenset({MaskKind.NONE, MaskKind.KEY_LENGTHS_AND_STARTS}),
        f"{_ATTENTION}; {_MHA}",
        _BERT,
    ),
    rule(
        _MEA,
        "length",
        "at least 256 (or the set minimum) for float32, and for bfloat16 in MultiHeadAttention",
        f"{_ATTENTION}; {_MHA}; {_PACKED}",
        holds=_long_enough,
        got=lambda case: (
            f"{_lengths(case)} of {case.attention.dtype.value}, minimum "
            f"{case.options.minimum_efficient_fp32_length}"
        ),
        operators=_LENGTH_GATED,
    ),
    rule(
        _MEA,
        "bias_alignment",
        "S_q a multiple of 4 times the element size where a bias is added",
        f"{_ATTENTION}; {_MHA}; {_PACKED}",
        holds=_bias_aligned,
        got=lambda case: f"a {case.attention.dtype.value} bias with {_lengths(case)}",
        operators=_BERT | RAGGED_OPERATORS - _PAGED_ONLY,
    ),
    no_decoder_inputs(_MEA, _MHA, {Operator.MULTI_HEAD_ATTENTION}),
    no_scores_output(_MEA, f"{_MHA}; {_ONNX}", {Operator.MULTI_HEAD_ATTENTION, *ONNX_OPERATORS}),
    no_bias(_MEA, _GQA, _GROUPED),
    native_cache(_MEA, _GQA, _GROUPED),
    rule(
        _MEA,
        "grouped_head_sizes",
        "head size of K equal to that of V with grouped heads or a past",
        _ONNX,
        holds=_equal_where_grouped,
        got=lambda case: (
            f"head sizes {case.attention.head_size} and "
            f"{case.attention.value_head_size}, group {case.attention.group_size}"
        ),
        operators=ONNX_OPERATORS,
    ),
    rule(
        _MEA,
        "grouped_float32",
        "no float32 with grouped heads",
        _ONNX,
        holds=lambda case: (
            case.attention.group_size == 1 or case.attention.dtype is not ElementType.FLOAT32
        ),
        got=lambda case: f"float32, group {case.attention.group_size}",
        operators=ONNX_OPERATORS,
    ),
    rule(
        _MEA,
        "mask_alignment",
        "S_kv a multiple of 4 where a mask is given",
        _ONNX,
        holds=lambda case: (
            case.attention.mask is MaskKind.NONE or case.attention.key_length % 4 == 0
        ),
        got=lambda case: f"mask {case.attention.mask.value} with {_lengths(case)}",
        operators=ONNX_OPERATORS,
    ),
    no_dropout(_MEA),
    *limits(_MEA),
)
