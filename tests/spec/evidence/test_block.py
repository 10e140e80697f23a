"""A block is R-C-C-R or its mirror, in an order drawn from values (E3, E9)."""

from collections import Counter
from fractions import Fraction
from hashlib import sha256
from itertools import pairwise
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.evidence import Block, BlockOrder, Side, block_order

R, C = Side.REFERENCE, Side.CANDIDATE
REFERENCE_OUTSIDE: BlockOrder = (R, C, C, R)
CANDIDATE_OUTSIDE: BlockOrder = (C, R, R, C)
TIMES = st.integers(min_value=1, max_value=10**12)
NUMBERS = st.integers(min_value=0, max_value=10**6)


def test_the_ratio_is_candidate_time_over_reference_time() -> None:
    assert Block((100, 300), (150, 50), 0).ratio == Fraction(1, 2)


@given(TIMES, TIMES, TIMES, TIMES)
def test_exchanging_the_sides_inverts_the_ratio(a: int, b: int, c: int, d: int) -> None:
    assert Block((a, b), (c, d), 0).ratio * Block((c, d), (a, b), 0).ratio == 1


@given(st.integers(min_value=10, max_value=10**9), st.integers(min_value=-3, max_value=10**6))
def test_a_steady_drift_cancels_within_the_block(start_ns: int, step_ns: int) -> None:
    times = [start_ns + position * step_ns for position in range(4)]
    assert Block((times[0], times[3]), (times[1], times[2]), 0).ratio == 1
    assert Block((times[1], times[2]), (times[0], times[3]), 0).ratio == 1


@pytest.mark.parametrize(
    "times",
    [(0, 5), (5, 0), (-1, 5), (5,), (5, 5, 5), (5.0, 5), (True, 5), [5, 5], None],
)
def test_a_side_without_two_positive_whole_times_is_refused(times: object) -> None:
    pair = cast("tuple[int, int]", times)
    with pytest.raises(InvalidValue, match=r"reference_ns: got .* need 2 whole nanosecond counts"):
        Block(pair, (1, 1), 0)
    with pytest.raises(InvalidValue, match="candidate_ns: got"):
        Block((1, 1), pair, 0)


@pytest.mark.parametrize("started_ns", [-1, 1.5, True])
def test_a_block_that_started_at_no_moment_is_refused(started_ns: object) -> None:
    with pytest.raises(InvalidValue, match="started_ns: got"):
        Block((1, 1), (1, 1), cast("int", started_ns))


@given(st.integers(), st.text(), st.text(), NUMBERS)
def test_every_order_is_one_of_the_two(seed: int, key: str, name: str, block: int) -> None:
    assert block_order(seed, key, name, block) in (REFERENCE_OUTSIDE, CANDIDATE_OUTSIDE)


def test_every_block_is_a_fair_draw() -> None:
    drawn = Counter(block_order(0, "key", "name", block) for block in range(2000))
    assert set(drawn) == {REFERENCE_OUTSIDE, CANDIDATE_OUTSIDE}
    assert abs(drawn[REFERENCE_OUTSIDE] - 1000) < 150, "6.7 standard deviations"


def test_a_block_tells_nothing_about_the_next() -> None:
    orders = [block_order(0, "key", "name", block) for block in range(2001)]
    repeated = sum(before == after for before, after in pairwise(orders))
    assert abs(repeated - 1000) < 150, "6.7 standard deviations"


def test_orders_are_a_function_of_the_values_alone() -> None:
    drawn = "".join(block_order(7, "key", "name", block)[0].name[0] for block in range(16))
    assert drawn == FIXED_DRAW


def test_the_bit_is_that_of_the_documented_hash() -> None:
    parts = [b"7", b"key", b"name", b"11"]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    outside = CANDIDATE_OUTSIDE if sha256(message).digest()[-1] % 2 else REFERENCE_OUTSIDE
    assert block_order(7, "key", "name", 11) == outside


FIXED_DRAW = "RCRRCCRCRRCRCCCR"


@pytest.mark.parametrize(
    "other", [(8, "key", "name"), (7, "kez", "name"), (7, "key", "nam"), (7, "keyn", "ame")]
)
def test_every_argument_changes_the_draw(other: tuple[int, str, str]) -> None:
    drawn = [block_order(7, "key", "name", block) for block in range(64)]
    assert [block_order(*other, block) for block in range(64)] != drawn


@pytest.mark.parametrize("block", [-1, 1.0, True])
def test_a_block_without_a_number_has_no_order(block: object) -> None:
    with pytest.raises(InvalidValue, match="block: got"):
        block_order(0, "key", "name", cast("int", block))


def test_a_name_that_is_no_text_has_no_order() -> None:
    with pytest.raises(InvalidValue, match="lone surrogates"):
        block_order(0, "key", "\ud800", 0)
