"""Waiting between blocks where the machine changes its state (E9)."""

import pytest

from ortsel.trial.limits import MILLISECOND_NS, SECOND_NS
from ortsel.trial.spreading import PAUSE_NS, SHARE, pause_before_block_ns, two_states

FAST, SLOW = 12 * MILLISECOND_NS, 26 * MILLISECOND_NS


def test_two_states_are_seen_once_each_has_two_blocks_of_times() -> None:
    assert two_states([FAST] * 4 + [SLOW] * 4)
    assert two_states([SLOW, FAST] * 4)
    assert not two_states([FAST] * 40 + [SLOW] * 3), "an accident"
    assert not two_states([SLOW] * 40 + [FAST] * 3)
    assert not two_states([FAST] * 40)
    assert not two_states([])


def test_noise_is_no_state() -> None:
    assert not two_states([FAST + step * MILLISECOND_NS // 2 for step in range(40)])


@pytest.mark.parametrize("left_ns", [0, -1, SECOND_NS, 60 * SECOND_NS])
def test_nobody_waits_in_one_state(left_ns: int) -> None:
    assert pause_before_block_ns([FAST] * 40, left_ns) == 0


def test_a_wait_is_bounded_by_itself_and_by_the_turn() -> None:
    both = [FAST] * 8 + [SLOW] * 8
    assert pause_before_block_ns(both, 60 * SECOND_NS) == PAUSE_NS
    assert pause_before_block_ns(both, SECOND_NS) == SECOND_NS // SHARE
    assert pause_before_block_ns(both, 100 * MILLISECOND_NS) == 0, "not worth a wake-up"
    assert pause_before_block_ns(both, 0) == pause_before_block_ns(both, -SECOND_NS) == 0


def test_waiting_never_uses_up_a_turn() -> None:
    left_ns = 10 * SECOND_NS
    for _ in range(10):
        left_ns -= pause_before_block_ns([FAST, SLOW] * 8, left_ns)
    assert left_ns > 10 * SECOND_NS // 2
