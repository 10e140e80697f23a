"""Blocks of two states of a machine are told apart by their times, and mixed (E9)."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.evidence import Block
from spec.evidence.machine_states import by_state, mixture, states_seen, window_ns

TIMES = st.integers(min_value=1, max_value=10**12)
BLOCKS = st.lists(
    st.builds(Block, st.tuples(TIMES, TIMES), st.tuples(TIMES, TIMES), st.integers(0, 10**12)),
    max_size=12,
)


def of(*times_ns: int) -> list[Block]:
    """Blocks in which the reference takes so long, and the candidate always as long."""
    return [Block((one, one), (700, 700), 1000 * place) for place, one in enumerate(times_ns)]


def test_no_block_is_of_no_state() -> None:
    assert states_seen([]) == 0


@pytest.mark.parametrize(
    ("times_ns", "states"),
    [
        ((1000,), 1),
        ((1000, 2000), 1),
        ((1000, 2000, 2000), 1),
        ((1000, 1000, 2000), 1),
        ((1000, 1000, 2000, 2000), 2),
        ((2000, 1000, 2000, 1000), 2),
        ((1000, 1000, 1500, 1500), 2),
        ((1000, 1000, 1499, 1499), 1),
        ((1000, 1200, 1400, 1600, 1800, 2000), 1),
        ((1000, 1000, 1000, 9000), 1),
    ],
)
def test_a_jump_with_two_blocks_on_either_side_parts_two_states(
    times_ns: tuple[int, ...], states: int
) -> None:
    assert states_seen(of(*times_ns)) == states


@given(BLOCKS)
def test_the_order_of_blocks_plays_no_part(blocks: list[Block]) -> None:
    assert states_seen(blocks) == states_seen(blocks[::-1])


@given(BLOCKS)
def test_exchanging_the_sides_changes_no_state_and_inverts_the_mixture(
    blocks: list[Block],
) -> None:
    mirrored = [Block(one.candidate_ns, one.reference_ns, one.started_ns) for one in blocks]
    assert states_seen(mirrored) == states_seen(blocks)
    if blocks:
        assert mixture(mirrored) * mixture(blocks) == 1


@given(BLOCKS.filter(bool))
def test_the_mixture_lies_between_the_block_ratios(blocks: list[Block]) -> None:
    ratios = [block.ratio for block in blocks]
    assert min(ratios) <= mixture(blocks) <= max(ratios)


def test_a_mixture_weighs_blocks_by_how_long_they_took() -> None:
    blocks = [Block((1000, 1000), (900, 900), 0), Block((2000, 2000), (900, 900), 1)]
    assert mixture(blocks) == Fraction(3600, 6000)


def test_the_window_runs_from_the_first_start_to_the_last() -> None:
    assert window_ns(of(1, 1, 1)) == 2000
    assert window_ns(of(1)) == 0
    assert window_ns([]) == 0


def test_each_state_says_what_its_own_blocks_say() -> None:
    fast = [Block((1000, 1000), (1500, 1500), place) for place in range(3)]
    slow = [Block((3000, 3000), (1500, 1500), place) for place in range(3, 5)]
    one, other = by_state([slow[0], *fast, slow[1]])
    assert (one.blocks, one.ratio, one.reference_ns) == (3, Fraction(3, 2), 1000)
    assert (other.blocks, other.ratio, other.reference_ns) == (2, Fraction(1, 2), 3000)


def test_where_only_the_candidate_has_states_its_times_tell_them_apart() -> None:
    blocks = [Block((1000, 1000), (one, one), 0) for one in (500, 2000, 500, 2000)]
    assert [state.ratio for state in by_state(blocks)] == [Fraction(1, 2), Fraction(2)]


@given(BLOCKS)
def test_states_share_all_blocks_and_their_mixture_is_that_of_all(blocks: list[Block]) -> None:
    states = by_state(blocks)
    assert len(states) == states_seen(blocks)
    assert sum(state.blocks for state in states) == len(blocks)
    if blocks:
        low, high = min(one.ratio for one in states), max(one.ratio for one in states)
        assert low <= mixture(blocks) <= high
