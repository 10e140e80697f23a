"""Where each numeric condition begins and ends (C7)."""

from fractions import Fraction

import pytest

from spec.capability import (
    PRESETS,
    RULES,
    CacheForm,
    CacheScale,
    ElementType,
    Layout,
    MaskKind,
    Operator,
    Packing,
    ScoresOutput,
    Sink,
)
from spec.capability.rule import first_broken
from tests.spec.capability.rule_examples import (
    AVX2,
    BFLOAT16,
    FLOAT16,
    FLOAT32,
    H100,
    T4,
    V100,
    Twin,
)


def heads(size: int) -> dict[str, object]:
    return {"head_size": size, "value_head_size": size}


def lengths(queries: int, keys: int) -> dict[str, object]:
    return {"query_length": queries, "key_length": keys}


def group(size: int) -> dict[str, object]:
    return {"query_heads": 2 * size, "kv_heads": 2}


KEEPS = (
    Twin("flash_attention_2", heads(8)),
    Twin("flash_attention_2", heads(40)),
    Twin("flash_attention_2", heads(96)),
    Twin("flash_attention_2", heads(256)),
    Twin("flash_attention_2_gqa", {"softcap": Fraction(30), "sink": Sink.HEAD_SINK}),
    Twin("flash_attention_2_gqa", BFLOAT16),
    Twin("flash_attention_2_bert", BFLOAT16),
    Twin("flash_attention_2_bert", {"query_length": 513, "key_length": 513}, sdpa_kernel=0),
    Twin("flash_attention_2", lengths(1, 512)),
    Twin("flash_attention_2_onnx", {"causal": True}),
    Twin(
        "flash_attention_2_onnx",
        {"causal": True, "query_length": 1, "cache": CacheForm.EXTERNAL},
    ),
    Twin(
        "flash_attention_2_onnx",
        {"causal": True, "query_length": 1, "cache": CacheForm.APPENDED, "past_length": 511},
    ),
    Twin("flash_attention_2", hardware=PRESETS["b200"]),
    Twin("variable_length_paged", {"page_size": 512}),
    Twin("variable_length_paged", BFLOAT16),
    Twin("cudnn", heads(256)),
    Twin("cudnn", {"value_head_size": 128}),
    Twin("cudnn", {"mask": MaskKind.KEY_LENGTHS}),
    Twin("cudnn", build={"cudnn": (9, 3, 0)}),
    Twin("cudnn", build={"cudnn": (9, 10, 2)}),
    Twin("cudnn", lengths(64, 128), build={"cudnn": (9, 5, 0)}),
    Twin("cudnn", lengths(3, 100), build={"cudnn": (9, 6, 0)}),
    Twin("cudnn", {"causal": True, "query_length": 64}),
    Twin("cudnn", {"causal": True, "attention_bias": True}),
    Twin("cudnn", {"attention_bias": True, "query_length": 64}),
    Twin("cudnn", build={"version": (1, 28, 0)}),
    Twin("cudnn", hardware=H100, sdpa_kernel=0),
    Twin("cudnn_paged", build={"cudnn": (9, 5, 0)}),
    Twin("memory_efficient", heads(1024)),
    Twin("memory_efficient", {"value_head_size": 128}),
    Twin("memory_efficient", FLOAT32, sdpa_kernel=0),
    Twin("memory_efficient", {**FLOAT32, **lengths(1, 256)}, sdpa_kernel=0),
    Twin("memory_efficient", {**FLOAT32, **lengths(16, 16)}),
    Twin("memory_efficient", lengths(16, 16), sdpa_kernel=0),
    Twin("memory_efficient", {"attention_bias": True, **lengths(8, 16)}),
    Twin("memory_efficient", BFLOAT16, hardware=PRESETS["a10"]),
    Twin("memory_efficient", {"mask": MaskKind.KEY_LENGTHS_AND_STARTS}),
    Twin("memory_efficient_onnx", {"mask": MaskKind.BOOLEAN}),
    Twin("memory_efficient_onnx", FLOAT32),
    Twin("memory_efficient_onnx", {"kv_heads": 2}),
    Twin("tensorrt_fused", lengths(384, 384)),
    Twin("tensorrt_fused", heads(32)),
    Twin("tensorrt_fused", hardware=V100),
    Twin("tensorrt_fused", {"packing": Packing.PACKED_QKV}),
    Twin("tensorrt_flash", lengths(385, 385)),
    Twin("tensorrt_flash", heads(40), hardware=PRESETS["rtx_4090"]),
    Twin("tensorrt_flash", hardware=V100),
    Twin("tensorrt_cross", lengths(1, 128)),
    Twin("tensorrt_cross", heads(64), hardware=T4),
    Twin("tensorrt_cross", heads(1)),
    Twin("tensorrt_cross", {"packing": Packing.PACKED_KV}),
    Twin("decoder_masked", heads(32)),
    Twin("decoder_masked", heads(128)),
    Twin("decoder_masked", FLOAT32),
    Twin("decoder_masked", {"mask": MaskKind.PADDING}),
    Twin("decoder_masked", {"cache": CacheForm.NONE, "past_length": 0, "layout": Layout.BNSH}),
    Twin("decoder_masked_mha", {"beam_width": 4, "cache_indirection": True}),
    Twin("decoder_masked_cpu", heads(80)),
    *(Twin("xqa", group(size)) for size in (1, 2, 4, 5, 8, 16, 32)),
    *(Twin("xqa_quantized", group(size)) for size in (4, 8, 16, 32)),
    Twin("xqa", {"sink": Sink.HEAD_SINK}),
    Twin("xqa", {"qk_norm": True}),
    Twin("xqa", {"local_window": 128}),
    Twin("xqa", build={"xqa_shared_memory_bytes": 163 * 1024}),
    Twin("xqa", heads(256)),
    Twin("xqa_quantized", {"cache_scale": CacheScale.PER_CHANNEL}),
    Twin("lean", hardware=H100),
    Twin("lean", heads(128)),
    Twin("flash_attention_3", {"dtype": ElementType.FLOAT8_E4M3,
                               "cache_dtype": ElementType.FLOAT8_E4M3}),
    Twin("cpu_gqa", {"local_window": 128}),
    Twin("math_gqa", {"softcap": Fraction(30), "attention_bias": True, "local_window": 8}),
    Twin("math_onnx", {"scores_output": ScoresOutput.RAW}),
    Twin("math", {"dropout": Fraction(1, 10)}),
)  # fmt: skip

BREAKS = (
    ("flash_attention_2:head_size", Twin("flash_attention_2", heads(264))),
    ("flash_attention_2:head_size", Twin("flash_attention_2", heads(4))),
    (
        "flash_attention_2:packed_length",
        Twin("flash_attention_2_bert", lengths(512, 512), sdpa_kernel=0),
    ),
    ("flash_attention_3:compute_capability", Twin("flash_attention_3", hardware=T4)),
    (
        "flash_attention_3:compute_capability",
        Twin("flash_attention_3", hardware=PRESETS["rtx_5090"]),
    ),
    (
        "flash_attention_3:type",
        Twin(
            "flash_attention_3",
            {"dtype": ElementType.FLOAT8_E5M2, "cache_dtype": ElementType.FLOAT8_E5M2},
        ),
    ),
    ("cudnn:head_size", Twin("cudnn", heads(264))),
    ("cudnn:cudnn_version", Twin("cudnn", build={"cudnn": (9, 2, 9)})),
    ("cudnn:cudnn_version", Twin("cudnn", build={"cudnn": (9, 10, 0)})),
    ("cudnn:cudnn_version", Twin("cudnn", build={"cudnn": (0, 0, 0)})),
    ("cudnn:length_multiples", Twin("cudnn", lengths(64, 100), build={"cudnn": (9, 5, 9)})),
    ("cudnn:ort_version", Twin("cudnn_bert", build={"version": (1, 28, 9)})),
    ("cudnn:ort_version", Twin("cudnn_onnx", build={"version": (1, 28, 9)})),
    ("cudnn:ort_version", Twin("cudnn_paged", build={"version": (1, 30, 0)})),
    ("cudnn:switched_on", Twin("cudnn", hardware=PRESETS["l4"], sdpa_kernel=0)),
    ("cudnn:onnx_decode", Twin("cudnn_onnx", {"query_length": 2})),
    ("cudnn:paged_decode", Twin("cudnn_paged", hardware=PRESETS["a100"])),
    ("cudnn:paged_decode", Twin("cudnn_paged", build={"cudnn": (9, 4, 0)})),
    ("cudnn:grouped_plain", Twin("cudnn_gqa", {"softcap": Fraction(30)})),
    ("cudnn:grouped_plain", Twin("cudnn_gqa", {"sink": Sink.HEAD_SINK})),
    ("cudnn:grouped_plain", Twin("cudnn_gqa", {"attention_bias": True})),
    ("memory_efficient:head_size", Twin("memory_efficient", heads(1032))),
    (
        "memory_efficient:length",
        Twin("memory_efficient", {**FLOAT32, **lengths(255, 255)}, sdpa_kernel=0),
    ),
    (
        "memory_efficient:length",
        Twin(
            "memory_efficient",
            {**BFLOAT16, **lengths(255, 255)},
            hardware=PRESETS["a10"],
            sdpa_kernel=0,
        ),
    ),
    (
        "memory_efficient:bias_alignment",
        Twin("memory_efficient", {**FLOAT32, "attention_bias": True, **lengths(264, 264)}),
    ),
    (
        "memory_efficient:grouped_head_sizes",
        Twin(
            "memory_efficient_onnx",
            {
                "cache": CacheForm.APPENDED,
                "query_length": 1,
                "past_length": 511,
                "value_head_size": 128,
            },
        ),
    ),
    ("tensorrt_fused:length", Twin("tensorrt_fused", lengths(385, 385))),
    ("tensorrt_flash:length", Twin("tensorrt_flash", lengths(384, 384))),
    ("tensorrt_cross:key_length", Twin("tensorrt_cross", lengths(1, 129))),
    ("tensorrt_cross:turing_head_size", Twin("tensorrt_cross", heads(65), hardware=T4)),
    ("tensorrt_cross:compute_capability", Twin("tensorrt_cross", hardware=V100)),
    ("tensorrt_cross:packing", Twin("tensorrt_cross", {"packing": Packing.PACKED_QKV})),
    *(("xqa:group", Twin("xqa", group(size))) for size in (3, 6, 7, 64)),
    *(("xqa:group", Twin("xqa_quantized", group(size))) for size in (1, 2, 5)),
    ("xqa:sink", Twin("xqa", {"sink": Sink.SMOOTH})),
    ("xqa:shared_memory", Twin("xqa", build={"xqa_shared_memory_bytes": 163 * 1024 + 1})),
    ("decoder_masked:decoder_inputs", Twin("decoder_masked", {"cache_indirection": False})),
    ("decoder_masked:head_size", Twin("decoder_masked", heads(256))),
    ("decoder_masked:keys", Twin("decoder_masked", {"cache": CacheForm.NONE, "past_length": 0})),
    ("lean:compute_capability", Twin("lean", hardware=PRESETS["b200"])),
    ("flash_decode:cpu_plain", Twin("flash_decode_cpu", {"query_length": 2, "past_length": 510})),
    ("flash_decode:cpu_plain", Twin("flash_decode_cpu", {"causal": False})),
    ("flash_decode:cpu_plain", Twin("flash_decode_cpu", {"sink": Sink.SMOOTH})),
    ("flash_decode:switch", Twin("flash_decode_cpu",
                                 switches={"gqa_disable_flash_attention": True})),
    ("cpu:plain", Twin("cpu", {"mask": MaskKind.PADDING})),
    ("cpu:plain", Twin("cpu", {"attention_bias": True})),
    ("cpu:plain", Twin("cpu", {"cache": CacheForm.APPENDED, "past_length": 0})),
    ("cpu:plain", Twin("cpu", {"scores_output": ScoresOutput.RAW})),
    ("cpu:layout", Twin("cpu", {"packing": Packing.PACKED_QKV})),
    ("cpu:placed", Twin("cpu", {**FLOAT16, "operator": Operator.PACKED_ATTENTION}, hardware=AVX2)),
    ("math:sink", Twin("math_gqa", {"sink": Sink.HEAD_SINK})),
    ("math:scores_output", Twin("math_onnx", {"scores_output": ScoresOutput.SOFTCAPPED})),
)  # fmt: skip


@pytest.mark.parametrize("twin", KEEPS, ids=lambda twin: f"{twin.base} {twin.attention}"[:60])
def test_a_call_just_inside_the_conditions_runs(twin: Twin) -> None:
    example = twin.example()
    assert first_broken(RULES[example.backend], example.case()) == ()


@pytest.mark.parametrize(("rule_id", "twin"), BREAKS)
def test_a_call_just_outside_breaks_the_condition_first(rule_id: str, twin: Twin) -> None:
    example = twin.example()
    (exclusion,) = first_broken(RULES[example.backend], example.case())
    assert exclusion.rule_id == rule_id
