from functools import reduce
from random import Random

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ortsel.store.codec import encode
from ortsel.store.preference import CONCURRENT_S, supersedes
from spec.record import CLOCK_SKEW_S, Origin, Record
from tests.ortsel.store.sample_records import NOW_S, record, records

LONG_AGO_S = NOW_S - 10 * CONCURRENT_S


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (record(), record(created_s=NOW_S + CLOCK_SKEW_S + 1, blocks=99)),
        (record(created_s=LONG_AGO_S), record(origin=Origin.IMPORTED, blocks=99)),
        (record(blocks=1), record(created_s=LONG_AGO_S, blocks=99)),
        (record(blocks=1), record(verified=False, blocks=99)),
        (record(blocks=1), record(provisional=True, blocks=99)),
        (record(blocks=1), record(complete=False, blocks=99)),
        (record(created_s=NOW_S - 1, blocks=9), record(blocks=8)),
        (record(created_s=NOW_S - 1, feeds=3), record(feeds=2)),
        (record(created_s=NOW_S), record(created_s=NOW_S - 1)),
    ],
)
def test_the_better_record_stays_whichever_comes_first(better: Record, worse: Record) -> None:
    assert supersedes(better, worse, NOW_S)
    assert not supersedes(worse, better, NOW_S)


@given(records(), records())
def test_of_two_records_one_is_better(left: Record, right: Record) -> None:
    if encode(left) == encode(right):
        assert not supersedes(left, right, NOW_S)
    else:
        assert supersedes(left, right, NOW_S) != supersedes(right, left, NOW_S)


@given(
    st.lists(
        st.builds(
            lambda one, age_s: evolve(one, created_s=NOW_S - age_s),
            records(st.just("k")),
            st.integers(0, CONCURRENT_S),
        ),
        min_size=2,
        max_size=4,
    ),
    st.randoms(use_true_random=False),
)
def test_the_order_of_arrival_does_not_decide_between_records_made_at_once(
    made: list[Record], random: Random
) -> None:
    shuffled = list(made)
    random.shuffle(shuffled)

    def kept(arrived: list[Record]) -> Record:
        return reduce(lambda old, new: new if supersedes(new, old, NOW_S) else old, arrived)

    assert encode(kept(made)) == encode(kept(shuffled))
