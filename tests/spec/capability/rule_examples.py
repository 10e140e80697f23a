"""For every rule a call that keeps it and a twin that breaks it, and nothing asked before it."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

from attrs import AttrsInstance, evolve, field, fields, frozen

from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Case,
    Configuration,
    ElementType,
    Hardware,
    Layout,
    MaskKind,
    Operator,
    OrtBuild,
    Packing,
    ScoresOutput,
    Sink,
    case_of,
    sdpa_bits,
)

FP32, FP16, BF16 = ElementType.FLOAT32, ElementType.FLOAT16, ElementType.BFLOAT16
FP8 = ElementType.FLOAT8_E4M3
FULL_BUILD = evolve(
    GPU_WHEEL_1_31,
    compiled=frozenset(Backend),
    minimum_compute_capability=(5, 0),
    switches=evolve(GPU_WHEEL_1_31.switches, enable_lean_attention=True),
)
"""A build with every kernel, so that no rule hides behind another."""
CPU_BUILD = CPU_WHEEL_1_32
WISHES = Configuration()


@frozen
class Example:
    """One call with everything around it."""

    backend: Backend
    attention: AttentionInput
    hardware: Hardware
    build: OrtBuild = FULL_BUILD
    configuration: Configuration = WISHES
    sdpa_kernel: int = field()

    @sdpa_kernel.default
    def _own_bits(self) -> int:
        return sdpa_bits(self.backend, self.attention.operator)

    def case(self) -> Case:
        return case_of(
            self.attention, self.hardware, self.build, self.configuration, self.sdpa_kernel
        )


def call(
    operator: Operator, query_length: int, key_length: int, dtype: ElementType = FP16
) -> AttentionInput:
    return AttentionInput(
        operator=operator,
        batch=2,
        query_heads=8,
        kv_heads=8,
        query_length=query_length,
        key_length=key_length,
        head_size=64,
        value_head_size=64,
        dtype=dtype,
    )


MHA = call(Operator.MULTI_HEAD_ATTENTION, 512, 512)
BERT = call(Operator.ATTENTION, 512, 512)
ONNX = call(Operator.ONNX_ATTENTION_24, 512, 512)
PACKED = call(Operator.PACKED_ATTENTION, 512, 512)
PACKED_MHA = call(Operator.PACKED_MULTI_HEAD_ATTENTION, 512, 512)
GQA = evolve(
    call(Operator.GROUP_QUERY_ATTENTION, 1, 512),
    kv_heads=2,
    causal=True,
    cache=CacheForm.SHARED_BUFFER,
    past_length=511,
    layout=Layout.BNSH,
)
QUANTIZED = evolve(GQA, cache_dtype=ElementType.INT8, cache_scale=CacheScale.PER_TENSOR)
PAGED = evolve(
    GQA,
    operator=Operator.PAGED_ATTENTION,
    cache=CacheForm.PAGED,
    layout=Layout.BSNH,
    page_size=256,
    attention_metadata=True,
)
STEP = evolve(
    call(Operator.MULTI_HEAD_ATTENTION, 1, 512),
    cache=CacheForm.SHARED_BUFFER,
    past_length=511,
    past_length_input=True,
    cache_indirection=True,
)
LEAN_STEP = evolve(
    call(Operator.MULTI_HEAD_ATTENTION, 1, 512), cache=CacheForm.APPENDED, past_length=511
)
MASKED_SELF = evolve(
    call(Operator.DECODER_MASKED_SELF_ATTENTION, 1, 512),
    cache=CacheForm.SHARED_BUFFER,
    past_length=511,
)
MASKED_MHA = call(Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION, 1, 512)
EXTERNAL = evolve(call(Operator.ONNX_ATTENTION_24, 1, 512), cache=CacheForm.EXTERNAL)
CPU_MHA = call(Operator.MULTI_HEAD_ATTENTION, 512, 512, FP32)
CPU_STEP = evolve(GQA, dtype=FP32, cache_dtype=FP32)
CPU_PROMPT = evolve(CPU_STEP, query_length=512, past_length=0)
CPU_BEAM = evolve(STEP, dtype=FP32, cache_dtype=FP32)

A100, H100, T4, V100 = PRESETS["a100"], PRESETS["h100"], PRESETS["t4"], PRESETS["v100"]
AVX2, M1 = PRESETS["x86_avx2"], PRESETS["apple_m1"]

BASES: dict[str, Example] = {
    "xqa": Example(Backend.XQA, GQA, A100),
    "xqa_quantized": Example(Backend.XQA, QUANTIZED, A100),
    "xqa_float8": Example(Backend.XQA, evolve(QUANTIZED, cache_dtype=FP8), PRESETS["l4"]),
    "xqa_paged": Example(
        Backend.XQA,
        evolve(PAGED, cache_dtype=ElementType.INT8, cache_scale=CacheScale.PER_CHANNEL),
        A100,
    ),
    "flash_decode": Example(Backend.FLASH_DECODE, GQA, A100),
    "flash_decode_cpu": Example(Backend.FLASH_DECODE, CPU_STEP, AVX2, CPU_BUILD),
    "flash_attention_3": Example(Backend.FLASH_ATTENTION_3, MHA, H100),
    "flash_attention_2": Example(Backend.FLASH_ATTENTION_2, MHA, A100),
    "flash_attention_2_bert": Example(Backend.FLASH_ATTENTION_2, BERT, A100),
    "flash_attention_2_gqa": Example(Backend.FLASH_ATTENTION_2, GQA, A100),
    "flash_attention_2_onnx": Example(Backend.FLASH_ATTENTION_2, ONNX, A100),
    "variable_length": Example(Backend.VARIABLE_LENGTH, PACKED_MHA, A100),
    "variable_length_paged": Example(Backend.VARIABLE_LENGTH, PAGED, A100),
    "cudnn": Example(Backend.CUDNN, MHA, A100),
    "cudnn_bert": Example(Backend.CUDNN, BERT, A100),
    "cudnn_gqa": Example(Backend.CUDNN, GQA, H100),
    "cudnn_onnx": Example(Backend.CUDNN, EXTERNAL, H100),
    "cudnn_paged": Example(Backend.CUDNN, PAGED, H100),
    "decoder_masked": Example(Backend.DECODER_MASKED, STEP, A100),
    "decoder_masked_cpu": Example(Backend.DECODER_MASKED, CPU_BEAM, AVX2, CPU_BUILD),
    "decoder_masked_self": Example(Backend.DECODER_MASKED, MASKED_SELF, A100),
    "decoder_masked_mha": Example(Backend.DECODER_MASKED, MASKED_MHA, A100),
    "lean": Example(Backend.LEAN, LEAN_STEP, A100),
    "tensorrt_cross": Example(Backend.TENSORRT_CROSS, evolve(MHA, key_length=77), A100),
    "tensorrt_fused": Example(
        Backend.TENSORRT_FUSED, evolve(MHA, query_length=128, key_length=128), A100
    ),
    "tensorrt_flash": Example(Backend.TENSORRT_FLASH, MHA, A100),
    "memory_efficient": Example(Backend.MEMORY_EFFICIENT, MHA, T4),
    "memory_efficient_bert": Example(Backend.MEMORY_EFFICIENT, BERT, T4),
    "memory_efficient_packed": Example(Backend.MEMORY_EFFICIENT, PACKED, T4),
    "memory_efficient_gqa": Example(Backend.MEMORY_EFFICIENT, GQA, T4),
    "memory_efficient_onnx": Example(Backend.MEMORY_EFFICIENT, ONNX, T4),
    "metal": Example(Backend.METAL, evolve(MHA, dtype=FP16), M1),
    "cpu": Example(Backend.CPU, CPU_MHA, AVX2, CPU_BUILD),
    "cpu_gqa": Example(Backend.CPU, CPU_PROMPT, AVX2, CPU_BUILD),
    "math": Example(Backend.MATH, MHA, V100),
    "math_gqa": Example(Backend.MATH, GQA, T4),
    "math_onnx": Example(Backend.MATH, ONNX, A100),
}
"""Calls that the named backend can run; the first of each backend is its plain one."""


V = TypeVar("V", bound=AttrsInstance)


def changed(value: V, changes: Mapping[str, object]) -> V:
    """The value with some fields changed; its constructor checks them."""
    rebuild: Callable[..., V] = type(value)
    kept = {one.name: getattr(value, one.name) for one in fields(type(value))}
    return rebuild(**{**kept, **changes})


@frozen
class Twin:
    """What to change in a base so that one rule, and none before it, is broken."""

    base: str
    attention: dict[str, object] = field(factory=dict)
    hardware: Hardware | None = None
    build: dict[str, object] = field(factory=dict)
    switches: dict[str, object] = field(factory=dict)
    configuration: Configuration = WISHES
    sdpa_kernel: int | None = None

    def example(self) -> Example:
        base = BASES[self.base]
        switches = changed(base.build.switches, self.switches)
        return evolve(
            base,
            attention=changed(base.attention, self.attention),
            hardware=self.hardware or base.hardware,
            build=changed(evolve(base.build, switches=switches), self.build),
            configuration=self.configuration,
            sdpa_kernel=base.sdpa_kernel if self.sdpa_kernel is None else self.sdpa_kernel,
        )


BIAS: dict[str, object] = {"attention_bias": True}
SOFTCAP: dict[str, object] = {"softcap": Fraction(30)}
PADDING: dict[str, object] = {"mask": MaskKind.PADDING}
CAUSAL: dict[str, object] = {"causal": True}
SCORES: dict[str, object] = {"scores_output": ScoresOutput.RAW}
BEAMS: dict[str, object] = {"cache_indirection": True}
WIDE_V: dict[str, object] = {"value_head_size": 128}
APPENDED: dict[str, object] = {"cache": CacheForm.APPENDED}
PROMPT: dict[str, object] = {"cache": CacheForm.APPENDED, "past_length": 0}
FLOAT32: dict[str, object] = {"dtype": FP32, "cache_dtype": FP32}
BFLOAT16: dict[str, object] = {"dtype": BF16, "cache_dtype": BF16}
FLOAT16: dict[str, object] = {"dtype": FP16, "cache_dtype": FP16}
AS_PACKED: dict[str, object] = {"operator": Operator.PACKED_ATTENTION}
AS_MHA: dict[str, object] = {"operator": Operator.MULTI_HEAD_ATTENTION}
HEAD_60: dict[str, object] = {"head_size": 60, "value_head_size": 60}
TWO_STEPS: dict[str, object] = {"query_length": 2, "past_length": 510}
INT8_CACHE: dict[str, object] = {
    "cache_dtype": ElementType.INT8,
    "cache_scale": CacheScale.PER_TENSOR,
}
OFF = 16
"""The option that leaves only MATH switched on."""

TWINS: dict[str, Twin] = {
    "xqa:placed": Twin("xqa", hardware=AVX2),
    "xqa:dispatched": Twin("xqa", AS_MHA),
    "xqa:switch": Twin("xqa", switches={"enable_xqa": False}),
    "xqa:compute_capability": Twin("xqa", hardware=T4),
    "xqa:causal": Twin("xqa", {"causal": False}),
    "xqa:one_query": Twin("xqa", TWO_STEPS),
    "xqa:first_prompt": Twin("xqa", {"past_length": 0, "key_length": 1}),
    "xqa:shared_buffer": Twin("xqa", APPENDED),
    "xqa:softcap": Twin("xqa", SOFTCAP),
    "xqa:attention_bias": Twin("xqa", BIAS),
    "xqa:sink": Twin("xqa_quantized", {"sink": Sink.HEAD_SINK}),
    "xqa:head_size": Twin("xqa", {"head_size": 96, "value_head_size": 96}),
    "xqa:equal_head_sizes": Twin("xqa", WIDE_V),
    "xqa:cache_type": Twin("xqa_quantized", {"cache_dtype": ElementType.INT4}),
    "xqa:group": Twin("xqa_quantized", {"kv_heads": 4}),
    "xqa:float8_device": Twin("xqa_float8", hardware=A100),
    "xqa:qk_norm": Twin("xqa_quantized", {"qk_norm": True}),
    "xqa:paged_native": Twin("xqa_paged", {"cache_dtype": FP16, "cache_scale": CacheScale.NONE}),
    "xqa:shared_memory": Twin(
        "xqa", hardware=PRESETS["rtx_5090"], build={"xqa_shared_memory_bytes": 140 * 1024}
    ),
    "flash_decode:placed": Twin("flash_decode_cpu", BFLOAT16),
    "flash_decode:dispatched": Twin("flash_decode", AS_MHA),
    "flash_decode:switched_on": Twin("flash_decode", sdpa_kernel=OFF),
    "flash_decode:switch": Twin("flash_decode", switches={"disable_flash_decode": True}),
    "flash_decode:compute_capability": Twin("flash_decode", hardware=T4),
    "flash_decode:type": Twin("flash_decode_cpu", FLOAT16),
    "flash_decode:head_size": Twin("flash_decode", HEAD_60),
    "flash_decode:equal_head_sizes": Twin("flash_decode", WIDE_V),
    "flash_decode:first_prompt": Twin("flash_decode", {"past_length": 0, "key_length": 1}),
    "flash_decode:shared_buffer": Twin("flash_decode", APPENDED),
    "flash_decode:quantized_cache": Twin("flash_decode", INT8_CACHE),
    "flash_decode:attention_bias": Twin("flash_decode", BIAS),
    "flash_decode:qk_norm": Twin("flash_decode", {"qk_norm": True}),
    "flash_decode:cpu_plain": Twin("flash_decode_cpu", SOFTCAP),
    "flash_attention_3:device": Twin("flash_attention_3", hardware=AVX2),
    "flash_attention_3:compute_capability": Twin("flash_attention_3", hardware=PRESETS["b200"]),
    "flash_attention_3:type": Twin("flash_attention_3", FLOAT32),
    "flash_attention_3:head_size": Twin("flash_attention_3", HEAD_60),
    "flash_attention_3:mask": Twin("flash_attention_3", PADDING),
    "flash_attention_3:attention_bias": Twin("flash_attention_3", BIAS),
    "flash_attention_3:scores_output": Twin("flash_attention_3", SCORES),
    "flash_attention_2:placed": Twin("flash_attention_2", hardware=AVX2),
    "flash_attention_2:dispatched": Twin("flash_attention_2", AS_PACKED),
    "flash_attention_2:switched_on": Twin("flash_attention_2", sdpa_kernel=OFF),
    "flash_attention_2:compute_capability": Twin("flash_attention_2", hardware=T4),
    "flash_attention_2:type": Twin("flash_attention_2_bert", FLOAT32),
    "flash_attention_2:type_float16": Twin("flash_attention_2", BFLOAT16),
    "flash_attention_2:head_size": Twin("flash_attention_2", HEAD_60),
    "flash_attention_2:equal_head_sizes": Twin("flash_attention_2", WIDE_V),
    "flash_attention_2:mask": Twin("flash_attention_2", PADDING),
    "flash_attention_2:attention_bias": Twin("flash_attention_2_gqa", BIAS),
    "flash_attention_2:cache": Twin("flash_attention_2_bert", PROMPT),
    "flash_attention_2:decoder_inputs": Twin("flash_attention_2", BEAMS),
    "flash_attention_2:scores_output": Twin("flash_attention_2_onnx", SCORES),
    "flash_attention_2:packed_length": Twin(
        "flash_attention_2", {"packing": Packing.PACKED_QKV}, sdpa_kernel=0
    ),
    "flash_attention_2:causal_alignment": Twin(
        "flash_attention_2_onnx", {"causal": True, "query_length": 100}
    ),
    "variable_length:placed": Twin("variable_length", hardware=AVX2),
    "variable_length:dispatched": Twin("variable_length", AS_PACKED),
    "variable_length:switched_on": Twin("variable_length", sdpa_kernel=OFF),
    "variable_length:compute_capability": Twin("variable_length", hardware=T4),
    "variable_length:type": Twin("variable_length", FLOAT32),
    "variable_length:head_size": Twin("variable_length", HEAD_60),
    "variable_length:equal_head_sizes": Twin("variable_length", WIDE_V),
    "variable_length:attention_bias": Twin("variable_length", BIAS),
    "variable_length:packed_length": Twin(
        "variable_length", {"packing": Packing.PACKED_QKV}, sdpa_kernel=0
    ),
    "variable_length:page_size": Twin("variable_length_paged", {"page_size": 16}),
    "cudnn:placed": Twin("cudnn", hardware=AVX2),
    "cudnn:dispatched": Twin("cudnn", AS_PACKED),
    "cudnn:ort_version": Twin("cudnn", build={"version": (1, 27, 0)}),
    "cudnn:switched_on": Twin("cudnn", sdpa_kernel=0),
    "cudnn:cudnn_version": Twin("cudnn", build={"cudnn": (9, 10, 1)}),
    "cudnn:compute_capability": Twin("cudnn", hardware=T4),
    "cudnn:type": Twin("cudnn", FLOAT32),
    "cudnn:head_size": Twin("cudnn", HEAD_60),
    "cudnn:causal_lengths": Twin("cudnn", {"causal": True, "key_length": 256}),
    "cudnn:length_multiples": Twin("cudnn", {"key_length": 100}, build={"cudnn": (9, 5, 0)}),
    "cudnn:mask": Twin("cudnn", PADDING),
    "cudnn:cache": Twin("cudnn_bert", PROMPT),
    "cudnn:attention_bias": Twin(
        "cudnn", {"attention_bias": True, "causal": True, "query_length": 64}
    ),
    "cudnn:grouped_plain": Twin("cudnn_gqa", {"local_window": 128}),
    "cudnn:quantized_cache": Twin("cudnn_gqa", INT8_CACHE),
    "cudnn:cache_layout": Twin("cudnn_gqa", {"layout": Layout.BSNH}),
    "cudnn:onnx_decode": Twin("cudnn_onnx", {"mask": MaskKind.BOOLEAN}),
    "cudnn:paged_decode": Twin("cudnn_paged", {"attention_metadata": False}),
    "decoder_masked:placed": Twin("decoder_masked_cpu", BFLOAT16),
    "decoder_masked:dispatched": Twin(
        "decoder_masked", {"operator": Operator.GROUP_QUERY_ATTENTION}
    ),
    "decoder_masked:switched_on": Twin("decoder_masked", sdpa_kernel=OFF),
    "decoder_masked:cpu_switch": Twin(
        "decoder_masked_cpu", switches={"disable_decoder_attention": True}
    ),
    "decoder_masked:type": Twin("decoder_masked", BFLOAT16),
    "decoder_masked:head_size": Twin("decoder_masked", HEAD_60),
    "decoder_masked:equal_head_sizes": Twin("decoder_masked", WIDE_V),
    "decoder_masked:one_query": Twin("decoder_masked", TWO_STEPS),
    "decoder_masked:decoder_inputs": Twin("decoder_masked", {"past_length_input": False}),
    "decoder_masked:keys": Twin("decoder_masked", APPENDED),
    "decoder_masked:shared_buffer": Twin("decoder_masked_self", APPENDED),
    "decoder_masked:attention_bias": Twin("decoder_masked_self", BIAS),
    "decoder_masked:beams": Twin("decoder_masked_mha", {"beam_width": 4}),
    "decoder_masked:mask": Twin("decoder_masked", {"mask": MaskKind.PER_QUERY}),
    "lean:placed": Twin("lean", hardware=AVX2),
    "lean:dispatched": Twin("lean", {"operator": Operator.GROUP_QUERY_ATTENTION}),
    "lean:switched_on": Twin("lean", sdpa_kernel=OFF),
    "lean:compute_capability": Twin("lean", hardware=T4),
    "lean:type": Twin("lean", FLOAT32),
    "lean:head_size": Twin("lean", HEAD_60),
    "lean:equal_head_sizes": Twin("lean", WIDE_V),
    "lean:one_query": Twin("lean", TWO_STEPS),
    "lean:first_prompt": Twin("lean", {"past_length": 0, "key_length": 1}),
    "lean:mask": Twin("lean", PADDING),
    "lean:attention_bias": Twin("lean", BIAS),
    "tensorrt_cross:placed": Twin("tensorrt_cross", hardware=AVX2),
    "tensorrt_cross:dispatched": Twin("tensorrt_cross", AS_PACKED),
    "tensorrt_cross:switched_on": Twin("tensorrt_cross", sdpa_kernel=OFF),
    "tensorrt_cross:compute_capability": Twin("tensorrt_cross", hardware=H100),
    "tensorrt_cross:type": Twin("tensorrt_cross", FLOAT32),
    "tensorrt_cross:head_size": Twin("tensorrt_cross", {"head_size": 264, "value_head_size": 264}),
    "tensorrt_cross:equal_head_sizes": Twin("tensorrt_cross", WIDE_V),
    "tensorrt_cross:turing_head_size": Twin(
        "tensorrt_cross", {"head_size": 80, "value_head_size": 80}, hardware=T4
    ),
    "tensorrt_cross:key_length": Twin("tensorrt_cross", {"key_length": 129}),
    "tensorrt_cross:causal": Twin("tensorrt_cross", CAUSAL),
    "tensorrt_cross:mask": Twin("tensorrt_cross", {"mask": MaskKind.KEY_LENGTHS}),
    "tensorrt_cross:attention_bias": Twin("tensorrt_cross", BIAS),
    "tensorrt_cross:cache": Twin(
        "tensorrt_cross", {"cache": CacheForm.APPENDED, "query_length": 77}
    ),
    "tensorrt_cross:decoder_inputs": Twin("tensorrt_cross", BEAMS),
    "tensorrt_cross:scores_output": Twin("tensorrt_cross", SCORES),
    "tensorrt_cross:packing": Twin(
        "tensorrt_cross", {"packing": Packing.PACKED_KV, "input_bias": True}
    ),
    "tensorrt_fused:length": Twin("tensorrt_fused", {"query_length": 385, "key_length": 385}),
    "tensorrt_fused:head_size": Twin("tensorrt_fused", {"head_size": 128, "value_head_size": 128}),
    "tensorrt_fused:equal_head_sizes": Twin("tensorrt_fused", {"value_head_size": 32}),
    "tensorrt_fused:volta_head_size": Twin(
        "tensorrt_fused", {"head_size": 32, "value_head_size": 32}, hardware=V100
    ),
    "tensorrt_flash:length": Twin("tensorrt_flash", {"query_length": 384, "key_length": 384}),
    "tensorrt_flash:head_size": Twin("tensorrt_flash", {"head_size": 96, "value_head_size": 96}),
    "tensorrt_flash:equal_head_sizes": Twin("tensorrt_flash", WIDE_V),
    "tensorrt_flash:volta_head_size": Twin(
        "tensorrt_flash", {"head_size": 128, "value_head_size": 128}, hardware=V100
    ),
    **{
        f"{name}:{condition}": twin
        for name in ("tensorrt_fused", "tensorrt_flash")
        for condition, twin in {
            "placed": Twin(name, hardware=AVX2),
            "dispatched": Twin(name, {"operator": Operator.GROUP_QUERY_ATTENTION}),
            "switched_on": Twin(name, sdpa_kernel=32),
            "compute_capability": Twin(name, hardware=H100),
            "type": Twin(name, FLOAT32),
            "causal": Twin(name, CAUSAL),
            "mask": Twin(name, PADDING),
            "attention_bias": Twin(name, BIAS),
            "cache": Twin(name, PROMPT),
            "decoder_inputs": Twin(name, BEAMS),
            "scores_output": Twin(name, SCORES),
            "self_attention": Twin(name, {"key_length": 64}),
            "packing": Twin(name, {"packing": Packing.PACKED_KV}),
        }.items()
    },
    "memory_efficient:placed": Twin("memory_efficient", hardware=AVX2),
    "memory_efficient:dispatched": Twin(
        "memory_efficient", {"operator": Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION}
    ),
    "memory_efficient:switched_on": Twin("memory_efficient", sdpa_kernel=OFF),
    "memory_efficient:type_not_bfloat16": Twin("memory_efficient_bert", BFLOAT16, hardware=A100),
    "memory_efficient:type_float16": Twin("memory_efficient_packed", FLOAT32),
    "memory_efficient:compute_capability": Twin("memory_efficient", BFLOAT16),
    "memory_efficient:head_size": Twin("memory_efficient", HEAD_60),
    "memory_efficient:equal_head_sizes": Twin("memory_efficient_gqa", WIDE_V),
    "memory_efficient:cache": Twin("memory_efficient_bert", PROMPT),
    "memory_efficient:mask": Twin("memory_efficient", {"mask": MaskKind.KEY_LENGTHS}),
    "memory_efficient:length": Twin(
        "memory_efficient",
        {"dtype": FP32, "cache_dtype": FP32, "query_length": 128, "key_length": 128},
        sdpa_kernel=0,
    ),
    "memory_efficient:bias_alignment": Twin(
        "memory_efficient", {"attention_bias": True, "query_length": 100}
    ),
    "memory_efficient:decoder_inputs": Twin("memory_efficient", BEAMS),
    "memory_efficient:scores_output": Twin("memory_efficient_onnx", SCORES),
    "memory_efficient:attention_bias": Twin("memory_efficient_gqa", BIAS),
    "memory_efficient:quantized_cache": Twin("memory_efficient_gqa", INT8_CACHE),
    "memory_efficient:grouped_head_sizes": Twin(
        "memory_efficient_onnx", {"kv_heads": 2, "value_head_size": 128}
    ),
    "memory_efficient:grouped_float32": Twin(
        "memory_efficient_onnx", {"dtype": FP32, "cache_dtype": FP32, "kv_heads": 2}
    ),
    "memory_efficient:mask_alignment": Twin(
        "memory_efficient_onnx", {"mask": MaskKind.BOOLEAN, "key_length": 510}
    ),
    "metal:device": Twin("metal", hardware=AVX2),
    "metal:type": Twin("metal", BFLOAT16),
    "cpu:placed": Twin("cpu", hardware=A100, build={"providers": FULL_BUILD.providers}),
    "cpu:dispatched": Twin("cpu", {"operator": Operator.ATTENTION}),
    "cpu:switch": Twin("cpu", switches={"disable_flash_attention": True}),
    "cpu:grouped_switch": Twin("cpu_gqa", switches={"gqa_disable_flash_attention": True}),
    "cpu:type": Twin("cpu_gqa", FLOAT16),
    "cpu:cache_size": Twin("cpu", hardware=evolve(AVX2, l2_cache_bytes=0)),
    "cpu:layout": Twin("cpu", {"layout": Layout.BNSH}),
    "cpu:plain": Twin("cpu", CAUSAL),
    "cpu:grouped_plain": Twin("cpu_gqa", {"query_length": 1, "past_length": 511}),
    "math:placed": Twin("math", BFLOAT16, hardware=AVX2),
    "math:dispatched": Twin("math", {"operator": Operator.DECODER_MASKED_MULTI_HEAD_ATTENTION}),
    "math:quantized_cache": Twin("math_gqa", INT8_CACHE),
    "math:sink": Twin("math_gqa", {"sink": Sink.SMOOTH}),
    "math:scores_output": Twin("math_onnx", {"scores_output": ScoresOutput.PROBABILITIES}),
    **{
        f"{backend.value}:{condition}": twin
        for backend in Backend
        for condition, twin in {
            "compiled": Twin(
                backend.value,
                build={"compiled": BASES[backend.value].build.compiled - {backend}},
            )
            if backend is not Backend.MATH
            else Twin("math"),
            "dropout": Twin(backend.value, {"dropout": Fraction(1, 10)}),
            "disabled": Twin(
                backend.value,
                configuration=Configuration(disabled=frozenset({backend} - {Backend.MATH})),
            ),
            "memory_budget": Twin(
                backend.value, configuration=Configuration(memory_budget_bytes=1)
            ),
            "deterministic": Twin(backend.value, configuration=Configuration(deterministic=True)),
            "minimum_flash_length": Twin(
                backend.value, configuration=Configuration(minimum_flash_length=513)
            ),
        }.items()
    },
}
"""Twins by rule id. Conditions that every backend could have are listed for all of them."""
