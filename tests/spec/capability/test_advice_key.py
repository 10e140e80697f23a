"""Changing any part of call, device, build or configuration changes the key (C9)."""

from enum import Enum
from fractions import Fraction

import pytest
from attrs import evolve, fields, frozen

from spec.capability import (
    GPU_WHEEL_1_31,
    AttentionInput,
    Backend,
    CacheForm,
    CacheScale,
    Configuration,
    DeviceKind,
    ElementType,
    Hardware,
    Layout,
    MaskKind,
    Objective,
    Operator,
    OrtBuild,
    Packing,
    Provider,
    ScoresOutput,
    Sink,
    Switches,
    Toggle,
    advice_key,
    workload_key,
)
from spec.capability.canonical_parts import canonical_parts
from spec.errors import InvalidValue
from tests.spec.capability.rule_examples import A100, GQA, MHA, PACKED_MHA, PAGED, changed

PLAIN = Configuration()

ATTENTION_CHANGES: dict[str, tuple[AttentionInput, object]] = {
    "operator": (MHA, Operator.ATTENTION),
    "batch": (MHA, 3),
    "query_heads": (MHA, 16),
    "kv_heads": (MHA, 4),
    "query_length": (MHA, 511),
    "key_length": (MHA, 511),
    "head_size": (MHA, 72),
    "value_head_size": (MHA, 72),
    "dtype": (MHA, ElementType.BFLOAT16),
    "causal": (MHA, True),
    "cache": (GQA, CacheForm.APPENDED),
    "past_length": (GQA, 510),
    "cache_dtype": (
        evolve(GQA, cache_dtype=ElementType.INT4, cache_scale=CacheScale.PER_TENSOR),
        ElementType.INT8,
    ),
    "cache_scale": (
        evolve(GQA, cache_dtype=ElementType.INT8, cache_scale=CacheScale.PER_TENSOR),
        CacheScale.PER_CHANNEL,
    ),
    "local_window": (MHA, 128),
    "mask": (MHA, MaskKind.PADDING),
    "attention_bias": (MHA, True),
    "input_bias": (MHA, True),
    "softcap": (MHA, Fraction(30)),
    "dropout": (MHA, Fraction(1, 10)),
    "packing": (MHA, Packing.PACKED_QKV),
    "layout": (MHA, Layout.BNSH),
    "sink": (MHA, Sink.SMOOTH),
    "qk_norm": (MHA, True),
    "scores_output": (MHA, ScoresOutput.RAW),
    "past_length_input": (MHA, True),
    "cache_indirection": (MHA, True),
    "beam_width": (MHA, 4),
    "page_size": (PAGED, 16),
    "attention_metadata": (MHA, True),
    "sequence_lengths": (PACKED_MHA, (512, 511)),
}
ALONGSIDE: dict[str, dict[str, object]] = {
    "dtype": {"cache_dtype": ElementType.BFLOAT16},
    "past_length": {"query_length": 2},
}
"""What the value types demand to change together with the part."""

HARDWARE_CHANGES: dict[str, object] = {
    "name": "another",
    "kind": DeviceKind.METAL,
    "compute_units": 107,
    "total_memory_bytes": 10**12,
    "available_memory_bytes": 10**9,
    "memory_bandwidth_bytes_per_s": 1,
    "compute_capability": (8, 6),
    "native_types": frozenset({ElementType.FLOAT32}),
    "has_tensor_cores": False,
    "l2_cache_bytes": 1,
    "shared_memory_per_block_bytes": 1,
    "instruction_sets": frozenset({"sve"}),
}
BUILD_CHANGES: dict[str, object] = {
    "version": (1, 31, 2),
    "providers": frozenset({Provider.CPU}),
    "compiled": frozenset({Backend.MATH}),
    "cudnn": (9, 14, 1),
    "minimum_compute_capability": (7, 0),
    "cache_types": frozenset({ElementType.INT8}),
    "xqa_shared_memory_bytes": 1,
    "switches": Switches(enable_xqa=False),
}
CONFIGURATION_CHANGES: dict[str, object] = {
    "preferred": (Backend.CUDNN,),
    "disabled": frozenset({Backend.CUDNN}),
    "memory_budget_bytes": 1,
    "objective": Objective.LATENCY,
    "minimum_flash_length": 1,
    "deterministic": True,
    "debug": True,
}


def key(
    attention: AttentionInput = MHA,
    hardware: Hardware = A100,
    configuration: Configuration = PLAIN,
    build: OrtBuild = GPU_WHEEL_1_31,
) -> tuple[tuple[str, str], ...]:
    return advice_key(attention, hardware, configuration, build)


@pytest.mark.parametrize("name", [one.name for one in fields(AttentionInput)])
def test_each_part_of_the_call_changes_the_key(name: str) -> None:
    base, value = ATTENTION_CHANGES[name]
    other = changed(base, {name: value, **ALONGSIDE.get(name, {})})
    assert getattr(other, name) != getattr(base, name), "pointless unless the part changed"
    before, after = dict(key(base)), dict(key(other))
    assert before[f"attention.{name}"] != after[f"attention.{name}"]
    assert workload_key(base, A100, GPU_WHEEL_1_31) != workload_key(other, A100, GPU_WHEEL_1_31)


@pytest.mark.parametrize("name", [one.name for one in fields(Hardware)])
def test_each_part_of_the_device_changes_the_key(name: str) -> None:
    changes = {name: HARDWARE_CHANGES[name]}
    if name == "kind":
        changes["compute_capability"] = (0, 0)
    other = changed(A100, changes)
    assert dict(key())[f"hardware.{name}"] != dict(key(hardware=other))[f"hardware.{name}"]


@pytest.mark.parametrize("name", [one.name for one in fields(OrtBuild)])
def test_each_part_of_the_build_changes_the_key(name: str) -> None:
    assert key() != key(build=changed(GPU_WHEEL_1_31, {name: BUILD_CHANGES[name]}))


@pytest.mark.parametrize("name", [one.name for one in fields(Switches)])
def test_each_switch_changes_the_key(name: str) -> None:
    plain = Switches()
    was: object = getattr(plain, name)
    flipped: object = not was
    if was is None:
        flipped = 7
    elif isinstance(was, Toggle):
        flipped = Toggle.ON
    switches = changed(plain, {name: flipped})
    assert key() != key(build=evolve(GPU_WHEEL_1_31, switches=switches))


@pytest.mark.parametrize("name", [one.name for one in fields(Configuration)])
def test_each_wish_changes_the_advice_key_and_not_the_workload_key(name: str) -> None:
    other = changed(PLAIN, {name: CONFIGURATION_CHANGES[name]})
    assert key() != key(configuration=other)
    workload = workload_key(MHA, A100, GPU_WHEEL_1_31)
    assert set(workload) < set(key(configuration=other))


def test_equal_values_have_equal_keys_and_every_part_has_its_own_name() -> None:
    assert key() == key(evolve(MHA), evolve(A100), evolve(PLAIN), evolve(GPU_WHEEL_1_31))
    names = [name for name, _ in key()]
    assert len(names) == len(set(names))


def test_names_with_separators_in_them_are_not_confused() -> None:
    one = evolve(A100, instruction_sets=frozenset({"a, b"}))
    two = evolve(A100, instruction_sets=frozenset({"a", "b"}))
    assert key(hardware=one) != key(hardware=two)


def test_a_part_of_an_unknown_kind_is_refused_instead_of_left_out() -> None:
    @frozen
    class WithFloat:
        ratio: float

    class Colour(Enum):
        RED = "red"

    assert canonical_parts("x", Colour.RED) == (("x", "red"),)
    with pytest.raises(InvalidValue, match=r"x\.ratio: got float"):
        canonical_parts("x", WithFloat(0.5))
