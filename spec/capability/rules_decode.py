"""Rules of the kernels for one query token: decoder-masked, XQA and lean."""

from typing import Final

from spec.capability.attention_input import CacheForm, Layout, MaskKind, Sink
from spec.capability.attention_operator import DECODER_MASKED_OPERATORS, Operator
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
    heads_of,
    limits,
    masks,
    no_bias,
    no_dropout,
    one_query,
    placed,
    sm_at_least,
    sm_of,
    switched_on,
    types,
)
from spec.capability.rule import Case, Rule, rule

_FT_SOURCE = f"contrib_ops/cuda/bert/decoder_masked_multihead_attention_impl.h, {REVISION}"
_SELF_SOURCE = f"contrib_ops/cuda/bert/decoder_masked_self_attention.cc, {REVISION}"
_MHA = f"contrib_ops/cuda/bert/multihead_attention.cc, {REVISION}"
_GQA = f"contrib_ops/cuda/bert/group_query_attention.cc, {REVISION}"
_PAGED = f"contrib_ops/cuda/bert/paged_attention.cc, {REVISION}"
_LEAN_SOURCE = f"contrib_ops/cuda/bert/lean_attention/lean_api.cc, {REVISION}"

_CUDA = frozenset({Provider.CUDA})
_MHA_ONLY = frozenset({Operator.MULTI_HEAD_ATTENTION})
_SELF_ONLY = frozenset({Operator.DECODER_MASKED_SELF_ATTENTION})
_CROSS_ONLY = frozenset({Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION})
_GROUPED = frozenset({Operator.GROUP_QUERY_ATTENTION})
_PAGED_ONLY = frozenset({Operator.PAGED_ATTENTION})

_DECODER = Backend.DECODER_MASKED
_DECODER_HEADS: Final = frozenset({32, 64, 128})


def _own_keys_shared(case: Case) -> bool:
    """A growing cache must be one buffer; cross attention brings heads-first keys and no cache."""
    attention = case.attention
    if attention.cache is CacheForm.NONE:
        return attention.layout is Layout.BNSH
    return attention.cache is CacheForm.SHARED_BUFFER and attention.past_length > 0


DECODER_MASKED_RULES: Final[tuple[Rule, ...]] = (
    compiled(_DECODER),
    placed(_DECODER, frozenset({Provider.CUDA, Provider.CPU})),
    dispatched(_DECODER),
    switched_on(_DECODER, "bit 512", _MHA_ONLY),
    rule(
        _DECODER,
        "cpu_switch",
        "ORT_DISABLE_DECODER_ATTENTION not set on the CPU",
        f"contrib_ops/cpu/bert/multihead_attention.cc, {REVISION}",
        holds=lambda case: (
            case.provider is not Provider.CPU or not case.build.switches.disable_decoder_attention
        ),
        got=lambda _case: "switched off by its environment variable",
        operators=_MHA_ONLY,
    ),
    types(_DECODER, frozenset({ElementType.FLOAT32, ElementType.FLOAT16}), _FT_SOURCE),
    rule(
        _DECODER,
        "head_size",
        "32, 64 or 128 on CUDA",
        _FT_SOURCE,
        holds=lambda case: (
            case.provider is not Provider.CUDA or case.attention.head_size in _DECODER_HEADS
        ),
        got=heads_of,
    ),
    equal_heads(_DECODER, _FT_SOURCE),
    one_query(_DECODER, _FT_SOURCE),
    rule(
        _DECODER,
        "decoder_inputs",
        "past_sequence_length and cache_indirection",
        _MHA,
        holds=lambda case: case.attention.past_length_input and case.attention.cache_indirection,
        got=lambda _case: "one of them absent",
        operators=_MHA_ONLY,
    ),
    rule(
        _DECODER,
        "keys",
        "past and present in one buffer with earlier tokens, or heads-first keys without a cache",
        _MHA,
        holds=_own_keys_shared,
        got=lambda case: (
            f"cache {case.attention.cache.value}, past {case.attention.past_length}, "
            f"layout {case.attention.layout.value}"
        ),
        operators=_MHA_ONLY,
    ),
    rule(
        _DECODER,
        "shared_buffer",
        "past and present in one buffer",
        _SELF_SOURCE,
        holds=lambda case: case.attention.cache is CacheForm.SHARED_BUFFER,
        got=lambda case: f"cache {case.attention.cache.value}",
        operators=_SELF_ONLY,
    ),
    no_bias(_DECODER, _SELF_SOURCE, _SELF_ONLY),
    rule(
        _DECODER,
        "beams",
        "cache_indirection where there is more than one beam",
        _FT_SOURCE,
        holds=lambda case: case.attention.beam_width == 1 or case.attention.cache_indirection,
        got=lambda case: f"{case.attention.beam_width} beams without it",
        operators=_CROSS_ONLY,
    ),
    masks(
        _DECODER,
        frozenset({MaskKind.NONE, MaskKind.PADDING}),
        _FT_SOURCE,
        DECODER_MASKED_OPERATORS | _MHA_ONLY,
    ),
    no_dropout(_DECODER),
    *limits(_DECODER),
)

_XQA = Backend.XQA
_XQA_HEADS: Final = frozenset({64, 128, 256})
_XQA_GROUPS: Final = frozenset({1, 2, 4, 5, 8, 16, 32})
_XQA_QUANTIZED_GROUPS: Final = frozenset({4, 8, 16, 32})
_XQA_CACHES: Final = HALF_TYPES | {ElementType.INT8, ElementType.FLOAT8_E4M3}
_ADA: Final = 89


def _group_fits(case: Case) -> bool:
    groups = _XQA_QUANTIZED_GROUPS if case.attention.quantized_cache else _XQA_GROUPS
    return case.attention.group_size in groups


XQA_RULES: Final[tuple[Rule, ...]] = (
    compiled(_XQA),
    placed(_XQA, _CUDA),
    dispatched(_XQA),
    rule(
        _XQA,
        "switch",
        "ORT_ENABLE_XQA not 0 (XQA has no bit in sdpa_kernel)",
        _GQA,
        holds=lambda case: case.build.switches.enable_xqa,
        got=lambda _case: "switched off by its environment variable",
    ),
    sm_at_least(_XQA, 80, _GQA),
    rule(
        _XQA,
        "causal",
        "causal",
        _GQA,
        holds=lambda case: case.attention.causal,
        got=lambda _case: "not causal",
    ),
    one_query(_XQA, _GQA),
    rule(
        _XQA,
        "first_prompt",
        "earlier tokens in the cache",
        _GQA,
        holds=lambda case: case.attention.past_length > 0,
        got=lambda _case: "a first prompt",
    ),
    rule(
        _XQA,
        "shared_buffer",
        "past and present in one buffer",
        _GQA,
        holds=lambda case: case.attention.cache is CacheForm.SHARED_BUFFER,
        got=lambda case: f"cache {case.attention.cache.value}",
        operators=_GROUPED,
    ),
    rule(
        _XQA,
        "softcap",
        "softcap 0",
        _GQA,
        holds=lambda case: case.attention.softcap == 0,
        got=lambda case: f"softcap {case.attention.softcap}",
    ),
    no_bias(_XQA, _GQA, _GROUPED),
    rule(
        _XQA,
        "sink",
        "no smooth softmax, or a head sink over a cache of the query's type",
        _GQA,
        holds=lambda case: (
            case.attention.sink is Sink.NONE
            or (case.attention.sink is Sink.HEAD_SINK and not case.attention.quantized_cache)
        ),
        got=lambda case: (
            f"sink {case.attention.sink.value}, cache {case.attention.cache_dtype.value}"
        ),
    ),
    head_sizes(_XQA, "64, 128 or 256", _GQA, lambda size: size in _XQA_HEADS),
    equal_heads(_XQA, _GQA),
    rule(
        _XQA,
        "cache_type",
        "a cache of the query's type, int8 or float8 e4m3",
        _GQA,
        holds=lambda case: case.attention.cache_dtype in _XQA_CACHES,
        got=lambda case: f"a {case.attention.cache_dtype.value} cache",
    ),
    rule(
        _XQA,
        "group",
        "1, 2, 4, 5, 8, 16 or 32 query heads per key head; 4, 8, 16 or 32 if quantized",
        _GQA,
        holds=_group_fits,
        got=lambda case: (
            f"{case.attention.group_size} per key head, cache {case.attention.cache_dtype.value}"
        ),
    ),
    rule(
        _XQA,
        "float8_device",
        "compute capability 8.9 or newer for a float8 cache",
        _GQA,
        holds=lambda case: (
            case.attention.cache_dtype is not ElementType.FLOAT8_E4M3 or case.hardware.sm >= _ADA
        ),
        got=sm_of,
    ),
    rule(
        _XQA,
        "qk_norm",
        "no query/key normalisation over a quantized cache",
        _GQA,
        holds=lambda case: not (case.attention.qk_norm and case.attention.quantized_cache),
        got=lambda _case: "both",
    ),
    rule(
        _XQA,
        "paged_native",
        "a quantized paged cache, or ORT_ENABLE_XQA_NATIVE_KV",
        _PAGED,
        holds=lambda case: (
            case.attention.quantized_cache or case.build.switches.enable_xqa_native_kv
        ),
        got=lambda _case: "a paged cache of the query's type",
        operators=_PAGED_ONLY,
    ),
    rule(
        _XQA,
        "shared_memory",
        "the kernel's shared memory within the device's opt-in limit, where both are known",
        _GQA,
        holds=lambda case: (
            case.hardware.shared_memory_per_block_bytes == 0
            or case.build.xqa_shared_memory_bytes <= case.hardware.shared_memory_per_block_bytes
        ),
        got=lambda case: (
            f"{case.build.xqa_shared_memory_bytes} bytes, device allows "
            f"{case.hardware.shared_memory_per_block_bytes}"
        ),
    ),
    no_dropout(_XQA),
    fixed_summation(_XQA),
    *limits(_XQA),
)

_LEAN = Backend.LEAN
_LEAN_HEADS: Final = frozenset({64, 128})
_LEAN_DEVICES: Final = range(80, 91)
LEAN_RULES: Final[tuple[Rule, ...]] = (
    compiled(_LEAN, "a compile option, off by default; no trace in the 1.31.1 wheel"),
    placed(_LEAN, _CUDA),
    dispatched(_LEAN),
    switched_on(_LEAN, "bit 256"),
    rule(
        _LEAN,
        "compute_capability",
        "compute capability 8.x or 9.0",
        _LEAN_SOURCE,
        holds=lambda case: case.hardware.sm in _LEAN_DEVICES,
        got=sm_of,
    ),
    types(_LEAN, frozenset({ElementType.FLOAT16}), _LEAN_SOURCE),
    head_sizes(_LEAN, "64 or 128", _LEAN_SOURCE, lambda size: size in _LEAN_HEADS),
    equal_heads(_LEAN, _LEAN_SOURCE),
    one_query(_LEAN, _MHA),
    rule(
        _LEAN,
        "first_prompt",
        "earlier tokens in the cache",
        _MHA,
        holds=lambda case: case.attention.past_length > 0,
        got=lambda _case: "no past",
    ),
    masks(_LEAN, frozenset({MaskKind.NONE}), _MHA, _MHA_ONLY),
    no_bias(_LEAN, _MHA, _MHA_ONLY),
    no_dropout(_LEAN),
    fixed_summation(_LEAN),
    *limits(_LEAN),
)
