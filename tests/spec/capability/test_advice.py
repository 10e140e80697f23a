"""The advice: ranking, wishes, limits, measurements and reasons (C4, C7, C11 to C14)."""

from fractions import Fraction
from itertools import pairwise

import pytest
from attrs import evolve
from hypothesis import assume, given
from hypothesis import strategies as st

from spec.capability import (
    GPU_WHEEL_1_31,
    ORDER,
    PRESETS,
    Advice,
    AttentionInput,
    Backend,
    Basis,
    Configuration,
    Hardware,
    NothingRunsError,
    Objective,
    Observation,
    Operator,
    OrtBuild,
    Packing,
    advise,
    memory_estimate,
    needed_flops,
    survey,
    workload_key,
)
from spec.capability.rule_of_thumb import thumb
from tests.spec.capability.rule_examples import BASES, GQA, MASKED_SELF, MHA, Example, call
from tests.spec.capability.strategies import (
    configurations,
    gpu_builds,
    gpus,
    hardware,
    plain_inputs,
)

A100, H100 = PRESETS["a100"], PRESETS["h100"]
GPU = GPU_WHEEL_1_31
PLAIN = Configuration()
LONG = evolve(MHA, query_length=8192, key_length=8192)
KEY = workload_key(LONG, A100, GPU)


def seen(backend: Backend, *latencies_ns: int) -> tuple[Observation, ...]:
    return tuple(Observation(backend, KEY, latency) for latency in latencies_ns)


def ranked(advice: Advice) -> list[Backend]:
    return [one.backend for one in (advice.recommended, *advice.alternatives)]


@given(plain_inputs(), gpus, configurations, gpu_builds)
def test_the_same_values_give_the_same_advice(
    attention: AttentionInput, device: Hardware, configuration: Configuration, build: OrtBuild
) -> None:
    assume(survey(attention, device, configuration, build).runnable)
    first = advise(attention, device, configuration, build)
    assert advise(evolve(attention), device, configuration, build) == first
    assert first.needed_flops == needed_flops(attention)


@given(plain_inputs(), gpus, gpu_builds, st.sampled_from(Objective))
def test_alternatives_follow_the_objective_and_ties_the_fixed_order(
    attention: AttentionInput, device: Hardware, build: OrtBuild, objective: Objective
) -> None:
    configuration = Configuration(objective=objective)
    assume(survey(attention, device, configuration, build).runnable)
    advice = advise(attention, device, configuration, build)
    listed = (advice.recommended, *advice.alternatives)
    for better, worse in pairwise(listed):
        order = ORDER.index(better.backend) < ORDER.index(worse.backend)
        by_score = (better.score_permille, better.expected_speedup)
        against = (worse.score_permille, worse.expected_speedup)
        match objective:
            case Objective.LATENCY:
                assert by_score[::-1] > against[::-1] or (by_score == against and order)
            case Objective.BALANCED:
                assert by_score > against or (by_score == against and order)
            case Objective.THROUGHPUT:
                assert better.score_permille >= worse.score_permille
        assert better.basis is Basis.RULE_OF_THUMB
        assert better.confidence == Fraction(better.score_permille, 1000)


def test_a_long_causal_prompt_is_for_flash_on_ampere_and_for_cudnn_on_hopper() -> None:
    causal = evolve(LONG, causal=True)
    advice = advise(causal, A100, PLAIN, GPU)
    assert advice.backend is Backend.FLASH_ATTENTION_2
    assert advice.expected_speedup == 5
    assert advice.confidence == Fraction(95, 100)
    on_hopper = advise(causal, H100, PLAIN, GPU)
    assert on_hopper.backend is Backend.CUDNN
    assert on_hopper.expected_speedup == 5 * Fraction(17, 10)


def test_a_short_prompt_is_not_for_flash() -> None:
    short = call(Operator.MULTI_HEAD_ATTENTION, 64, 64)
    assert advise(short, A100, PLAIN, GPU).backend in {Backend.CUDNN, Backend.MATH}


def test_a_decode_step_over_a_long_cache_is_for_a_kernel_that_splits_the_keys() -> None:
    step = evolve(GQA, query_heads=32, kv_heads=8, key_length=8192, past_length=8191)
    assert ranked(advise(step, A100, PLAIN, GPU))[:2] == [Backend.XQA, Backend.FLASH_DECODE]
    seven = evolve(step, query_heads=56)
    advice = advise(seven, A100, PLAIN, GPU)
    assert advice.backend is Backend.FLASH_DECODE, "a group of 7 is none of XQA's"
    assert advice.expected_speedup == 20


def test_decode_is_not_excluded_from_flash() -> None:
    step = evolve(GQA, key_length=8192, past_length=8191)
    short = Configuration(minimum_flash_length=128)
    assert Backend.FLASH_ATTENTION_2 in survey(step, A100, short, GPU).runnable
    prompt = evolve(MHA, query_length=100, key_length=100)
    (why,) = [
        one
        for one in survey(prompt, A100, short, GPU).excluded
        if one.backend is Backend.FLASH_ATTENTION_2
    ]
    assert why.rule_id == "flash_attention_2:minimum_flash_length"


def test_debug_mode_takes_math_and_says_so() -> None:
    advice = advise(LONG, A100, Configuration(debug=True, preferred=(Backend.CUDNN,)), GPU)
    assert advice.backend is Backend.MATH
    assert advice.recommended.basis is Basis.WISH
    assert advice.confidence == 1
    assert "debug" in advice.reason
    assert Backend.FLASH_ATTENTION_2 in [one.backend for one in advice.alternatives]


def test_debug_mode_falls_through_with_a_note_where_math_cannot_run() -> None:
    advice = advise(MASKED_SELF, A100, Configuration(debug=True), GPU)
    assert advice.backend is Backend.DECODER_MASKED
    assert any("debug" in note and "math:dispatched" in note for note in advice.notes)


def test_a_preferred_backend_is_taken_when_it_can_run() -> None:
    preferring = Configuration(preferred=(Backend.MEMORY_EFFICIENT,))
    advice = advise(LONG, A100, preferring, GPU)
    assert advice.backend is Backend.MEMORY_EFFICIENT
    assert advice.notes == ()
    assert "preferred" in advice.reason


def test_an_unavailable_preference_falls_through_and_the_rule_in_its_way_is_noted() -> None:
    preferring = Configuration(preferred=(Backend.FLASH_ATTENTION_3,))
    advice = advise(LONG, H100, preferring, GPU)
    assert advice.backend is Backend.CUDNN
    (note,) = advice.notes
    assert "flash_attention_3:compiled" in note
    assert "not in this ORT build" in note


def test_with_everything_else_disabled_math_stays_as_the_last_resort() -> None:
    advice = advise(LONG, A100, Configuration(disabled=frozenset(ORDER) - {Backend.MATH}), GPU)
    assert advice.backend is Backend.MATH
    assert {one.rule_id.split(":")[1] for one in advice.excluded} >= {"disabled"}


def test_disabling_the_only_kernel_of_an_operator_is_an_error_that_names_the_rule() -> None:
    nothing = Configuration(disabled=frozenset({Backend.DECODER_MASKED}))
    with pytest.raises(NothingRunsError, match="decoder_masked:disabled"):
        advise(MASKED_SELF, A100, nothing, GPU)


def test_a_budget_excludes_what_needs_more_and_nothing_else() -> None:
    flash = memory_estimate(Backend.FLASH_ATTENTION_2, LONG, A100).total_bytes
    assert memory_estimate(Backend.MATH, LONG, A100).total_bytes > flash, "pointless otherwise"
    advice = advise(LONG, A100, Configuration(memory_budget_bytes=flash), GPU)
    assert advice.backend is Backend.FLASH_ATTENTION_2
    assert advice.memory_bytes == flash
    assert "math:memory_budget" in {one.rule_id for one in advice.excluded}
    with pytest.raises(NothingRunsError, match="memory_budget"):
        advise(LONG, A100, Configuration(memory_budget_bytes=1), GPU)


def test_deterministic_mode_leaves_out_kernels_that_split_the_keys() -> None:
    advice = advise(GQA, A100, Configuration(deterministic=True), GPU)
    rules = {one.rule_id for one in advice.excluded}
    assert {"xqa:deterministic", "flash_decode:deterministic"} <= rules
    assert Backend.FLASH_ATTENTION_2 in ranked(advice)
    assert Backend.XQA in ranked(advise(GQA, A100, PLAIN, GPU)), "pointless otherwise"


def test_measurements_that_include_the_favourite_overrule_the_rules_of_thumb() -> None:
    history = (
        *seen(Backend.FLASH_ATTENTION_2, 300, 310, 305),
        *seen(Backend.MEMORY_EFFICIENT, 100, 101, 102),
        *seen(Backend.MATH, 1000, 1010, 1020),
    )
    advice = advise(LONG, A100, PLAIN, GPU, history)
    assert ranked(advice) == [
        Backend.MEMORY_EFFICIENT,
        Backend.FLASH_ATTENTION_2,
        Backend.MATH,
        Backend.TENSORRT_FLASH,
        Backend.CUDNN,
    ]
    assert advice.recommended.basis is Basis.MEASURED
    assert advice.recommended.samples == 3
    assert advice.expected_speedup == Fraction(1010, 101)
    assert advice.confidence == Fraction(3 + 1, 3 + 2)
    assert "3 measured calls" in advice.reason
    assert advice.alternatives[0].confidence == Fraction(1, 5)
    assert advice.alternatives[-1].basis is Basis.RULE_OF_THUMB


def test_measurements_without_the_favourite_do_not_overrule_it_and_a_note_says_so() -> None:
    history = (*seen(Backend.MEMORY_EFFICIENT, 100, 101, 102), *seen(Backend.MATH, 900, 901, 902))
    advice = advise(LONG, A100, PLAIN, GPU, history)
    assert advice.backend is Backend.FLASH_ATTENTION_2
    assert advice.recommended.basis is Basis.RULE_OF_THUMB
    assert any("never measured" in note for note in advice.notes)
    measured = next(one for one in advice.alternatives if one.backend is Backend.MEMORY_EFFICIENT)
    assert measured.expected_speedup == Fraction(901, 101)


def test_without_a_measured_math_speed_ups_are_scaled_from_the_favourites() -> None:
    history = (
        *seen(Backend.FLASH_ATTENTION_2, 200, 200, 200),
        *seen(Backend.CUDNN, 100, 100, 100),
    )
    advice = advise(LONG, A100, PLAIN, GPU, history)
    assert advice.backend is Backend.CUDNN
    assert advice.expected_speedup == 2 * thumb(Backend.FLASH_ATTENTION_2, LONG, A100).speedup


def test_measurements_of_another_call_change_nothing() -> None:
    history = (
        *seen(Backend.FLASH_ATTENTION_2, 300, 310, 305),
        *seen(Backend.MATH, 1, 1, 1),
    )
    other = evolve(LONG, batch=3)
    assert advise(other, A100, PLAIN, GPU, history) == advise(other, A100, PLAIN, GPU)


def test_a_wish_goes_before_measurements() -> None:
    history = (*seen(Backend.FLASH_ATTENTION_2, 9, 9, 9), *seen(Backend.MATH, 99, 99, 99))
    advice = advise(LONG, A100, Configuration(debug=True), GPU, history)
    assert advice.backend is Backend.MATH
    assert ranked(advice)[1] is Backend.FLASH_ATTENTION_2


CHOICES = tuple(
    base
    for base in BASES.values()
    if len(survey(base.attention, base.hardware, PLAIN, base.build).runnable) > 1
)


@given(st.sampled_from(CHOICES), st.data())
def test_where_all_that_can_run_was_measured_the_fastest_wins(
    base: Example, data: st.DataObject
) -> None:
    attention, device, build = base.attention, base.hardware, base.build
    runnable = survey(attention, device, PLAIN, build).runnable
    key = workload_key(attention, device, build)
    latencies = data.draw(st.permutations(range(1, len(runnable) + 1)))
    pairs = tuple(zip(runnable, latencies, strict=True))
    history = [
        Observation(backend, key, 1000 * latency + jitter)
        for backend, latency in pairs
        for jitter in (0, 1, 2)
    ]
    advice = advise(attention, device, PLAIN, build, data.draw(st.permutations(history)))
    assert ranked(advice) == [backend for backend, _ in sorted(pairs, key=lambda pair: pair[1])]
    assert advice.confidence > Fraction(1, 2)


@given(plain_inputs(), gpus, configurations, gpu_builds, st.data())
def test_history_never_brings_an_excluded_backend_back(
    attention: AttentionInput,
    device: Hardware,
    configuration: Configuration,
    build: OrtBuild,
    data: st.DataObject,
) -> None:
    surveyed = survey(attention, device, configuration, build)
    assume(surveyed.runnable)
    key = workload_key(attention, device, build)
    fastest = data.draw(st.sampled_from([one.backend for one in surveyed.excluded]))
    history = [Observation(fastest, key, 1)] * 3
    advice = advise(attention, device, configuration, build, history)
    assert set(ranked(advice)) == set(surveyed.runnable)


def test_latency_looks_at_the_speed_up_first_and_throughput_at_memory_among_equals() -> None:
    short = call(Operator.MULTI_HEAD_ATTENTION, 64, 64)
    assert survey(short, A100, PLAIN, GPU).runnable
    latency = advise(short, A100, Configuration(objective=Objective.LATENCY), GPU)
    speedups = [one.expected_speedup for one in (latency.recommended, *latency.alternatives)]
    assert speedups == sorted(speedups, reverse=True)
    packed = evolve(MHA, packing=Packing.PACKED_QKV, query_length=600, key_length=600)
    throughput = advise(packed, A100, Configuration(objective=Objective.THROUGHPUT), GPU)
    balanced = advise(packed, A100, PLAIN, GPU)
    assert [one.score_permille for one in throughput.alternatives] == [
        one.score_permille for one in balanced.alternatives
    ]


@given(plain_inputs(), hardware, st.sampled_from(ORDER))
def test_every_rule_of_thumb_is_a_score_in_per_mille_and_a_positive_speed_up(
    attention: AttentionInput, device: Hardware, backend: Backend
) -> None:
    guess = thumb(backend, attention, device)
    assert 0 < guess.score_permille <= 1000
    assert guess.speedup > 0
    assert guess.reason


@pytest.mark.parametrize(
    ("backend", "length", "score_permille", "speedup"),
    [
        (Backend.FLASH_ATTENTION_2, 511, 600, Fraction(6, 5)),
        (Backend.FLASH_ATTENTION_2, 512, 850, Fraction(9, 5)),
        (Backend.FLASH_ATTENTION_2, 1024, 850, Fraction(5, 2)),
        (Backend.FLASH_ATTENTION_2, 2048, 950, Fraction(7, 2)),
        (Backend.FLASH_ATTENTION_2, 4096, 950, Fraction(5)),
        (Backend.FLASH_ATTENTION_3, 511, 700, Fraction(12, 5)),
        (Backend.FLASH_ATTENTION_3, 512, 900, Fraction(18, 5)),
        (Backend.FLASH_ATTENTION_3, 2048, 980, Fraction(7)),
        (Backend.CUDNN, 512, 900, Fraction(2)),
        (Backend.CUDNN, 513, 700, Fraction(3, 2)),
        (Backend.MATH, 128, 800, Fraction(1)),
        (Backend.MATH, 129, 300, Fraction(1)),
        (Backend.CPU, 511, 250, Fraction(11, 10)),
        (Backend.CPU, 512, 400, Fraction(11, 10)),
    ],
)
def test_rules_of_thumb_step_at_their_stated_lengths(
    backend: Backend, length: int, score_permille: int, speedup: Fraction
) -> None:
    guess = thumb(backend, call(Operator.MULTI_HEAD_ATTENTION, length, length), A100)
    assert (guess.score_permille, guess.speedup) == (score_permille, speedup)


@pytest.mark.parametrize(
    ("keys", "score_permille", "speedup"),
    [
        (255, 550, Fraction(3, 2)),
        (256, 800, Fraction(3, 2)),
        (1024, 970, Fraction(4)),
        (4096, 970, Fraction(10)),
        (8192, 970, Fraction(20)),
        (32768, 970, Fraction(50)),
    ],
)
def test_splitting_over_the_keys_pays_with_their_number(
    keys: int, score_permille: int, speedup: Fraction
) -> None:
    step = evolve(GQA, key_length=keys, past_length=keys - 1)
    guess = thumb(Backend.FLASH_DECODE, step, A100)
    assert (guess.score_permille, guess.speedup) == (score_permille, speedup)
    several = evolve(step, query_length=2, past_length=keys - 2)
    assert thumb(Backend.FLASH_DECODE, several, A100).score_permille == 200


def test_memory_efficient_rates_high_only_where_scores_would_fill_the_memory() -> None:
    huge = evolve(MHA, batch=32, query_heads=32, kv_heads=32, query_length=8192, key_length=8192)
    assert thumb(Backend.MEMORY_EFFICIENT, huge, A100).score_permille == 850
    assert thumb(Backend.MEMORY_EFFICIENT, MHA, A100).score_permille == 500


def test_a_single_measured_backend_changes_no_order_and_keeps_its_guess() -> None:
    history = seen(Backend.FLASH_ATTENTION_2, 300, 310, 305)
    advice = advise(LONG, A100, PLAIN, GPU, history)
    assert ranked(advice) == ranked(advise(LONG, A100, PLAIN, GPU))
    assert advice.recommended.basis is Basis.MEASURED
    assert advice.expected_speedup == 5, "nothing to compare with"
    assert advice.confidence == Fraction(95, 100)
