"""Rules of the FlashAttention family: 2, variable-length, split over keys, and 3."""

from typing import Final

from spec.capability.attention_input import CacheForm, MaskKind, Packing, ScoresOutput, Sink
from spec.capability.attention_operator import ONNX_OPERATORS, Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import HALF_TYPES, ElementType
from spec.capability.gates import (
    REVISION,
    compiled,
    dispatched,
    equal_heads,
    fixed_summation,
    head_sizes,
    limits,
    long_enough,
    masks,
    names,
    native_cache,
    no_bias,
    no_cache,
    no_decoder_inputs,
    no_dropout,
    no_scores_output,
    placed,
    sm_at_least,
    sm_of,
    switched_on,
    types,
)
from spec.capability.hardware import DeviceKind
from spec.capability.rule import Case, Rule, rule

_API = f"contrib_ops/cuda/bert/flash_attention/flash_api.cc, {REVISION}"
_ATTENTION = f"contrib_ops/cuda/bert/attention.cc, {REVISION}"
_MHA = f"contrib_ops/cuda/bert/multihead_attention.cc, {REVISION}"
_GQA = f"contrib_ops/cuda/bert/group_query_attention.cc, {REVISION}"
_PACKED = f"contrib_ops/cuda/bert/packed_multihead_attention.cc, {REVISION}"
_PAGED = f"contrib_ops/cuda/bert/paged_attention.cc, {REVISION}"
_ONNX = f"core/providers/cuda/llm/attention.cc, {REVISION}"
_CPU_GQA = f"contrib_ops/cpu/bert/group_query_attention.cc, {REVISION}"

_CUDA = frozenset({Provider.CUDA})
_PAGE_MULTIPLE: Final = 256
_MAXIMUM_HEAD: Final = 256
_AMPERE: Final = 80
_NO_MASK = frozenset({MaskKind.NONE})
_GROUPED = frozenset({Operator.GROUP_QUERY_ATTENTION})


def _multiple_of_8_to_256(size: int) -> bool:
    return size % 8 == 0 and size <= _MAXIMUM_HEAD


def _packed_and_short(case: Case) -> bool:
    packed = case.attention.operator is Operator.ATTENTION
    packed = packed or case.attention.packing is Packing.PACKED_QKV
    return packed and case.attention.query_length < case.options.minimum_flash_packed_length


def _packed_length(backend: Backend, operators: frozenset[Operator], source: str) -> Rule:
    return rule(
        backend,
        "packed_length",
        "packed input at least as long as the threshold (513 unless sdpa_kernel is set)",
        source,
        holds=lambda case: not _packed_and_short(case),
        got=lambda case: (
            f"packed input of length {case.attention.query_length}, threshold "
            f"{case.options.minimum_flash_packed_length}"
        ),
        operators=operators,
    )


def _aligned_causality(case: Case) -> bool:
    """Without a past the operator aligns the first query and key, the kernel the last ones."""
    attention = case.attention
    differs = attention.causal and attention.query_length != attention.key_length
    return not differs or attention.cache is not CacheForm.NONE


_FA2 = Backend.FLASH_ATTENTION_2
FLASH_ATTENTION_2_RULES: Final = (
    compiled(_FA2),
    placed(_FA2, _CUDA),
    dispatched(_FA2),
    switched_on(_FA2, "bit 1"),
    sm_at_least(_FA2, 80, _API),
    types(_FA2, HALF_TYPES, _API, {Operator.ATTENTION, *_GROUPED, *ONNX_OPERATORS}),
    types(
        _FA2,
        frozenset({ElementType.FLOAT16}),
        _MHA,
        {Operator.MULTI_HEAD_ATTENTION},
        "type_float16",
    ),
    head_sizes(_FA2, "multiples of 8 up to 256", _API, _multiple_of_8_to_256),
    equal_heads(_FA2, _API),
    masks(
        _FA2,
        _NO_MASK,
        f"{_ATTENTION}; {_MHA}; {_ONNX}",
        {Operator.ATTENTION, Operator.MULTI_HEAD_ATTENTION, *ONNX_OPERATORS},
    ),
    no_bias(
        _FA2,
        f"{_ATTENTION}; {_MHA}; {_GQA}",
        {Operator.ATTENTION, Operator.MULTI_HEAD_ATTENTION, *_GROUPED},
    ),
    no_cache(_FA2, _ATTENTION, {Operator.ATTENTION}),
    no_decoder_inputs(_FA2, _MHA, {Operator.MULTI_HEAD_ATTENTION}),
    no_scores_output(_FA2, f"{_MHA}; {_ONNX}", {Operator.MULTI_HEAD_ATTENTION, *ONNX_OPERATORS}),
    _packed_length(
        _FA2,
        frozenset({Operator.ATTENTION, Operator.MULTI_HEAD_ATTENTION}),
        f"{_ATTENTION}; {_MHA}",
    ),
    rule(
        _FA2,
        "causal_alignment",
        "S_q equal to S_kv, a past, or valid lengths when causal",
        _ONNX,
        holds=_aligned_causality,
        got=lambda case: (
            f"causal with {case.attention.query_length} queries and "
            f"{case.attention.key_length} keys, no cache"
        ),
        operators=ONNX_OPERATORS,
    ),
    no_dropout(_FA2),
    long_enough(_FA2),
    *limits(_FA2),
)

_VARLEN = Backend.VARIABLE_LENGTH
VARIABLE_LENGTH_RULES: Final = (
    compiled(_VARLEN),
    placed(_VARLEN, _CUDA),
    dispatched(_VARLEN),
    switched_on(_VARLEN, "bit 1"),
    sm_at_least(_VARLEN, 80, _API),
    types(_VARLEN, HALF_TYPES, _API),
    head_sizes(_VARLEN, "multiples of 8 up to 256", _API, _multiple_of_8_to_256),
    equal_heads(_VARLEN, _API),
    no_bias(_VARLEN, _PACKED, {Operator.PACKED_MULTI_HEAD_ATTENTION}),
    _packed_length(_VARLEN, frozenset({Operator.PACKED_MULTI_HEAD_ATTENTION}), _PACKED),
    rule(
        _VARLEN,
        "page_size",
        "pages of a multiple of 256 tokens",
        f"{_PAGED}; FlashAttention 2 paged cache",
        holds=lambda case: case.attention.page_size % _PAGE_MULTIPLE == 0,
        got=lambda case: f"pages of {case.attention.page_size} tokens",
        operators={Operator.PAGED_ATTENTION},
    ),
    no_dropout(_VARLEN),
    long_enough(_VARLEN),
    *limits(_VARLEN),
)


def _cuda_gqa(case: Case) -> bool:
    return (
        case.provider is Provider.CUDA and case.attention.operator is Operator.GROUP_QUERY_ATTENTION
    )


def _cpu(case: Case) -> bool:
    return case.provider is not Provider.CUDA


_DECODE = Backend.FLASH_DECODE
FLASH_DECODE_RULES: Final = (
    compiled(_DECODE),
    placed(_DECODE, frozenset({Provider.CUDA, Provider.CPU})),
    dispatched(_DECODE),
    switched_on(_DECODE, "bit 1"),
    rule(
        _DECODE,
        "switch",
        "ORT_DISABLE_FLASH_DECODE (CUDA) and ORT_GQA_DISABLE_FLASH_ATTENTION (CPU) not set",
        f"{_GQA}; {_CPU_GQA}",
        holds=lambda case: (
            not (
                case.build.switches.disable_flash_decode
                if case.provider is Provider.CUDA
                else case.build.switches.gqa_disable_flash_attention
            )
        ),
        got=lambda _case: "switched off by its environment variable",
        operators=_GROUPED,
    ),
    rule(
        _DECODE,
        "compute_capability",
        "compute capability 8.0 or newer on CUDA",
        _API,
        holds=lambda case: _cpu(case) or case.hardware.sm >= _AMPERE,
        got=sm_of,
        operators=_GROUPED,
    ),
    rule(
        _DECODE,
        "type",
        "float16 or bfloat16 on CUDA, float32 on the CPU",
        f"{_API}; {_CPU_GQA}",
        holds=lambda case: (
            case.kernel_type
            in (HALF_TYPES if case.provider is Provider.CUDA else {ElementType.FLOAT32})
        ),
        got=lambda case: f"{case.kernel_type.value} on {case.provider.value}",
    ),
    rule(
        _DECODE,
        "head_size",
        "multiples of 8 up to 256 on CUDA",
        _API,
        holds=lambda case: _cpu(case) or _multiple_of_8_to_256(case.attention.head_size),
        got=lambda case: f"head size {case.attention.head_size}",
        operators=_GROUPED,
    ),
    equal_heads(_DECODE, _API, _GROUPED),
    rule(
        _DECODE,
        "first_prompt",
        "earlier tokens in the cache",
        _GQA,
        holds=lambda case: case.attention.past_length > 0,
        got=lambda _case: "a first prompt",
        operators=_GROUPED,
    ),
    rule(
        _DECODE,
        "shared_buffer",
        "past and present in one buffer on CUDA, any cache on the CPU",
        f"{_GQA}; {_CPU_GQA}",
        holds=lambda case: not _cuda_gqa(case) or case.attention.cache is CacheForm.SHARED_BUFFER,
        got=lambda case: f"cache {case.attention.cache.value}",
        operators=_GROUPED,
    ),
    native_cache(_DECODE, _GQA, _GROUPED),
    rule(
        _DECODE,
        "attention_bias",
        "no bias on the scores on CUDA",
        _GQA,
        holds=lambda case: not (_cuda_gqa(case) and case.attention.attention_bias),
        got=lambda _case: "a bias on the scores",
        operators=_GROUPED,
    ),
    rule(
        _DECODE,
        "qk_norm",
        "no normalisation of Q and K in the operator on CUDA",
        _GQA,
        holds=lambda case: not (_cuda_gqa(case) and case.attention.qk_norm),
        got=lambda _case: "query and key normalisation",
        operators=_GROUPED,
    ),
    rule(
        _DECODE,
        "cpu_plain",
        "on the CPU one query token, causal, no softcap, sink or scores output",
        _CPU_GQA,
        holds=lambda case: (
            not _cpu(case) or (case.attention.query_length == 1 and plain_cpu_gqa(case))
        ),
        got=lambda _case: "several query tokens, not causal, softcap, sink or scores output",
        operators=_GROUPED,
    ),
    no_dropout(_DECODE),
    fixed_summation(_DECODE),
    *limits(_DECODE),
)


def plain_cpu_gqa(case: Case) -> bool:
    """What both fast paths of the CPU's GroupQueryAttention require beside their type."""
    attention = case.attention
    return (
        attention.causal
        and attention.key_length > 1
        and attention.softcap == 0
        and attention.sink is Sink.NONE
        and attention.scores_output is ScoresOutput.NONE
        and attention.cache is not CacheForm.NONE
    )


_FA3 = Backend.FLASH_ATTENTION_3
_FA3_PAPER = "FlashAttention-3 (Shah et al. 2024) and its hopper/ sources: WGMMA and TMA of SM 9.0"
_FA3_TYPES = HALF_TYPES | {ElementType.FLOAT8_E4M3}
_HOPPER: Final = 90
FLASH_ATTENTION_3_RULES: Final = (
    compiled(_FA3, "no FlashAttention 3 kernel in ONNX Runtime up to 1.32; a custom build may"),
    rule(
        _FA3,
        "device",
        "a CUDA device",
        _FA3_PAPER,
        holds=lambda case: case.hardware.kind is DeviceKind.CUDA,
        got=lambda case: case.hardware.kind.value,
    ),
    rule(
        _FA3,
        "compute_capability",
        "compute capability exactly 9.0 (Hopper)",
        _FA3_PAPER,
        holds=lambda case: case.hardware.sm == _HOPPER,
        got=sm_of,
    ),
    rule(
        _FA3,
        "type",
        names(_FA3_TYPES),
        _FA3_PAPER,
        holds=lambda case: case.attention.dtype in _FA3_TYPES,
        got=lambda case: case.attention.dtype.value,
    ),
    head_sizes(_FA3, "multiples of 8 up to 256", _FA3_PAPER, _multiple_of_8_to_256),
    masks(_FA3, _NO_MASK | {MaskKind.KEY_LENGTHS}, _FA3_PAPER, frozenset(Operator)),
    no_bias(_FA3, _FA3_PAPER, frozenset(Operator)),
    no_scores_output(_FA3, _FA3_PAPER, frozenset(Operator)),
    no_dropout(_FA3),
    long_enough(_FA3),
    *limits(_FA3),
)
