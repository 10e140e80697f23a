"""Rules of the TensorRT kernels that ONNX Runtime carries as cubins: fused, flash and cross."""

from typing import Final

from spec.capability.attention_input import MaskKind, Packing
from spec.capability.attention_operator import Operator
from spec.capability.backend import Backend
from spec.capability.build import Provider
from spec.capability.element_type import ElementType
from spec.capability.gates import (
    REVISION,
    compiled,
    dispatched,
    equal_heads,
    head_sizes,
    heads_of,
    limits,
    masks,
    no_bias,
    no_cache,
    no_decoder_inputs,
    no_dropout,
    no_scores_output,
    not_causal,
    placed,
    sm_of,
    switched_on,
    types,
)
from spec.capability.rule import Case, Rule, rule

_FOLDER = "contrib_ops/cuda/bert/tensorrt_fused_multihead_attention"
_RUNNER = f"{_FOLDER}/mha_runner.cu, {REVISION}"
_FLASH_SOURCE = f"{_FOLDER}/flash_attention/fmha_flash_attention.h, {REVISION}"
_CROSS_SOURCE = f"{_FOLDER}/cross_attention/fmha_cross_attention.h, {REVISION}"
_ATTENTION = f"contrib_ops/cuda/bert/attention.cc, {REVISION}"
_MHA = f"contrib_ops/cuda/bert/multihead_attention.cc, {REVISION}"
_PACKED = f"contrib_ops/cuda/bert/packed_attention.cc, {REVISION}"

_CUDA = frozenset({Provider.CUDA})
_FLOAT16 = frozenset({ElementType.FLOAT16})
_MHA_ONLY = frozenset({Operator.MULTI_HEAD_ATTENTION})
_BERT = frozenset({Operator.ATTENTION, Operator.MULTI_HEAD_ATTENTION})
_RAGGED = frozenset({Operator.PACKED_ATTENTION, Operator.PACKED_MULTI_HEAD_ATTENTION})
_SELF = _BERT | _RAGGED

_VOLTA: Final = 70
_TURING: Final = 75
SELF_DEVICES: Final = frozenset({_VOLTA, _TURING, 80, 86, 89})
"""Compute capabilities that cubins exist for; Hopper and Blackwell have none."""
CROSS_DEVICES: Final = SELF_DEVICES - {_VOLTA}
FUSED_MAXIMUM_LENGTH: Final = 384
FLASH_HEAD_SIZES: Final = frozenset({16, 32, 40, 64, 80, 128, 160, 256})
CROSS_MAXIMUM_KEYS: Final = 128
_VOLTA_HEAD: Final = 64
_CROSS_MAXIMUM_HEAD: Final = 256


def _device(backend: Backend, devices: frozenset[int], source: str) -> Rule:
    listed = ", ".join(f"{sm // 10}.{sm % 10}" for sm in sorted(devices))
    return rule(
        backend,
        "compute_capability",
        f"compute capability exactly one of {listed}",
        source,
        holds=lambda case: case.hardware.sm in devices,
        got=sm_of,
    )


def _volta_head(backend: Backend, source: str) -> Rule:
    return rule(
        backend,
        "volta_head_size",
        "head size 64 on compute capability 7.0",
        source,
        holds=lambda case: case.hardware.sm != _VOLTA or case.attention.head_size == _VOLTA_HEAD,
        got=heads_of,
    )


def _self_attention(backend: Backend) -> tuple[Rule, ...]:
    """What both self-attention kernels require of the call."""
    source = f"{_ATTENTION}; {_MHA}"
    return (
        not_causal(backend, source, _BERT),
        masks(backend, frozenset({MaskKind.NONE, MaskKind.KEY_LENGTHS}), source, _BERT),
        no_bias(backend, f"{source}; {_PACKED}", _SELF),
        no_cache(backend, source, _BERT),
        no_decoder_inputs(backend, _MHA, _MHA_ONLY),
        no_scores_output(backend, _MHA, _MHA_ONLY),
        rule(
            backend,
            "self_attention",
            "as many queries as keys",
            _MHA,
            holds=lambda case: case.attention.query_length == case.attention.key_length,
            got=lambda case: (
                f"{case.attention.query_length} queries and {case.attention.key_length} keys"
            ),
            operators=_MHA_ONLY,
        ),
        rule(
            backend,
            "packing",
            "separate Q, K, V or all three packed",
            _MHA,
            holds=lambda case: case.attention.packing is not Packing.PACKED_KV,
            got=lambda case: case.attention.packing.value,
            operators=_MHA_ONLY,
        ),
        no_dropout(backend),
        *limits(backend),
    )


def _length(case: Case) -> str:
    return f"length {case.attention.query_length}"


_FUSED = Backend.TENSORRT_FUSED
TENSORRT_FUSED_RULES: Final[tuple[Rule, ...]] = (
    compiled(_FUSED),
    placed(_FUSED, _CUDA),
    dispatched(_FUSED),
    switched_on(_FUSED, "bit 4"),
    _device(_FUSED, SELF_DEVICES, _RUNNER),
    types(_FUSED, _FLOAT16, _RUNNER),
    head_sizes(_FUSED, "64 or 32", _RUNNER, lambda size: size in {32, 64}),
    equal_heads(_FUSED, _RUNNER),
    _volta_head(_FUSED, _RUNNER),
    rule(
        _FUSED,
        "length",
        f"at most {FUSED_MAXIMUM_LENGTH} tokens",
        _RUNNER,
        holds=lambda case: case.attention.query_length <= FUSED_MAXIMUM_LENGTH,
        got=_length,
    ),
    *_self_attention(_FUSED),
)

_FLASH = Backend.TENSORRT_FLASH
TENSORRT_FLASH_RULES: Final[tuple[Rule, ...]] = (
    compiled(_FLASH),
    placed(_FLASH, _CUDA),
    dispatched(_FLASH),
    switched_on(_FLASH, "bits 4 and 32"),
    _device(_FLASH, SELF_DEVICES, _FLASH_SOURCE),
    types(_FLASH, _FLOAT16, _FLASH_SOURCE),
    head_sizes(
        _FLASH,
        ", ".join(map(str, sorted(FLASH_HEAD_SIZES))),
        _FLASH_SOURCE,
        lambda size: size in FLASH_HEAD_SIZES,
    ),
    equal_heads(_FLASH, _FLASH_SOURCE),
    _volta_head(_FLASH, _FLASH_SOURCE),
    rule(
        _FLASH,
        "length",
        f"more than {FUSED_MAXIMUM_LENGTH} tokens",
        _FLASH_SOURCE,
        holds=lambda case: case.attention.query_length > FUSED_MAXIMUM_LENGTH,
        got=_length,
    ),
    *_self_attention(_FLASH),
)

_CROSS = Backend.TENSORRT_CROSS
TENSORRT_CROSS_RULES: Final[tuple[Rule, ...]] = (
    compiled(_CROSS),
    placed(_CROSS, _CUDA),
    dispatched(_CROSS),
    switched_on(_CROSS, "bit 64"),
    _device(_CROSS, CROSS_DEVICES, _CROSS_SOURCE),
    types(_CROSS, _FLOAT16, _CROSS_SOURCE),
    head_sizes(_CROSS, "1 to 256", _CROSS_SOURCE, lambda size: size <= _CROSS_MAXIMUM_HEAD),
    equal_heads(_CROSS, _MHA),
    rule(
        _CROSS,
        "turing_head_size",
        "head size up to 64 on compute capability 7.5",
        _CROSS_SOURCE,
        holds=lambda case: case.hardware.sm != _TURING or case.attention.head_size <= _VOLTA_HEAD,
        got=heads_of,
    ),
    rule(
        _CROSS,
        "key_length",
        f"at most {CROSS_MAXIMUM_KEYS} keys",
        _CROSS_SOURCE,
        holds=lambda case: case.attention.key_length <= CROSS_MAXIMUM_KEYS,
        got=lambda case: f"{case.attention.key_length} keys",
    ),
    not_causal(_CROSS, _MHA, _MHA_ONLY),
    masks(_CROSS, frozenset({MaskKind.NONE}), _MHA, _MHA_ONLY),
    no_bias(_CROSS, _MHA, _MHA_ONLY),
    no_cache(_CROSS, _MHA, _MHA_ONLY),
    no_decoder_inputs(_CROSS, _MHA, _MHA_ONLY),
    no_scores_output(_CROSS, _MHA, _MHA_ONLY),
    rule(
        _CROSS,
        "packing",
        "separate Q, K, V, or packed K and V without an input bias",
        _MHA,
        holds=lambda case: (
            case.attention.packing is Packing.SEPARATE
            or (case.attention.packing is Packing.PACKED_KV and not case.attention.input_bias)
        ),
        got=lambda case: f"{case.attention.packing.value}, input bias {case.attention.input_bias}",
        operators=_MHA_ONLY,
    ),
    no_dropout(_CROSS),
    *limits(_CROSS),
)
