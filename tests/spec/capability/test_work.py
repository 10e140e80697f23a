"""Operations are counted exactly, the causal half as half (C10)."""

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.capability import (
    AttentionInput,
    Backend,
    CacheForm,
    Operator,
    executed_flops,
    needed_flops,
    visible_pairs,
)
from spec.capability.work import causal_offset
from tests.spec.capability.rule_examples import EXTERNAL, MHA, ONNX, PACKED_MHA
from tests.spec.capability.strategies import attention_inputs

SMALL = st.integers(1, 12)


def counted(call: AttentionInput) -> int:
    """Visible pairs of one sequence, one by one."""
    offset = causal_offset(call)
    return sum(
        1
        for i in range(call.query_length)
        for j in range(call.key_length)
        if (not call.causal or j <= i + offset)
        and (call.local_window == 0 or j > i + offset - call.local_window)
    )


@given(
    st.sampled_from((Operator.MULTI_HEAD_ATTENTION, Operator.ONNX_ATTENTION_24)),
    SMALL,
    SMALL,
    st.booleans(),
    st.integers(0, 14),
)
def test_the_closed_form_counts_what_a_loop_over_all_pairs_counts(
    operator: Operator, queries: int, keys: int, causal: bool, window: int
) -> None:
    call = evolve(
        MHA,
        operator=operator,
        batch=1,
        query_length=queries,
        key_length=keys,
        causal=causal,
        local_window=window,
    )
    assert visible_pairs(call) == counted(call)


@given(SMALL, SMALL, st.booleans())
def test_the_closed_form_holds_with_past_and_external_caches(
    queries: int, past: int, causal: bool
) -> None:
    grown = evolve(
        ONNX,
        batch=1,
        query_length=queries,
        key_length=queries + past,
        past_length=past,
        cache=CacheForm.APPENDED,
        causal=causal,
    )
    external = evolve(EXTERNAL, batch=1, query_length=queries, key_length=past, causal=causal)
    assert visible_pairs(grown) == counted(grown)
    assert visible_pairs(external) == counted(external)


def test_a_causal_square_counts_n_times_n_plus_one_halves() -> None:
    square = evolve(MHA, batch=3, query_length=100, key_length=100)
    assert visible_pairs(square) == 3 * 100 * 100
    assert visible_pairs(evolve(square, causal=True)) == 3 * 100 * 101 // 2


def test_flops_are_heads_times_pairs_times_two_multiplications_and_the_softmax() -> None:
    call = evolve(MHA, batch=1, query_heads=8, query_length=3, key_length=5, value_head_size=32)
    assert needed_flops(call) == 8 * 15 * (2 * 64 + 2 * 32 + 5)


def test_ragged_sequences_count_by_their_own_length() -> None:
    full = evolve(PACKED_MHA, batch=2, query_length=512, key_length=512)
    ragged = evolve(full, sequence_lengths=(512, 10))
    assert visible_pairs(full) == 2 * 512 * 512
    assert visible_pairs(ragged) == 512 * 512 + 10 * 10


def test_a_ragged_sequence_that_sees_no_key_counts_nothing() -> None:
    call = evolve(PACKED_MHA, batch=2, query_length=64, key_length=1, sequence_lengths=(1, 64))
    assert visible_pairs(call) == 0 + 64 * 1


def test_the_last_query_aligns_with_the_last_key_except_in_onnx_attention_without_a_past() -> None:
    step = evolve(MHA, query_length=1, key_length=100, causal=True)
    assert visible_pairs(evolve(step, batch=1)) == 100
    onnx = evolve(step, operator=Operator.ONNX_ATTENTION_24)
    assert visible_pairs(evolve(onnx, batch=1)) == 1


def test_a_negative_offset_hides_the_leading_rows_altogether() -> None:
    call = evolve(EXTERNAL, batch=1, query_length=5, key_length=2, causal=True)
    assert causal_offset(call) == -3
    assert visible_pairs(call) == 1 + 2


@given(attention_inputs())
def test_causal_work_never_exceeds_full_work_and_neither_is_negative(call: AttentionInput) -> None:
    causal = needed_flops(evolve(call, causal=True))
    assert 0 <= causal <= needed_flops(evolve(call, causal=False))


@given(attention_inputs(), st.sampled_from(Backend))
def test_no_backend_spends_less_than_is_needed(call: AttentionInput, backend: Backend) -> None:
    assert executed_flops(backend, call) >= needed_flops(call)


def test_math_computes_the_hidden_half_too_and_flash_does_not() -> None:
    causal = evolve(MHA, causal=True)
    assert executed_flops(Backend.FLASH_ATTENTION_2, causal) == needed_flops(causal)
    assert executed_flops(Backend.MATH, causal) == needed_flops(evolve(MHA, causal=False))
