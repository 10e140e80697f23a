"""A kernel's description refuses what cannot be, and extrapolates by its law (R1)."""

from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spec.errors import InvalidValue
from spec.ranking import (
    Characteristics,
    Constraints,
    ScalingLaw,
    SizeRange,
    Variant,
    VariantKind,
    extrapolated_latency_ns,
)
from tests.spec.ranking.sample_kernels import kernel

SOME = frozenset({"float32"})


@pytest.mark.parametrize(
    "build",
    [
        lambda: kernel(""),
        lambda: Variant(VariantKind.CUSTOM),
        lambda: Variant(VariantKind.NAIVE, "mine"),
        lambda: SizeRange(2, 1),
        lambda: SizeRange(-1),
        lambda: Constraints(dtypes=frozenset()),
        lambda: Constraints(dtypes=SOME, shapes=()),
        lambda: Constraints(dtypes=SOME, alignment_bytes=12),
        lambda: Characteristics(cache_efficiency=Fraction(11, 10)),
        lambda: Characteristics(intensity=Fraction(-1)),
        lambda: Characteristics(initialisation_ns=-1),
        lambda: Characteristics(initialisation_ns=True),
    ],
)
def test_a_description_that_cannot_be_meant_is_refused(build: Callable[[], object]) -> None:
    with pytest.raises(InvalidValue, match="R1"):
        build()


def test_a_labelled_variant_and_an_open_size_range_are_legal() -> None:
    assert Variant(VariantKind.HARDWARE_SPECIFIC, "sm_90").label == "sm_90"
    assert SizeRange(2, 2) != SizeRange(2)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        (ScalingLaw.CONSTANT, 100),
        (ScalingLaw.LOGARITHMIC, 150),
        (ScalingLaw.LINEAR, 400),
        (ScalingLaw.QUADRATIC, 1600),
        (ScalingLaw.EXPONENTIAL, 800),
    ],
)
def test_each_scaling_law_extrapolates_by_its_factor(law: ScalingLaw, expected: int) -> None:
    assert extrapolated_latency_ns(law, 100, measured=8, wanted=32) == expected


KNOWN = [law for law in ScalingLaw if law is not ScalingLaw.UNKNOWN]


@given(st.sampled_from(KNOWN), st.integers(1, 10**9), st.integers(1, 10**6))
def test_the_measured_size_itself_keeps_its_latency(
    law: ScalingLaw, latency: int, size: int
) -> None:
    assert extrapolated_latency_ns(law, latency, size, size) == latency


def test_an_unknown_law_extrapolates_nothing() -> None:
    with pytest.raises(InvalidValue, match="R1"):
        extrapolated_latency_ns(ScalingLaw.UNKNOWN, 100, 1, 2)
    with pytest.raises(InvalidValue, match="R1"):
        extrapolated_latency_ns(ScalingLaw.LINEAR, 100, 0, 2)
