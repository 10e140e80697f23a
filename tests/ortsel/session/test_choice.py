"""What serves a shape: counted, looked at now and then, and never replaced by something older."""

import time

import pytest

from ortsel.choice import LOOK_EVERY, NEVER, SOON_NS, Choice, Choices, reference_for_ever

HOUR_NS = 3600 * 10**9


def in_ns(duration_ns: int) -> int:
    return time.monotonic_ns() + duration_ns


def test_a_choice_that_is_over_wants_attention_and_one_that_holds_does_not() -> None:
    assert Choice(None, in_ns(-1)).wants_attention()
    assert not Choice(None, in_ns(HOUR_NS)).wants_attention()


@pytest.mark.parametrize(("left_ns", "calls"), [(HOUR_NS, LOOK_EVERY), (SOON_NS // 2, 1)])
def test_the_clock_is_read_seldom_except_near_the_end(left_ns: int, calls: int) -> None:
    choice = Choice(None, in_ns(left_ns), uses=100)
    assert not choice.wants_attention()
    assert choice.look_at == 100 + calls


def test_a_shape_that_waits_for_a_use_wants_attention_at_that_use_and_not_before() -> None:
    choice = Choice(None, in_ns(HOUR_NS), uses=1, waits_for_use=3)
    assert not choice.wants_attention()
    assert choice.look_at == 3
    choice.uses = 3
    assert choice.wants_attention()


def test_a_switch_keeps_the_count_and_only_replaces_what_is_held() -> None:
    choices = Choices()
    choices.remember("a", Choice(None, 0, uses=7), 4)
    choices.replace("a", reference_for_ever())
    assert choices["a"].uses == 7
    assert choices["a"].look_at == 8
    choices.replace("b", reference_for_ever())
    assert "b" not in choices
    assert choices.total_uses() == 7


def test_what_serves_meanwhile_does_not_take_the_place_of_a_decision() -> None:
    choices = Choices()
    first = Choice(None, 0, uses=1)
    choices.remember_meanwhile("a", None, first, 4)
    assert choices["a"] is first
    decided = reference_for_ever()
    choices.replace("a", decided)
    choices.remember_meanwhile("a", first, Choice(None, 0, waits_for_use=NEVER), 4)
    assert choices["a"] is decided


def test_the_first_in_leaves_first() -> None:
    choices = Choices()
    for name in ("a", "b", "c"):
        choices.remember(name, reference_for_ever(), 2)
    assert list(choices) == ["b", "c"]
