"""Bytes follow from shapes, types and the kernel's buffers (C10)."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.capability import (
    ORDER,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    ElementType,
    Hardware,
    MaskKind,
    MemoryEstimate,
    Packing,
    Provider,
    memory_estimate,
)
from spec.capability.element_type import bytes_of
from spec.capability.memory import flash_splits
from tests.spec.capability.rule_examples import (
    AVX2,
    CPU_MHA,
    GQA,
    MHA,
    ONNX,
    PACKED_MHA,
    QUANTIZED,
)
from tests.spec.capability.strategies import attention_inputs, hardware

A100 = PRESETS["a100"]
SPLITTING = {Backend.FLASH_ATTENTION_2, Backend.FLASH_DECODE, Backend.XQA, Backend.LEAN}
CALL = evolve(
    MHA, batch=2, query_heads=8, kv_heads=8, query_length=512, key_length=1024, value_head_size=32
)


def part(estimate: MemoryEstimate, name: str) -> int:
    sizes = [
        one.size_bytes for one in (*estimate.operands, *estimate.workspace) if one.name == name
    ]
    return sum(sizes)


def test_operands_count_by_element_size_heads_and_lengths() -> None:
    estimate = memory_estimate(Backend.DECODER_MASKED, CALL, A100)
    assert part(estimate, "query") == 2 * 512 * 8 * 64 * 2
    assert part(estimate, "key and value") == 2 * 1024 * 8 * (64 + 32) * 2
    assert part(estimate, "output") == 2 * 512 * 8 * 32 * 2
    assert estimate.workspace_bytes == 0
    assert estimate.total_bytes == estimate.operand_bytes


def test_keys_and_values_count_by_key_heads_and_by_the_caches_own_type() -> None:
    half = part(memory_estimate(Backend.XQA, GQA, A100), "key and value")
    assert half == 2 * 512 * 2 * 128 * 2
    assert part(memory_estimate(Backend.XQA, QUANTIZED, A100), "key and value") == half // 2
    four_bits = evolve(QUANTIZED, cache_dtype=ElementType.INT4)
    assert part(memory_estimate(Backend.XQA, four_bits, A100), "key and value") == half // 4
    wide = evolve(GQA, dtype=ElementType.FLOAT32, cache_dtype=ElementType.FLOAT32)
    assert part(memory_estimate(Backend.XQA, wide, A100), "key and value") == half * 2


def test_half_a_byte_is_rounded_up() -> None:
    assert bytes_of(3, ElementType.INT4) == 2
    assert bytes_of(4, ElementType.INT4) == 2


def test_a_past_that_is_copied_counts_and_a_shared_buffer_does_not() -> None:
    copied = memory_estimate(Backend.MATH, evolve(GQA, cache=CacheForm.APPENDED), A100)
    assert part(copied, "past copied into present") == 2 * 2 * 511 * 128 * 2
    assert part(memory_estimate(Backend.MATH, GQA, A100), "past copied into present") == 0


def test_math_writes_the_score_matrix_and_flash_keeps_statistics_only() -> None:
    scores = 2 * 8 * 512 * 1024
    math = memory_estimate(Backend.MATH, CALL, A100)
    assert math.workspace_bytes == 2 * scores * 2
    flash = memory_estimate(Backend.FLASH_ATTENTION_2, CALL, A100)
    assert flash.workspace_bytes == 4 * 2 * 8 * 512
    onnx = memory_estimate(Backend.MATH, evolve(ONNX, key_length=1024), A100)
    assert onnx.workspace_bytes == scores * (4 + 2), "float32 scores beside float16 probabilities"


def test_statistics_are_float32_for_every_type() -> None:
    for dtype in (ElementType.FLOAT32, ElementType.FLOAT16, ElementType.FLOAT8_E4M3):
        call = evolve(CALL, dtype=dtype, cache_dtype=dtype)
        estimate = memory_estimate(Backend.FLASH_ATTENTION_3, call, A100)
        assert estimate.workspace_bytes == 4 * 2 * 8 * 512


def test_flash_decode_keeps_one_partial_result_per_split() -> None:
    step = evolve(GQA, batch=1, query_heads=32, kv_heads=8, key_length=8192, past_length=8191)
    splits = flash_splits(step, A100, step.kv_heads)
    assert splits > 1, "pointless unless the keys are split"
    estimate = memory_estimate(Backend.FLASH_DECODE, step, A100)
    assert part(estimate, "partial log-sum-exp") == 4 * splits * 32
    assert part(estimate, "partial output") == 4 * splits * 32 * 64


def test_the_keys_are_not_split_where_the_device_is_full_already() -> None:
    busy = evolve(MHA, batch=4, query_heads=32, kv_heads=32, query_length=2048, key_length=2048)
    assert flash_splits(busy, A100, busy.query_heads) == 1
    idle = evolve(busy, batch=1, query_heads=1, kv_heads=1, query_length=1, key_length=65536)
    assert flash_splits(idle, A100, 1) > 1


@given(attention_inputs(), hardware)
def test_splits_are_bounded_by_processors_key_blocks_and_128(
    call: AttentionInput, device: Hardware
) -> None:
    splits = flash_splits(call, device, call.kv_heads)
    assert 1 <= splits <= max(1, min(128, device.compute_units, -(-call.key_length // 64)))


def test_memory_efficient_expands_grouped_heads_and_widens_its_accumulator() -> None:
    estimate = memory_estimate(Backend.MEMORY_EFFICIENT, GQA, A100)
    assert part(estimate, "key and value expanded to all query heads") == 2 * 8 * 512 * 128 * 2
    assert part(estimate, "float32 accumulator") == 0
    wide = evolve(MHA, value_head_size=256)
    expected = 2 * 512 * 8 * 256 * 4
    assert memory_estimate(Backend.MEMORY_EFFICIENT, wide, A100).workspace_bytes == expected
    single = evolve(wide, dtype=ElementType.FLOAT32, cache_dtype=ElementType.FLOAT32)
    assert memory_estimate(Backend.MEMORY_EFFICIENT, single, A100).workspace_bytes == 0


def test_tensorrt_repacks_separate_operands_only() -> None:
    separate = memory_estimate(Backend.TENSORRT_FUSED, MHA, A100)
    packed = memory_estimate(Backend.TENSORRT_FUSED, evolve(MHA, packing=Packing.PACKED_QKV), A100)
    assert part(separate, "repacked operands") == 2 * 512 * 8 * 64 * 3 * 2
    assert part(packed, "repacked operands") == 0


def test_ragged_tokens_count_without_padding() -> None:
    full = memory_estimate(Backend.VARIABLE_LENGTH, PACKED_MHA, A100)
    ragged = memory_estimate(
        Backend.VARIABLE_LENGTH, evolve(PACKED_MHA, sequence_lengths=(512, 1)), A100
    )
    assert part(full, "query") == 1024 * 512 * 2
    assert part(ragged, "query") == 513 * 512 * 2
    assert part(ragged, "key and value") == 513 * 8 * 128 * 2


def test_the_cpu_casts_float16_and_transposes_token_first_operands() -> None:
    plain = memory_estimate(Backend.CPU, CPU_MHA, AVX2, Provider.CPU)
    assert part(plain, "transposed operands") == 2 * 512 * 8 * 64 * 3 * 4
    assert part(plain, "float32 copies") == 0
    half = evolve(CPU_MHA, dtype=ElementType.FLOAT16, cache_dtype=ElementType.FLOAT16)
    cast = memory_estimate(Backend.CPU, half, AVX2, Provider.CPU)
    assert part(cast, "float32 copies") == 2 * 512 * 8 * 64 * 4 * 4
    math = memory_estimate(Backend.MATH, CPU_MHA, AVX2, Provider.CPU)
    assert math.workspace_bytes > plain.workspace_bytes


@pytest.mark.parametrize(
    ("mask", "size"),
    [
        (MaskKind.NONE, 0),
        (MaskKind.KEY_LENGTHS, 4 * 2),
        (MaskKind.KEY_LENGTHS_AND_STARTS, 4 * 8),
        (MaskKind.PADDING, 4 * 2 * 1024),
        (MaskKind.PER_QUERY, 4 * 2 * 512 * 1024),
        (MaskKind.BOOLEAN, 2 * 512 * 1024),
        (MaskKind.ADDITIVE, 2 * 2 * 512 * 1024),
    ],
)
def test_masks_count_by_their_shape(mask: MaskKind, size: int) -> None:
    assert part(memory_estimate(Backend.MATH, evolve(CALL, mask=mask), A100), "mask") == size


@given(attention_inputs(), hardware, st.sampled_from(ORDER), st.sampled_from(Provider))
def test_every_part_is_a_positive_number_of_bytes_with_a_formula(
    call: AttentionInput, device: Hardware, backend: Backend, provider: Provider
) -> None:
    estimate = memory_estimate(backend, call, device, provider)
    for one in (*estimate.operands, *estimate.workspace):
        assert one.size_bytes > 0
        assert one.formula
    assert estimate.total_bytes == estimate.operand_bytes + estimate.workspace_bytes


@given(
    attention_inputs(), hardware, st.sampled_from(ORDER), st.sampled_from(Provider),
    st.integers(1, 2000), st.sampled_from(("keys", "queries", "batch", "heads")),
)  # fmt: skip
def test_memory_never_shrinks_when_a_call_grows(
    call: AttentionInput,
    device: Hardware,
    backend: Backend,
    provider: Provider,
    more: int,
    direction: str,
) -> None:
    """The partial results of split kernels are left out: a fuller device needs fewer splits."""
    call = evolve(call, sequence_lengths=())
    larger = grown(call, more, direction)
    before = memory_estimate(backend, call, device, provider)
    after = memory_estimate(backend, larger, device, provider)
    assert after.operand_bytes > before.operand_bytes
    for one in before.workspace:
        if not one.name.startswith("partial"):
            assert part(after, one.name) >= one.size_bytes


def grown(call: AttentionInput, more: int, direction: str) -> AttentionInput:
    grows = call.cache in {CacheForm.APPENDED, CacheForm.SHARED_BUFFER, CacheForm.PAGED}
    match direction:
        case "keys":
            past = call.past_length + more if grows else 0
            return evolve(call, key_length=call.key_length + more, past_length=past)
        case "queries":
            keys = call.key_length + more if grows else call.key_length
            return evolve(call, query_length=call.query_length + more, key_length=keys)
        case "batch":
            return evolve(call, batch=call.batch + more)
        case _:
            return evolve(call, query_heads=call.query_heads * 2, kv_heads=call.kv_heads * 2)
