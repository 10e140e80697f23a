"""Attention calls, devices and builds that the capability vectors start from."""

from types import MappingProxyType
from typing import Final

from attrs import evolve

from conformance.vectors.questions.capability import Asked
from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Configuration,
    ElementType,
    Hardware,
    Layout,
    Operator,
    OrtBuild,
)

FP32, FP16, BF16 = ElementType.FLOAT32, ElementType.FLOAT16, ElementType.BFLOAT16
INT8, INT4, FP8 = ElementType.INT8, ElementType.INT4, ElementType.FLOAT8_E4M3
GPU: Final = GPU_WHEEL_1_31
CPU: Final = CPU_WHEEL_1_32
EVERYTHING: Final = evolve(
    GPU,
    compiled=frozenset(Backend),
    minimum_compute_capability=(5, 0),
    switches=evolve(GPU.switches, enable_lean_attention=True),
)
"""A build with every kernel, so that no rule hides behind another."""
WISHLESS: Final = Configuration()
A100, H100, T4, V100 = PRESETS["a100"], PRESETS["h100"], PRESETS["t4"], PRESETS["v100"]
L4, B200, RTX_5090 = PRESETS["l4"], PRESETS["b200"], PRESETS["rtx_5090"]
X86, M1 = PRESETS["x86_avx2"], PRESETS["apple_m1"]


def call(
    operator: Operator, queries: int, keys: int, dtype: ElementType = FP16, past: int = 0
) -> AttentionInput:
    """Return a plain call of 2 sequences with 8 heads of 64."""
    return AttentionInput(
        operator=operator,
        batch=2,
        query_heads=8,
        kv_heads=8,
        query_length=queries,
        key_length=keys,
        head_size=64,
        value_head_size=64,
        dtype=dtype,
        cache=CacheForm.SHARED_BUFFER if past else CacheForm.NONE,
        past_length=past,
    )


MHA: Final = call(Operator.MULTI_HEAD_ATTENTION, 512, 512)
BERT: Final = call(Operator.ATTENTION, 512, 512)
ONNX: Final = call(Operator.ONNX_ATTENTION_24, 512, 512)
PACKED: Final = call(Operator.PACKED_ATTENTION, 512, 512)
PACKED_MHA: Final = call(Operator.PACKED_MULTI_HEAD_ATTENTION, 512, 512)
GQA: Final = evolve(
    call(Operator.GROUP_QUERY_ATTENTION, 1, 512, past=511),
    kv_heads=2,
    causal=True,
    layout=Layout.BNSH,
)
QUANTIZED: Final = evolve(GQA, cache_dtype=INT8, cache_scale=CacheScale.PER_TENSOR)
PAGED: Final = evolve(
    GQA,
    operator=Operator.PAGED_ATTENTION,
    cache=CacheForm.PAGED,
    layout=Layout.BSNH,
    page_size=256,
    attention_metadata=True,
)
STEP: Final = evolve(
    call(Operator.MULTI_HEAD_ATTENTION, 1, 512, past=511),
    past_length_input=True,
    cache_indirection=True,
)
LEAN_STEP: Final = evolve(
    call(Operator.MULTI_HEAD_ATTENTION, 1, 512, past=511), cache=CacheForm.APPENDED
)
MASKED_SELF: Final = call(Operator.DECODER_MASKED_SELF_ATTENTION, 1, 512, past=511)
MASKED_MHA: Final = call(Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION, 1, 512)
EXTERNAL: Final = evolve(call(Operator.ONNX_ATTENTION_24, 1, 512), cache=CacheForm.EXTERNAL)
CPU_STEP: Final = evolve(GQA, dtype=FP32, cache_dtype=FP32)

_B = Backend


def _asked(attention: AttentionInput, hardware: Hardware, build: OrtBuild = EVERYTHING) -> Asked:
    return Asked(attention, hardware, WISHLESS, build)


RUNNABLE: Final = MappingProxyType(
    {
        _B.XQA: (
            _asked(GQA, A100),
            _asked(QUANTIZED, A100),
            _asked(evolve(QUANTIZED, cache_dtype=FP8), L4),
            _asked(evolve(PAGED, cache_dtype=INT8, cache_scale=CacheScale.PER_CHANNEL), A100),
        ),
        _B.FLASH_DECODE: (_asked(GQA, A100), _asked(CPU_STEP, X86, CPU)),
        _B.FLASH_ATTENTION_3: (_asked(MHA, H100),),
        _B.FLASH_ATTENTION_2: tuple(_asked(one, A100) for one in (MHA, BERT, GQA, ONNX)),
        _B.VARIABLE_LENGTH: (_asked(PACKED_MHA, A100), _asked(PAGED, A100)),
        _B.CUDNN: (
            _asked(MHA, A100),
            _asked(BERT, A100),
            _asked(GQA, H100),
            _asked(EXTERNAL, H100),
            _asked(PAGED, H100),
        ),
        _B.DECODER_MASKED: (
            _asked(STEP, A100),
            _asked(evolve(STEP, dtype=FP32, cache_dtype=FP32), X86, CPU),
            _asked(MASKED_SELF, A100),
            _asked(MASKED_MHA, A100),
        ),
        _B.LEAN: (_asked(LEAN_STEP, A100),),
        _B.TENSORRT_CROSS: (_asked(evolve(MHA, key_length=77), A100),),
        _B.TENSORRT_FUSED: (_asked(evolve(MHA, query_length=128, key_length=128), A100),),
        _B.TENSORRT_FLASH: (_asked(MHA, A100),),
        _B.MEMORY_EFFICIENT: tuple(_asked(one, T4) for one in (MHA, BERT, PACKED, GQA, ONNX)),
        _B.METAL: (_asked(MHA, M1),),
        _B.CPU: (
            _asked(call(Operator.MULTI_HEAD_ATTENTION, 512, 512, FP32), X86, CPU),
            _asked(evolve(CPU_STEP, query_length=512, past_length=0), X86, CPU),
        ),
        _B.MATH: (_asked(MHA, V100), _asked(GQA, T4), _asked(ONNX, A100)),
    }
)
"""Calls that a backend can run, the plain one first."""
