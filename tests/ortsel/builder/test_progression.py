"""Lists of sizes with an ellipsis."""

import re
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ortsel.builder.progression import ELLIPSIS, MOST_SIZES, ProgressionError, expand


@given(st.integers(0, 1000), st.integers(1, 50), st.integers(3, 8), st.integers(1, 100))
def test_three_equal_steps_go_on_to_the_end(first: int, step: int, shown: int, more: int) -> None:
    whole = tuple(first + step * at for at in range(shown + more))
    assert expand([*whole[:shown], ELLIPSIS, whole[-1]]) == whole


@given(st.integers(1, 50), st.integers(2, 5), st.integers(3, 5), st.integers(1, 8), st.booleans())
def test_three_equal_factors_go_on_to_the_end(
    first: int, factor: int, shown: int, more: int, falling: bool
) -> None:
    whole = tuple(first * factor**at for at in range(shown + more))
    whole = whole[::-1] if falling else whole
    assert expand([*whole[:shown], ELLIPSIS, whole[-1]]) == whole


@given(st.lists(st.integers(0, 500), min_size=2, max_size=5), st.integers(0, 5000))
def test_whatever_is_accepted_keeps_one_pace_and_ends_at_the_end(
    start: list[int], end: int
) -> None:
    try:
        sizes = expand([*start, ELLIPSIS, end])
    except ProgressionError:
        return
    assert list(sizes[: len(start)]) == start
    assert sizes[-1] == end
    assert len(sizes) > len(start)
    steps = {second - first for first, second in pairwise(sizes)}
    products = {
        second * sizes[0] == first * sizes[1] for first, second in pairwise(sizes) if sizes[0]
    }
    assert len(steps) == 1 or products == {True}


@given(st.integers(0, 100), st.integers(1, 50), st.integers(1, 100), st.integers(1, 49))
def test_an_end_between_two_steps_is_refused(first: int, step: int, more: int, beside: int) -> None:
    assume(beside < step)
    start = [first, first + step, first + 2 * step]
    end = first + step * (2 + more) + beside
    with pytest.raises(ProgressionError, match=f"beyond {start[-1]} reached in steps of {step}$"):
        expand([*start, ELLIPSIS, end])


@pytest.mark.parametrize(
    ("items", "sizes"),
    [
        ([16, 32, 64, ELLIPSIS, 512], (16, 32, 64, 128, 256, 512)),
        ([16, 32, 48, ELLIPSIS, 80], (16, 32, 48, 64, 80)),
        ([16, 32, ELLIPSIS, 80], (16, 32, 48, 64, 80)),
        ([3, 6, ELLIPSIS, 9], (3, 6, 9)),
        ([0, 1, ELLIPSIS, 3], (0, 1, 2, 3)),
        ([512, 256, 128, ELLIPSIS, 16], (512, 256, 128, 64, 32, 16)),
        ([4, 6, 9, ELLIPSIS, 9], None),
        ([7, 5, 900], (7, 5, 900)),
    ],
)
def test_examples(items: list[int | str], sizes: tuple[int, ...] | None) -> None:
    if sizes is None:
        with pytest.raises(ProgressionError):
            expand(items)
    else:
        assert expand(items) == sizes


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([16, 32, ELLIPSIS, 512], "a third number, 48 or 64: 512 is reached"),
        ([16, 32, 64, ELLIPSIS, 500], "reached by a factor of 2"),
        ([16, 32, 100, ELLIPSIS, 512], "equal differences or equal ratios"),
        ([16, 32, 64, ELLIPSIS, 64], "an end beyond 64"),
        ([16, 32, 64, ELLIPSIS, 8], "an end beyond 64"),
        ([16, ELLIPSIS, 512], "two numbers or more before the ellipsis"),
        ([ELLIPSIS, 512], "two numbers or more before the ellipsis"),
        ([16, 32, ELLIPSIS], "exactly one number after the ellipsis"),
        ([ELLIPSIS], "exactly one number after the ellipsis"),
        ([16, 32, ELLIPSIS, 64, 80], "exactly one number after the ellipsis"),
        ([16, ELLIPSIS, 32, ELLIPSIS, 64], "one ellipsis at most"),
        ([16, 16, 16, ELLIPSIS, 16], "that differ"),
        ([0, 1, 2, ELLIPSIS, MOST_SIZES + 1], f"at most {MOST_SIZES} sizes"),
    ],
)
def test_what_cannot_be_continued_is_refused_with_its_reason(
    items: list[int | str], words: str
) -> None:
    with pytest.raises(ProgressionError, match=re.escape(words)) as caught:
        expand(items)
    assert str(caught.value).startswith("got [")
