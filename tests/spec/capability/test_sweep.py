"""Presets times operators times types: a backend is ranked or excluded by a rule (C7)."""

from collections import Counter

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.capability import (
    CPU_WHEEL_1_32,
    GPU_WHEEL_1_31,
    ORDER,
    PRESETS,
    RULES,
    Advice,
    AttentionInput,
    Backend,
    CacheForm,
    Configuration,
    ElementType,
    Exclusion,
    Hardware,
    NothingRunsError,
    Operator,
    OrtBuild,
    advise,
    survey,
)
from tests.spec.capability.rule_examples import GQA, MHA, PAGED
from tests.spec.capability.strategies import (
    FLOAT_TYPES,
    attention_inputs,
    builds,
    configurations,
    hardware,
)

PLAIN = Configuration()


def typical_call(operator: Operator, dtype: ElementType) -> AttentionInput:
    base = {Operator.PAGED_ATTENTION: PAGED, Operator.GROUP_QUERY_ATTENTION: GQA}.get(operator, MHA)
    return evolve(base, operator=operator, dtype=dtype, cache_dtype=dtype)


def parts(
    call: AttentionInput, device: Hardware, configuration: Configuration, build: OrtBuild
) -> tuple[tuple[Backend, ...], tuple[Exclusion, ...]]:
    try:
        advice = advise(call, device, configuration, build)
    except NothingRunsError as failure:
        return (), failure.excluded
    ranked = (advice.recommended, *advice.alternatives)
    return tuple(one.backend for one in ranked), advice.excluded


def assert_each_backend_once(ranked: tuple[Backend, ...], excluded: tuple[Exclusion, ...]) -> None:
    assert Counter((*ranked, *(one.backend for one in excluded))) == Counter(ORDER)
    for exclusion in excluded:
        assert exclusion.rule_id in {rule.id for rule in RULES[exclusion.backend]}


@pytest.mark.parametrize("dtype", FLOAT_TYPES, ids=lambda dtype: dtype.value)
@pytest.mark.parametrize("operator", Operator, ids=lambda operator: operator.value)
def test_every_backend_is_ranked_or_excluded_on_every_preset(
    operator: Operator, dtype: ElementType
) -> None:
    call = typical_call(operator, dtype)
    for device in PRESETS.values():
        for build in (GPU_WHEEL_1_31, CPU_WHEEL_1_32):
            assert_each_backend_once(*parts(call, device, PLAIN, build))


@given(attention_inputs(), hardware, configurations, builds())
def test_every_backend_is_ranked_or_excluded_for_any_call(
    call: AttentionInput, device: Hardware, configuration: Configuration, build: OrtBuild
) -> None:
    assert_each_backend_once(*parts(call, device, configuration, build))


@given(attention_inputs(), hardware, configurations, builds())
def test_the_recommended_backend_is_never_an_excluded_one(
    call: AttentionInput, device: Hardware, configuration: Configuration, build: OrtBuild
) -> None:
    surveyed = survey(call, device, configuration, build)
    try:
        advice = advise(call, device, configuration, build)
    except NothingRunsError:
        assert surveyed.runnable == ()
        return
    assert advice.backend in surveyed.runnable
    assert advice.backend not in {one.backend for one in advice.excluded}
    assert advice.backend not in configuration.disabled


@given(
    attention_inputs(),
    hardware,
    builds(),
    st.lists(st.sampled_from([one for one in ORDER if one is not Backend.MATH]), unique=True),
    st.data(),
)
def test_the_order_of_the_disabled_backends_changes_nothing(
    call: AttentionInput,
    device: Hardware,
    build: OrtBuild,
    disabled: list[Backend],
    data: st.DataObject,
) -> None:
    shuffled = data.draw(st.permutations(disabled))
    given_order = Configuration(disabled=frozenset(disabled))
    other_order = Configuration(disabled=frozenset(shuffled))
    assert outcome(call, device, given_order, build) == outcome(call, device, other_order, build)


def outcome(
    call: AttentionInput, device: Hardware, configuration: Configuration, build: OrtBuild
) -> Advice | tuple[Exclusion, ...]:
    try:
        return advise(call, device, configuration, build)
    except NothingRunsError as failure:
        return failure.excluded


def test_float8_queries_run_nowhere_in_a_stock_build() -> None:
    """Only a custom FlashAttention 3 could take them: no operator registers the type."""
    call = evolve(MHA, dtype=ElementType.FLOAT8_E4M3, cache_dtype=ElementType.FLOAT8_E4M3)
    with pytest.raises(NothingRunsError) as caught:
        advise(call, PRESETS["h100"], PLAIN, GPU_WHEEL_1_31)
    assert {one.rule_id for one in caught.value.excluded} >= {"math:placed", "cudnn:placed"}
    custom = evolve(GPU_WHEEL_1_31, compiled=frozenset(Backend))
    assert advise(call, PRESETS["h100"], PLAIN, custom).backend is Backend.FLASH_ATTENTION_3


def test_bfloat16_multi_head_attention_has_no_cpu_kernel_and_float16_is_cast() -> None:
    half = evolve(MHA, cache=CacheForm.NONE)
    brain = evolve(half, dtype=ElementType.BFLOAT16, cache_dtype=ElementType.BFLOAT16)
    cpu = PRESETS["x86_avx2"]
    assert advise(half, cpu, PLAIN, CPU_WHEEL_1_32).backend is Backend.CPU
    with pytest.raises(NothingRunsError, match="math:placed"):
        advise(brain, cpu, PLAIN, CPU_WHEEL_1_32)
