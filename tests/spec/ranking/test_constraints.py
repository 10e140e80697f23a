"""Every constraint that inputs fail is named (R3)."""

import pytest
from attrs import evolve

from spec.errors import InvalidValue
from spec.ranking import (
    Constraint,
    Constraints,
    KernelInputs,
    SizeRange,
    TensorInput,
    unmet,
)
from tests.spec.ranking.sample_kernels import INPUTS, PLAIN, kernel

STRICT = Constraints(
    dtypes=frozenset({"float32"}),
    size=SizeRange(100, 1000),
    alignment_bytes=64,
    shapes=((None, 10), (4,)),
    features=frozenset({"avx2", "avx512"}),
)
GOOD = evolve(INPUTS, features=frozenset({"avx2", "avx512", "amx"}))


def failing(constraints: Constraints, inputs: KernelInputs) -> list[Constraint]:
    return [one.constraint for one in unmet(kernel("k", constraints), inputs)]


def test_inputs_that_meet_every_constraint_fail_none() -> None:
    assert unmet(kernel("k", STRICT), GOOD) == ()


@pytest.mark.parametrize(
    ("inputs", "constraint"),
    [
        (evolve(GOOD, tensors=(TensorInput((2, 10), "float32"),)), Constraint.SIZE_AT_LEAST),
        (evolve(GOOD, tensors=(TensorInput((26, 10), "float32"),)), Constraint.SIZE_AT_MOST),
        (evolve(GOOD, tensors=(TensorInput((10, 10), "int32"),)), Constraint.DTYPE),
        (evolve(GOOD, alignment_bytes=32), Constraint.ALIGNMENT),
        (evolve(GOOD, tensors=(TensorInput((10, 11), "float32"),)), Constraint.SHAPE),
        (evolve(GOOD, tensors=(TensorInput((10, 10, 1), "float32"),)), Constraint.SHAPE),
        (evolve(GOOD, features=frozenset({"avx2"})), Constraint.FEATURE),
    ],
)
def test_each_constraint_is_checked_and_named(inputs: KernelInputs, constraint: Constraint) -> None:
    assert failing(STRICT, inputs) == [constraint]


def test_both_ends_of_the_size_range_belong_to_it() -> None:
    for size in (100, 1000):
        ends = evolve(PLAIN, size=SizeRange(size, size))
        assert failing(ends, KernelInputs((TensorInput((size // 4,), "float32"),))) == []


def test_all_failing_constraints_are_named_in_a_fixed_order() -> None:
    bad = KernelInputs((TensorInput((3,), "int8"), TensorInput((4,), "float32")), 1)
    assert failing(STRICT, bad) == [
        Constraint.SIZE_AT_LEAST,
        Constraint.DTYPE,
        Constraint.ALIGNMENT,
        Constraint.SHAPE,
        Constraint.FEATURE,
        Constraint.FEATURE,
    ]
    texts = [str(one) for one in unmet(kernel("k", STRICT), bad)]
    assert texts[0] == "size_at_least: got 19, need 100"
    assert texts[1] == "dtype: got int8 at input 0, need float32"
    assert texts[3] == "shape: got [3] at input 0, need [*,10] or [4]"
    assert texts[4:] == ["feature: got absent, need avx2", "feature: got absent, need avx512"]


def test_a_larger_alignment_than_needed_is_enough() -> None:
    assert failing(evolve(PLAIN, alignment_bytes=16), evolve(INPUTS, alignment_bytes=64)) == []
    assert failing(evolve(PLAIN, alignment_bytes=64), evolve(INPUTS, alignment_bytes=16)) == [
        Constraint.ALIGNMENT
    ]


@pytest.mark.parametrize(
    ("tensor", "size_bytes"),
    [
        (TensorInput((3, 5), "float16"), 30),
        (TensorInput((3,), "int4"), 2),
        (TensorInput((), "double"), 8),
        (TensorInput((7, 0), "float32"), 0),
    ],
)
def test_sizes_follow_from_shape_and_element_type(tensor: TensorInput, size_bytes: int) -> None:
    assert tensor.size_bytes == size_bytes


@pytest.mark.parametrize(("shape", "dtype"), [((-1,), "float32"), ((1,), "string"), ((1,), "f32")])
def test_a_tensor_without_a_size_is_refused(shape: tuple[int, ...], dtype: str) -> None:
    with pytest.raises(InvalidValue, match="R3"):
        TensorInput(shape, dtype)
