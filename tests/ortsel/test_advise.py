"""Advice about attention on the hardware at hand."""

from typing import Any

import pytest
from attrs import evolve

import ortsel
from ortsel.advise import detected_hardware
from spec.capability import (
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Backend,
    Configuration,
    DeviceKind,
    ElementType,
    NothingRunsError,
    Observation,
    Operator,
    workload_key,
)
from spec.errors import InvalidValue

CALL = AttentionInput(Operator.MULTI_HEAD_ATTENTION, 1, 8, 8, 1, 1024, 64, 64, ElementType.FLOAT32)


def test_a_call_by_its_sizes_is_the_call_as_a_value() -> None:
    by_sizes = ortsel.advise_attention(heads=8, query_length=1, key_length=1024, head_size=64)
    assert by_sizes == ortsel.advise_attention(CALL)
    others = {one.backend for one in by_sizes.alternatives}
    assert Backend.MATH in {by_sizes.backend, *others}
    assert by_sizes.reason


def test_hardware_is_detected_once() -> None:
    assert detected_hardware() is detected_hardware()
    detected = detected_hardware()
    assert (detected.hardware.kind is DeviceKind.CUDA) is (detected.why_no_gpu == "")


def test_a_device_can_be_given_for_planning() -> None:
    advice = ortsel.advise_attention(
        heads=32,
        query_length=2048,
        head_size=128,
        dtype="float16",
        causal=True,
        hardware=PRESETS["a100"],
        build=GPU_WHEEL_1_31,
    )
    assert advice.backend is Backend.FLASH_ATTENTION_2
    assert advice.expected_speedup > 1
    assert advice.memory_bytes > 0
    assert Backend.MATH in {one.backend for one in advice.alternatives}


def test_wishes_count() -> None:
    call = evolve(CALL, dtype=ElementType.FLOAT16, cache_dtype=ElementType.FLOAT16)
    advice = ortsel.advise_attention(
        call,
        configuration=Configuration(debug=True),
        hardware=PRESETS["a100"],
        build=GPU_WHEEL_1_31,
    )
    assert advice.backend is Backend.MATH


def test_measured_calls_overrule_the_rules_of_thumb() -> None:
    half = ElementType.FLOAT16
    call = evolve(CALL, query_length=2048, key_length=2048, dtype=half, cache_dtype=half)
    device, build = PRESETS["a100"], GPU_WHEEL_1_31
    favourite = ortsel.advise_attention(call, hardware=device, build=build).backend
    key = workload_key(call, device, build)
    history = [
        Observation(backend, key, latency_ns)
        for backend, latency_ns in ((favourite, 900), (Backend.MATH, 100))
        for _ in range(5)
    ]
    assert favourite is not Backend.MATH
    advice = ortsel.advise_attention(call, hardware=device, build=build, history=history)
    assert advice.backend is Backend.MATH


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            {"heads": 8},
            "attention: got no query_length, head_size, need sizes or an AttentionInput",
        ),
        (
            {"heads": 8, "query_length": 1, "head_size": 64, "dtype": "half"},
            "dtype: got 'half', need one of float32",
        ),
        (
            {"heads": 8, "query_length": 1, "head_size": 64, "operator": "Softmax"},
            "operator: got 'Softmax', need one of com.microsoft.Attention",
        ),
    ],
)
def test_what_is_missing_or_unknown_is_named(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(ortsel.UsageError, match=message):
        ortsel.advise_attention(**sizes)


def test_what_cannot_be_or_cannot_run_is_refused() -> None:
    with pytest.raises(InvalidValue, match="head"):
        ortsel.advise_attention(heads=8, query_length=1, head_size=0)
    if detected_hardware().hardware.kind is DeviceKind.CPU:
        with pytest.raises(NothingRunsError):
            ortsel.advise_attention(heads=8, query_length=1, head_size=64, dtype="bfloat16")
