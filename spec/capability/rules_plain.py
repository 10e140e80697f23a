"""Rules of the three-step kernel, the CPU's tiled kernel and Metal."""

from typing import Final

from spec.capability.attention_input import (
    CacheForm,
    Layout,
    MaskKind,
    Packing,
    ScoresOutput,
    Sink,
)
from spec.capability.attention_operator import ONNX_OPERATORS, Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import ElementType
from spec.capability.gates import (
    REVISION,
    compiled,
    dispatched,
    limits,
    names,
    native_cache,
    no_dropout,
    placed,
    types,
)
from spec.capability.hardware import DeviceKind
from spec.capability.rule import Case, Rule, rule
from spec.capability.rules_flash import plain_cpu_gqa

_UNFUSED = f"contrib_ops/cuda/bert/unfused_attention.h, {REVISION}"
_ONNX = f"core/providers/cuda/llm/attention.cc, {REVISION}"
_CPU_MHA = f"contrib_ops/cpu/bert/multihead_attention.cc, {REVISION}"
_CPU_GQA = f"contrib_ops/cpu/bert/gqa_attention_base.h, {REVISION}"

_GROUPED = frozenset({Operator.GROUP_QUERY_ATTENTION})
_MHA_ONLY = frozenset({Operator.MULTI_HEAD_ATTENTION})

_MATH = Backend.MATH
_WRITABLE_SCORES = frozenset({ScoresOutput.NONE, ScoresOutput.RAW})
MATH_RULES: Final[tuple[Rule, ...]] = (
    placed(_MATH, frozenset({Provider.CUDA, Provider.CPU, Provider.INLINED})),
    dispatched(_MATH),
    native_cache(_MATH, _UNFUSED, _GROUPED),
    rule(
        _MATH,
        "sink",
        "no smooth softmax or sink in GroupQueryAttention on CUDA",
        _UNFUSED,
        holds=lambda case: case.provider is not Provider.CUDA or case.attention.sink is Sink.NONE,
        got=lambda case: f"sink {case.attention.sink.value}",
        operators=_GROUPED,
    ),
    rule(
        _MATH,
        "scores_output",
        "no score matrix or the raw one, on CUDA",
        _ONNX,
        holds=lambda case: (
            case.provider is not Provider.CUDA or case.attention.scores_output in _WRITABLE_SCORES
        ),
        got=lambda case: f"scores output {case.attention.scores_output.value}",
        operators=ONNX_OPERATORS,
    ),
    *limits(_MATH),
)

_CPU = Backend.CPU


def _plain_multi_head(case: Case) -> bool:
    attention = case.attention
    return (
        not attention.causal
        and attention.mask is MaskKind.NONE
        and not attention.attention_bias
        and attention.cache is CacheForm.NONE
        and attention.scores_output is ScoresOutput.NONE
        and not attention.past_length_input
        and not attention.cache_indirection
    )


CPU_RULES: Final[tuple[Rule, ...]] = (
    compiled(_CPU),
    placed(_CPU, frozenset({Provider.CPU})),
    dispatched(_CPU),
    rule(
        _CPU,
        "switch",
        "ORT_DISABLE_FLASH_ATTENTION not set",
        _CPU_MHA,
        holds=lambda case: not case.build.switches.disable_flash_attention,
        got=lambda _case: "switched off by its environment variable",
        operators=_MHA_ONLY,
    ),
    rule(
        _CPU,
        "grouped_switch",
        "ORT_GQA_DISABLE_FLASH_ATTENTION not set",
        _CPU_GQA,
        holds=lambda case: not case.build.switches.gqa_disable_flash_attention,
        got=lambda _case: "switched off by its environment variable",
        operators=_GROUPED,
    ),
    types(_CPU, frozenset({ElementType.FLOAT32}), f"{_CPU_MHA}; {_CPU_GQA}"),
    rule(
        _CPU,
        "cache_size",
        "a known size of the L2 cache",
        _CPU_MHA,
        holds=lambda case: case.hardware.l2_cache_bytes > 0,
        got=lambda _case: "unknown",
    ),
    rule(
        _CPU,
        "layout",
        "separate token-first Q, K and V",
        _CPU_MHA,
        holds=lambda case: (
            case.attention.packing is Packing.SEPARATE and case.attention.layout is Layout.BSNH
        ),
        got=lambda case: f"{case.attention.packing.value}, {case.attention.layout.value}",
        operators=_MHA_ONLY,
    ),
    rule(
        _CPU,
        "plain",
        "not causal, no mask, bias, cache, decoder inputs or scores output",
        _CPU_MHA,
        holds=_plain_multi_head,
        got=lambda _case: "one of them",
        operators=_MHA_ONLY,
    ),
    rule(
        _CPU,
        "grouped_plain",
        "several queries, causal, present outputs, no softcap, sink or scores output",
        _CPU_GQA,
        holds=lambda case: case.attention.query_length > 1 and plain_cpu_gqa(case),
        got=lambda _case: "one of them missing or in the way",
        operators=_GROUPED,
    ),
    no_dropout(_CPU),
    *limits(_CPU),
)

_METAL = Backend.METAL
_METAL_TYPES = frozenset({ElementType.FLOAT32, ElementType.FLOAT16})
METAL_RULES: Final[tuple[Rule, ...]] = (
    compiled(_METAL, "no Metal attention kernel in ONNX Runtime up to 1.32; a custom build may"),
    rule(
        _METAL,
        "device",
        "an Apple GPU",
        "Metal runs on Apple devices",
        holds=lambda case: case.hardware.kind is DeviceKind.METAL,
        got=lambda case: case.hardware.kind.value,
    ),
    rule(
        _METAL,
        "type",
        names(_METAL_TYPES),
        "Metal Shading Language: half and float matrices",
        holds=lambda case: case.attention.dtype in _METAL_TYPES,
        got=lambda case: case.attention.dtype.value,
    ),
    no_dropout(_METAL),
    *limits(_METAL),
)
