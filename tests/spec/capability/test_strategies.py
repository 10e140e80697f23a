"""The strategies reach what the properties are about."""

from hypothesis import HealthCheck, Phase, find, settings

from spec.capability import (
    GPU_WHEEL_1_31,
    PRESETS,
    AttentionInput,
    Backend,
    CacheForm,
    Configuration,
    survey,
)
from tests.spec.capability.strategies import attention_inputs, plain_inputs

SEARCH = settings(
    suppress_health_check=list(HealthCheck),
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    max_examples=2000,
)
"""A search, not a property: it ends at the first hit, and nothing is shrunk."""


def test_calls_with_every_cache_form_are_drawn() -> None:
    seen: set[CacheForm] = set()

    def all_forms_seen(call: AttentionInput) -> bool:
        seen.add(call.cache)
        return seen == set(CacheForm)

    find(attention_inputs(), all_forms_seen, settings=SEARCH)
    assert seen == set(CacheForm)


def test_ragged_and_quantized_calls_are_drawn() -> None:
    ragged = find(attention_inputs(), lambda call: len(call.sequence_lengths) > 1, settings=SEARCH)
    assert ragged.query_tokens <= ragged.batch * ragged.query_length
    quantized = find(attention_inputs(), lambda call: call.quantized_cache, settings=SEARCH)
    assert quantized.cache_dtype is not quantized.dtype


def test_plain_calls_reach_every_kernel_of_the_gpu_wheel_on_an_a100() -> None:
    wanted = GPU_WHEEL_1_31.compiled - {Backend.CPU}
    seen: set[Backend] = set()

    def all_seen(call: AttentionInput) -> bool:
        seen.update(survey(call, PRESETS["a100"], Configuration(), GPU_WHEEL_1_31).runnable)
        return seen >= wanted

    find(plain_inputs(), all_seen, settings=SEARCH)
    assert seen >= wanted
