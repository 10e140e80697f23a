"""Value types refuse what can't be, and presets say what their vendors publish (C1 to C4)."""

from fractions import Fraction

import pytest
from attrs import evolve

from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Configuration,
    DeviceKind,
    ElementType,
    Observation,
    Operator,
    Provider,
)
from spec.errors import InvalidValue
from tests.spec.capability.rule_examples import (
    A100,
    AVX2,
    EXTERNAL,
    GQA,
    MHA,
    ONNX,
    PACKED_MHA,
    PAGED,
    changed,
)

BAD_CALLS = (
    (MHA, {"batch": 0}, "batch"),
    (MHA, {"key_length": 0}, "key_length"),
    (MHA, {"head_size": -1}, "head_size"),
    (MHA, {"beam_width": 0}, "beam_width"),
    (MHA, {"query_heads": 8, "kv_heads": 3}, "query_heads"),
    (MHA, {"local_window": -1}, "local_window"),
    (MHA, {"past_length": 1}, "past_length"),
    (EXTERNAL, {"past_length": 1}, "past_length"),
    (GQA, {"past_length": 5}, "key_length"),
    (GQA, {"past_length": -1}, "key_length"),
    (MHA, {"cache": CacheForm.EXTERNAL}, "cache"),
    (ONNX, {"operator": Operator.ONNX_ATTENTION_23, "cache": CacheForm.EXTERNAL}, "cache"),
    (MHA, {"cache": CacheForm.PAGED, "past_length": 0}, "cache"),
    (PAGED, {"cache": CacheForm.SHARED_BUFFER, "page_size": 0}, "cache"),
    (PAGED, {"page_size": 0}, "page_size"),
    (MHA, {"page_size": 16}, "page_size"),
    (GQA, {"cache_dtype": ElementType.INT8}, "cache_dtype"),
    (GQA, {"cache_scale": CacheScale.PER_TENSOR}, "cache_dtype"),
    (
        MHA,
        {"cache_dtype": ElementType.INT8, "cache_scale": CacheScale.PER_TENSOR},
        "cache_scale",
    ),
    (MHA, {"dtype": ElementType.INT8, "cache_dtype": ElementType.INT8}, "dtype"),
    (MHA, {"softcap": Fraction(-1)}, "softcap"),
    (MHA, {"dropout": Fraction(1)}, "dropout"),
    (MHA, {"dropout": Fraction(-1, 2)}, "dropout"),
    (MHA, {"sequence_lengths": (1, 1)}, "sequence_lengths"),
    (PACKED_MHA, {"sequence_lengths": (1,)}, "sequence_lengths"),
    (PACKED_MHA, {"sequence_lengths": (1, 513)}, "sequence_lengths"),
    (PACKED_MHA, {"sequence_lengths": (0, 1)}, "sequence_lengths"),
)


@pytest.mark.parametrize(("base", "changes", "name"), BAD_CALLS)
def test_a_call_that_cannot_be_is_refused_with_the_field_that_is_wrong(
    base: AttentionInput, changes: dict[str, object], name: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        changed(base, changes)
    assert caught.value.field == f"attention_input.{name}"
    assert caught.value.rule == "C2"


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"name": ""}, "name"),
        ({"compute_units": 0}, "compute_units"),
        ({"l2_cache_bytes": -1}, "l2_cache_bytes"),
        ({"available_memory_bytes": 10**15}, "available_memory_bytes"),
        ({"compute_capability": (0, 0)}, "compute_capability"),
        ({"compute_capability": (8, 10)}, "compute_capability"),
        ({"kind": DeviceKind.METAL}, "compute_capability"),
    ],
)
def test_a_device_that_cannot_be_is_refused(changes: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        changed(A100, changes)
    assert caught.value.field == f"hardware.{name}"


@pytest.mark.parametrize(
    "changes",
    [
        {"providers": frozenset({Provider.CUDA})},
        {"providers": frozenset({Provider.CPU, Provider.NOWHERE})},
        {"compiled": frozenset({Backend.CUDNN})},
        {"cudnn": (-1, 0, 0)},
    ],
)
def test_a_build_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="C3"):
        changed(GPU_WHEEL_1_31, changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"preferred": (Backend.CUDNN, Backend.XQA)},
        {"memory_budget_bytes": -1},
        {"minimum_flash_length": -1},
    ],
)
def test_a_configuration_that_cannot_be_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(InvalidValue, match="C4"):
        changed(Configuration(), changes)


def test_disabling_math_is_refused_since_ort_would_ignore_it() -> None:
    with pytest.raises(InvalidValue, match=r"configuration\.disabled: got math"):
        Configuration(disabled=frozenset({Backend.MATH}))
    everything_else = frozenset(Backend) - {Backend.MATH}
    assert Configuration(disabled=everything_else).disabled == everything_else


def test_an_observation_without_duration_is_refused() -> None:
    with pytest.raises(InvalidValue, match="latency_ns: got 0"):
        Observation(Backend.MATH, (), 0)


@pytest.mark.parametrize(
    ("preset", "sm", "processors", "memory_gb", "bandwidth_gb_per_s"),
    [
        ("v100", 70, 80, 32, 900),
        ("t4", 75, 40, 16, 320),
        ("a100", 80, 108, 80, 2039),
        ("a10", 86, 72, 24, 600),
        ("rtx_3090", 86, 82, 24, 936),
        ("l4", 89, 58, 24, 300),
        ("rtx_4090", 89, 128, 24, 1008),
        ("h100", 90, 132, 80, 3350),
        ("h200", 90, 132, 141, 4800),
        ("b200", 100, 148, 180, 8000),
        ("rtx_5090", 120, 170, 32, 1792),
        ("rtx_pro_6000", 120, 188, 96, 1792),
    ],
)
def test_gpu_presets_carry_their_published_figures(
    preset: str, sm: int, processors: int, memory_gb: int, bandwidth_gb_per_s: int
) -> None:
    device = PRESETS[preset]
    assert device.sm == sm
    assert device.compute_units == processors
    assert device.total_memory_bytes == memory_gb * 10**9
    assert device.memory_bandwidth_bytes_per_s == bandwidth_gb_per_s * 10**9
    assert device.kind is DeviceKind.CUDA


def test_bfloat16_starts_with_ampere_and_float8_with_ada() -> None:
    for device in PRESETS.values():
        if device.kind is DeviceKind.CUDA:
            assert (ElementType.BFLOAT16 in device.native_types) == (device.sm >= 80)
            assert (ElementType.FLOAT8_E4M3 in device.native_types) == (device.sm >= 89)


def test_every_generation_and_kind_has_a_preset_with_a_name_of_its_own() -> None:
    assert {device.sm // 10 for device in PRESETS.values()} == {0, 7, 8, 9, 10, 12}
    kinds = {device.kind for device in PRESETS.values()}
    assert kinds == {DeviceKind.CUDA, DeviceKind.METAL, DeviceKind.CPU}
    assert len({device.name for device in PRESETS.values()}) == len(PRESETS)
    assert AVX2.sm == 0


def test_stock_builds_have_no_kernel_that_ort_does_not_ship() -> None:
    for build in (GPU_WHEEL_1_31, CPU_WHEEL_1_32):
        absent = {Backend.FLASH_ATTENTION_3, Backend.METAL, Backend.LEAN}
        assert not absent & build.compiled


def test_a_cache_has_the_querys_type_unless_told_otherwise() -> None:
    assert evolve(MHA, cache_dtype=MHA.dtype).cache_dtype is MHA.dtype
    assert MHA.cache_dtype is ElementType.FLOAT16
