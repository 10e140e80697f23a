"""What ONNX Runtime runs by itself, and how to make it run something else (C5, C6, C8)."""

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    PRESETS,
    RULES,
    AttentionInput,
    Backend,
    CacheForm,
    Configuration,
    ElementType,
    Hardware,
    MaskKind,
    NothingRunsError,
    Operator,
    OrtBuild,
    Packing,
    Provider,
    Switches,
    Toggle,
    UnreachableBackendError,
    case_of,
    kernel_options,
    place,
    precedence,
    resolve,
    sdpa_bits,
    settings_for,
    survey,
)
from spec.capability.backend import CUSTOM_BACKENDS
from spec.capability.rule import first_broken
from spec.errors import InvalidValue
from tests.spec.capability.rule_examples import (
    BERT,
    CPU_MHA,
    CPU_PROMPT,
    CPU_STEP,
    EXTERNAL,
    GQA,
    MASKED_SELF,
    MHA,
    ONNX,
    PACKED,
    PACKED_MHA,
    PAGED,
    QUANTIZED,
    STEP,
    call,
    changed,
)
from tests.spec.capability.strategies import (
    attention_inputs,
    builds,
    gpu_builds,
    gpus,
    hardware,
    plain_inputs,
)

GPU = GPU_WHEEL_1_31
CPU = CPU_WHEEL_1_32
MASKS = st.sampled_from((0, 1, 2, 4, 8, 9, 11, 16, 32, 36, 64, 512, 1023))


def switched(**switches: object) -> OrtBuild:
    return evolve(GPU, switches=changed(Switches(), switches))


DEFAULTS = (
    (MHA, "a100", 0, Backend.FLASH_ATTENTION_2),
    (MHA, "h100", 0, Backend.CUDNN),
    (MHA, "t4", 0, Backend.TENSORRT_FLASH),
    (evolve(MHA, causal=True), "t4", 0, Backend.MEMORY_EFFICIENT),
    (evolve(MHA, key_length=77), "a100", 0, Backend.FLASH_ATTENTION_2),
    (evolve(MHA, key_length=77), "t4", 0, Backend.TENSORRT_CROSS),
    (MHA, "h100", 1, Backend.FLASH_ATTENTION_2),
    (MHA, "h100", 9, Backend.CUDNN),
    (MHA, "a100", 9, Backend.FLASH_ATTENTION_2),
    (MHA, "a100", 8, Backend.CUDNN),
    (MHA, "a100", 4, Backend.MATH),
    (MHA, "a100", 36, Backend.TENSORRT_FLASH),
    (MHA, "a100", 32, Backend.MATH),
    (MHA, "a100", 16, Backend.MATH),
    (evolve(MHA, packing=Packing.PACKED_QKV), "a100", 0, Backend.TENSORRT_FLASH),
    (evolve(MHA, packing=Packing.PACKED_QKV), "a100", 1, Backend.FLASH_ATTENTION_2),
    (evolve(MHA, mask=MaskKind.PADDING), "a100", 0, Backend.MATH),
    (STEP, "a100", 0, Backend.DECODER_MASKED),
    (STEP, "a100", 1, Backend.MATH),
    (BERT, "a100", 0, Backend.TENSORRT_FLASH),
    (evolve(BERT, query_length=1024, key_length=1024), "a100", 0, Backend.FLASH_ATTENTION_2),
    (BERT, "a100", 9, Backend.CUDNN),
    (BERT, "h100", 0, Backend.CUDNN),
    (GQA, "a100", 0, Backend.XQA),
    (GQA, "a100", 1, Backend.XQA),
    (evolve(GQA, kv_heads=4, query_heads=12), "a100", 0, Backend.FLASH_DECODE),
    (evolve(GQA, cache=CacheForm.APPENDED), "a100", 0, Backend.FLASH_ATTENTION_2),
    (evolve(GQA, cache=CacheForm.APPENDED), "h100", 0, Backend.CUDNN),
    (evolve(GQA, attention_bias=True), "h100", 0, Backend.MATH),
    (GQA, "t4", 0, Backend.MEMORY_EFFICIENT),
    (QUANTIZED, "a100", 0, Backend.XQA),
    (PACKED, "a100", 0, Backend.TENSORRT_FLASH),
    (PACKED, "h100", 0, Backend.MEMORY_EFFICIENT),
    (PACKED_MHA, "h100", 0, Backend.VARIABLE_LENGTH),
    (PAGED, "h100", 0, Backend.CUDNN),
    (PAGED, "a100", 0, Backend.VARIABLE_LENGTH),
    (evolve(PAGED, page_size=16), "a100", 2, Backend.MEMORY_EFFICIENT),
    (PAGED, "a100", 16, Backend.FLASH_DECODE),
    (MASKED_SELF, "a100", 16, Backend.DECODER_MASKED),
    (ONNX, "h100", 0, Backend.FLASH_ATTENTION_2),
    (evolve(ONNX, mask=MaskKind.BOOLEAN), "h100", 0, Backend.MEMORY_EFFICIENT),
    (EXTERNAL, "h100", 0, Backend.CUDNN),
    (EXTERNAL, "a100", 0, Backend.FLASH_ATTENTION_2),
    (evolve(ONNX, operator=Operator.ONNX_ATTENTION_25), "a100", 0, Backend.MATH),
)


@pytest.mark.parametrize(("attention", "device", "option", "expected"), DEFAULTS)
def test_the_gpu_wheel_runs_the_kernel_that_the_operators_order_gives(
    attention: AttentionInput, device: str, option: int, expected: Backend
) -> None:
    assert resolve(attention, PRESETS[device], GPU, option) is expected


CPU_DEFAULTS = (
    (CPU_MHA, Backend.CPU),
    (evolve(CPU_MHA, causal=True), Backend.MATH),
    (CPU_STEP, Backend.FLASH_DECODE),
    (CPU_PROMPT, Backend.CPU),
    (evolve(CPU_PROMPT, dtype=ElementType.FLOAT16, cache_dtype=ElementType.FLOAT16), Backend.MATH),
    (call(Operator.ATTENTION, 64, 64, ElementType.FLOAT32), Backend.MATH),
    (call(Operator.ONNX_ATTENTION_24, 64, 64, ElementType.FLOAT32), Backend.MATH),
    (call(Operator.ONNX_ATTENTION_25, 64, 64, ElementType.FLOAT32), Backend.MATH),
)


@pytest.mark.parametrize(("attention", "expected"), CPU_DEFAULTS)
def test_the_cpu_wheel_runs_the_kernel_that_the_operators_order_gives(
    attention: AttentionInput, expected: Backend
) -> None:
    assert resolve(attention, PRESETS["x86_avx512"], CPU) is expected


@given(st.one_of(attention_inputs(), plain_inputs()), hardware, builds(), MASKS)
def test_the_resolved_backend_keeps_all_its_rules_and_every_earlier_one_breaks_some(
    attention: AttentionInput, device: Hardware, build: OrtBuild, option: int
) -> None:
    case = case_of(attention, device, build, sdpa_kernel=option)
    tried = [
        slot.backend
        for slot in precedence(attention.operator, case.provider)
        if slot.covers(device.sm)
    ]
    holding = [one for one in tried if not first_broken(RULES[one], case)]
    if holding:
        assert resolve(attention, device, build, option) is holding[0]
    else:
        with pytest.raises(NothingRunsError) as caught:
            resolve(attention, device, build, option)
        assert caught.value.excluded


@given(plain_inputs(), gpus, gpu_builds)
def test_everything_the_survey_calls_runnable_can_be_reached_by_settings(
    attention: AttentionInput, device: Hardware, build: OrtBuild
) -> None:
    runnable = survey(attention, device, Configuration(), build).runnable
    assume(runnable)
    for backend in runnable:
        assert backend not in CUSTOM_BACKENDS, "pointless with kernels ORT never dispatches to"
        settings = settings_for(backend, attention, device, build)
        build_then = evolve(build, switches=settings.switches)
        assert resolve(attention, device, build_then, settings.sdpa_kernel) is backend


@pytest.mark.parametrize("attention", [one for one, _ in CPU_DEFAULTS])
def test_everything_that_can_run_on_the_cpu_can_be_reached_there(attention: AttentionInput) -> None:
    device = PRESETS["x86_avx512"]
    runnable = survey(attention, device, Configuration(), CPU).runnable
    assert Backend.MATH in runnable
    for backend in runnable:
        settings = settings_for(backend, attention, device, CPU)
        build_then = evolve(CPU, switches=settings.switches)
        assert resolve(attention, device, build_then) is backend


def test_xqa_answers_to_its_variable_only() -> None:
    a100 = PRESETS["a100"]
    for option in range(1024):
        assert resolve(GQA, a100, GPU, option) is Backend.XQA
    assert resolve(GQA, a100, switched(enable_xqa=False)) is Backend.FLASH_DECODE
    settings = settings_for(Backend.MEMORY_EFFICIENT, GQA, a100, GPU)
    assert settings.sdpa_kernel == 2
    assert not settings.switches.enable_xqa


def test_an_excluded_backend_cannot_be_reached() -> None:
    with pytest.raises(UnreachableBackendError, match="xqa: no setting selects it"):
        settings_for(Backend.XQA, MHA, PRESETS["a100"], GPU)


def test_settings_under_which_nothing_runs_are_passed_over() -> None:
    a100 = PRESETS["a100"]
    no_xqa = switched(enable_xqa=False)
    with pytest.raises(NothingRunsError, match="math:quantized_cache"):
        resolve(QUANTIZED, a100, no_xqa, 16)
    assert settings_for(Backend.FLASH_ATTENTION_2, QUANTIZED, a100, GPU).sdpa_kernel == 0
    with pytest.raises(UnreachableBackendError):
        settings_for(Backend.MEMORY_EFFICIENT, QUANTIZED, a100, GPU)


@given(plain_inputs(), hardware)
def test_clearing_the_math_bit_changes_nothing(attention: AttentionInput, device: Hardware) -> None:
    def outcome(option: int) -> Backend | str:
        try:
            return resolve(attention, device, GPU, option)
        except NothingRunsError as failure:
            return str(failure)

    for option in (1, 2, 8, 36, 512):
        assert outcome(option) == outcome(option | 16)


def test_a_positive_option_ends_the_automatic_preference_and_both_minimum_lengths() -> None:
    unset = kernel_options(0, GPU, Operator.MULTI_HEAD_ATTENTION)
    assert unset.cudnn_auto
    assert (unset.minimum_flash_packed_length, unset.minimum_efficient_fp32_length) == (513, 256)
    explicit = kernel_options(
        2, switched(disable_memory_efficient_attention=True), Operator.ATTENTION
    )
    assert not explicit.cudnn_auto
    assert explicit.minimum_flash_packed_length == explicit.minimum_efficient_fp32_length == 0
    assert Backend.MEMORY_EFFICIENT in explicit.enabled, "its variable is not read then"
    lengths = switched(minimum_flash_packed_length=64, minimum_efficient_fp32_length=32)
    kept = kernel_options(1, lengths, Operator.ATTENTION)
    assert (kept.minimum_flash_packed_length, kept.minimum_efficient_fp32_length) == (64, 32)


def test_a_negative_option_is_refused() -> None:
    with pytest.raises(InvalidValue, match="sdpa_kernel: got -1"):
        kernel_options(-1, GPU, Operator.ATTENTION)


@pytest.mark.parametrize(
    ("variable", "bit_owner"),
    [
        ("disable_flash_attention", Backend.FLASH_ATTENTION_2),
        ("disable_memory_efficient_attention", Backend.MEMORY_EFFICIENT),
        ("disable_fused_attention", Backend.TENSORRT_FUSED),
        ("disable_trt_flash_attention", Backend.TENSORRT_FLASH),
        ("disable_fused_cross_attention", Backend.TENSORRT_CROSS),
        ("disable_decoder_attention", Backend.DECODER_MASKED),
    ],
)
def test_each_variable_switches_its_backend_off(variable: str, bit_owner: Backend) -> None:
    operator = Operator.MULTI_HEAD_ATTENTION
    assert bit_owner in kernel_options(0, GPU, operator).enabled
    assert bit_owner not in kernel_options(0, switched(**{variable: True}), operator).enabled


def test_cudnn_is_preferred_unasked_from_compute_capability_9_unless_switched_off() -> None:
    h100, a100 = PRESETS["h100"], PRESETS["a100"]
    off, on = switched(cudnn_flash_attention=Toggle.OFF), switched(cudnn_flash_attention=Toggle.ON)
    assert resolve(MHA, h100, GPU) is Backend.CUDNN
    assert resolve(MHA, h100, off) is Backend.FLASH_ATTENTION_2
    assert resolve(MHA, a100, on) is Backend.FLASH_ATTENTION_2, "before Hopper flash goes first"
    assert resolve(BERT, a100, on) is Backend.CUDNN
    assert resolve(MHA, h100, evolve(GPU, version=(1, 27, 0))) is Backend.FLASH_ATTENTION_2


def test_tensorrt_flash_needs_the_bit_of_the_fused_runner_too() -> None:
    assert sdpa_bits(Backend.TENSORRT_FLASH, Operator.ATTENTION) == 4 | 32
    assert sdpa_bits(Backend.TENSORRT_FUSED, Operator.ATTENTION) == 4


def test_a_gpu_that_the_toolkit_dropped_leaves_its_nodes_to_the_cpu() -> None:
    v100 = PRESETS["v100"]
    assert place(MHA, v100, GPU) is Provider.CPU
    assert place(MHA, v100, evolve(GPU, minimum_compute_capability=(7, 0))) is Provider.CUDA


def test_float32_grouped_queries_have_a_kernel_on_the_cpu_only() -> None:
    assert place(GQA, PRESETS["h100"], GPU) is Provider.CUDA
    assert place(CPU_STEP, PRESETS["h100"], GPU) is Provider.CPU


def test_an_onnx_attention_without_a_kernel_is_inlined_and_others_are_refused() -> None:
    newest = evolve(ONNX, operator=Operator.ONNX_ATTENTION_25)
    assert place(newest, PRESETS["a100"], GPU) is Provider.INLINED
    assert place(PACKED, PRESETS["x86_avx2"], CPU) is Provider.NOWHERE
    with pytest.raises(NothingRunsError, match="math:placed"):
        resolve(PACKED, PRESETS["x86_avx2"], CPU)


def test_a_quantized_cache_needs_kernels_compiled_for_its_type() -> None:
    assert place(QUANTIZED, PRESETS["a100"], GPU) is Provider.CUDA
    without = evolve(GPU, cache_types=frozenset[ElementType]())
    assert place(QUANTIZED, PRESETS["a100"], without) is Provider.CPU
    float8 = evolve(QUANTIZED, cache_dtype=ElementType.FLOAT8_E4M3)
    assert place(float8, PRESETS["a100"], GPU) is Provider.CUDA
    assert place(float8, PRESETS["a100"], without) is Provider.NOWHERE
