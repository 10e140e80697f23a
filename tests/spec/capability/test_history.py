"""What measured latencies say, and how surely (C11, C12)."""

from fractions import Fraction

from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from spec.capability import (
    GPU_WHEEL_1_31,
    PRESETS,
    Backend,
    Observation,
    workload_key,
)
from spec.capability.history import (
    MINIMUM_SAMPLES,
    chance_of_being_faster,
    latencies_of,
    median_ns,
)
from tests.spec.capability.rule_examples import MHA

KEY = workload_key(MHA, PRESETS["a100"], GPU_WHEEL_1_31)
SAMPLES = st.lists(st.integers(1, 10**9), min_size=1, max_size=12).map(
    lambda values: tuple(sorted(values))
)


def test_fewer_than_three_samples_are_no_measurement() -> None:
    two = [Observation(Backend.CUDNN, KEY, 5)] * (MINIMUM_SAMPLES - 1)
    assert latencies_of(two, KEY) == {}
    assert latencies_of([*two, Observation(Backend.CUDNN, KEY, 7)], KEY) == {
        Backend.CUDNN: (5, 5, 7)
    }


def test_another_workload_says_nothing_about_this_one() -> None:
    other = workload_key(evolve(MHA, batch=3), PRESETS["a100"], GPU_WHEEL_1_31)
    assert latencies_of([Observation(Backend.CUDNN, other, 5)] * 3, KEY) == {}


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two() -> None:
    assert median_ns((1, 2, 9)) == 2
    assert median_ns((1, 2, 3, 9)) == Fraction(5, 2)


def test_one_clear_win_is_two_thirds_and_nine_are_ten_elevenths() -> None:
    assert chance_of_being_faster((1,), (2,)) == Fraction(2, 3)
    assert chance_of_being_faster((1,) * 9, (2,) * 9) == Fraction(10, 11)
    assert chance_of_being_faster((5, 5), (5, 5)) == Fraction(1, 2)


@given(SAMPLES, SAMPLES)
def test_the_chances_of_both_sides_add_up_to_one_and_are_never_certain(
    ours: tuple[int, ...], theirs: tuple[int, ...]
) -> None:
    chance = chance_of_being_faster(ours, theirs)
    assert 0 < chance < 1
    assert chance + chance_of_being_faster(theirs, ours) == 1
