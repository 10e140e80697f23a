"""What counts as the same output, and what never does (E6)."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from ortsel.verification.comparison import (
    CHUNK_ELEMENTS,
    Comparison,
    Different,
    Equal,
    Incomparable,
    Kind,
    compare,
)
from ortsel.verification.element_types import BOUNDS, Bound
from ortsel.verification.tolerance import BY_TYPE, EXACT, Tolerance

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FLOATS = (np.float16, np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
EIGHT_BITS = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")

shapes = npst.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=5)
finite_arrays: st.SearchStrategy[Array] = st.sampled_from(FLOATS).flatmap(
    lambda dtype: npst.arrays(dtype, shapes, elements={"allow_nan": False, "allow_infinity": False})
)
exact_arrays: st.SearchStrategy[Array] = st.one_of(
    st.sampled_from(INTEGERS).flatmap(lambda dtype: npst.arrays(dtype, shapes)),
    npst.arrays(np.bool_, shapes),
)
string_arrays: st.SearchStrategy[Array] = npst.arrays(np.object_, shapes, elements=st.text())
tensors = st.one_of(finite_arrays, exact_arrays, string_arrays)
maps = st.dictionaries(
    st.one_of(st.integers(-5, 5), st.text(max_size=3)),
    st.floats(width=32, allow_nan=False, allow_infinity=False),
    min_size=1,
    max_size=4,
)
values: st.SearchStrategy[object] = st.recursive(
    st.one_of(tensors, maps), lambda inner: st.lists(inner, min_size=1, max_size=3), max_leaves=6
)


def compared(reference: object, candidate: object, tolerance: Tolerance = BY_TYPE) -> Comparison:
    return compare([reference], [candidate], ["y"], tolerance)


def difference(reference: object, candidate: object, tolerance: Tolerance = BY_TYPE) -> Different:
    found = compared(reference, candidate, tolerance)
    assert isinstance(found, Different), found
    return found


def index_in(array: Array, draw: st.DrawFn) -> tuple[int, ...]:
    return tuple(draw(st.integers(0, side - 1)) for side in array.shape)


def copied(value: object) -> object:
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list):
        return [copied(item) for item in value]
    return dict(value) if isinstance(value, dict) else value


@given(values)
def test_finite_values_equal_their_copies_at_any_depth(value: object) -> None:
    assert compared(value, copied(value)) == Equal()
    assert compared(value, copied(value), EXACT) == Equal()


@given(st.data(), finite_arrays, st.sampled_from([np.nan, np.inf, -np.inf]))
def test_one_special_value_more_or_less_is_always_seen(
    data: st.DataObject, array: Array, special: float
) -> None:
    other = array.copy()
    other[data.draw(st.composite(lambda draw: index_in(array, draw))())] = special
    kind = Kind.NAN if np.isnan(special) else Kind.INFINITY
    assert difference(array, other).kind is kind
    assert difference(other, array).kind is kind


@given(st.data(), finite_arrays)
def test_an_infinity_of_the_other_sign_is_seen(data: st.DataObject, array: Array) -> None:
    index = data.draw(st.composite(lambda draw: index_in(array, draw))())
    positive, negative = array.copy(), array.copy()
    positive[index], negative[index] = np.inf, -np.inf
    assert difference(positive, negative).kind is Kind.INFINITY


def test_special_values_at_the_same_places_are_equal() -> None:
    array = np.array([1.0, np.nan, np.inf, -np.inf, 2.0, 3.0, 4.0], np.float32)
    assert compared(array, array.copy()) == Equal()


@given(st.data(), exact_arrays)
def test_one_changed_integer_or_boolean_is_always_seen(data: st.DataObject, array: Array) -> None:
    index = data.draw(st.composite(lambda draw: index_in(array, draw))())
    other = array.copy()
    changed = ~other[index] if array.dtype == np.bool_ else other[index] ^ array.dtype.type(1)
    other[index] = changed
    assert (other != array).sum() == 1, "pointless unless exactly one element changed"
    found = difference(array, other)
    assert found.kind is Kind.VALUE
    assert f"1 of {array.size} elements differ" in found.what
    assert f"first at {index}" in found.what


@given(st.data(), string_arrays)
def test_one_changed_string_is_always_seen(data: st.DataObject, array: Array) -> None:
    index = data.draw(st.composite(lambda draw: index_in(array, draw))())
    other = array.copy()
    other[index] = array[index] + "!"
    assert difference(array, other).kind is Kind.VALUE


@given(finite_arrays | exact_arrays, st.sampled_from(FLOATS + INTEGERS))
def test_another_element_type_is_never_equal_whatever_the_values(
    array: Array, dtype: type[np.generic]
) -> None:
    assume(array.dtype != dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        other = array.astype(dtype)
    assert difference(array, other).kind is Kind.DTYPE


@given(st.integers(2, 5), st.sampled_from(FLOATS + INTEGERS))
def test_nothing_is_broadcast_or_reshaped(side: int, dtype: type[np.generic]) -> None:
    row, square = np.ones((1, side), dtype), np.ones((side, side), dtype)
    assert np.all(row == square), "pointless unless broadcasting would call them equal"
    assert difference(row, square).kind is Kind.SHAPE
    assert difference(square, row).kind is Kind.SHAPE
    assert difference(row, np.ones((side,), dtype)).kind is Kind.RANK
    assert difference(row, np.ones((), dtype)).kind is Kind.RANK
    assert difference(row, np.ones((side, 1), dtype)).kind is Kind.SHAPE


@given(finite_arrays)
def test_a_reshaped_array_is_never_equal(array: Array) -> None:
    assert isinstance(compared(array, array.reshape((1, *array.shape))), Different)


@pytest.mark.parametrize("element", sorted(BOUNDS))
def test_the_bound_of_a_type_lets_through_what_is_within_and_nothing_beyond(element: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, element, None) or element)
    bound = BOUNDS[element]
    reference = np.array([1.0, 0.0, 0.0], dtype)
    if element == "float8_e8m0fnu":
        reference = np.array([1.0, 0.5, 0.5], dtype)
    allowed = bound.allowed_absolute(1.0) + bound.relative + bound.scale
    steps = np.arange(256, dtype=np.float64) / 64 * max(allowed, 0.25)
    for step in steps:
        candidate = reference.copy()
        candidate[0] = np.asarray(1.0 + step).astype(dtype)
        apart = float(candidate[0]) - 1.0
        expected = Equal if apart <= allowed else Different
        assert isinstance(compared(reference, candidate), expected), apart


@given(st.floats(1e-3, 1e3), st.floats(0.0, 0.5), st.floats(0.0, 0.5), st.floats(1e-6, 1.0))
def test_the_three_parts_of_a_bound_add_up(
    largest: float, relative: float, scale: float, absolute: float
) -> None:
    bound = Bound(relative, scale, absolute)
    tolerance = Tolerance(overrides=(("y", bound),))
    small = largest / 2
    reference = np.array([largest, small], np.float64)
    allowed = absolute + relative * small + scale * largest
    for factor, expected in ((0.999, Equal), (1.001, Different)):
        candidate = reference + np.array([0.0, allowed * factor])
        assert isinstance(compared(reference, candidate, tolerance), expected)


def test_a_tensor_of_tiny_values_is_not_swallowed_by_the_absolute_part() -> None:
    for dtype in FLOATS[1:]:
        absolute = BOUNDS[np.dtype(dtype).name].absolute
        tiny: Array = np.full(8, absolute / 10, dtype)
        assert np.all(tiny < absolute), "pointless unless all of it is below the absolute part"
        assert isinstance(compared(tiny, np.zeros_like(tiny)), Different)
        assert isinstance(compared(tiny, tiny * np.asarray(1.1, dtype)), Different)
        assert compared(np.zeros_like(tiny), tiny) == Equal()


def test_a_saturating_function_may_be_off_by_a_few_units_of_one() -> None:
    small = np.linspace(0.0, 6e-5, 64, dtype=np.float32)
    assert compared(small, small + np.float32(1.8e-7)) == Equal()
    assert isinstance(compared(small, small + np.float32(1.8e-6)), Different)


def test_reduced_precision_that_nobody_asked_for_is_rejected() -> None:
    generator = np.random.default_rng(0)
    left = generator.standard_normal((64, 256)).astype(np.float32)
    right = generator.standard_normal((256, 64)).astype(np.float32)
    whole = left @ right
    reordered = left[:, ::-1].copy() @ right[::-1].copy()
    assert not np.array_equal(whole, reordered), "pointless unless the sums were reordered"
    assert compared(whole, reordered) == Equal()
    bits = np.uint32(0xFFFFE000)  # TF32 keeps ten bits of the mantissa
    coarse = (left.view(np.uint32) & bits).view(np.float32) @ (right.view(np.uint32) & bits).view(
        np.float32
    )
    assert difference(whole, coarse).kind is Kind.VALUE
    half = left.astype(np.float16) @ right.astype(np.float16)
    assert difference(whole, half.astype(np.float32)).kind is Kind.VALUE


def test_flipped_labels_are_counted_in_rows_and_elements() -> None:
    labels = np.arange(2000, dtype=np.int64).reshape(500, 4)
    flipped = labels.copy()
    flipped[10, 1:3] += 1
    flipped[20, 0] += 1
    what = difference(labels, flipped).what
    assert what == (
        "3 of 2000 elements differ, in 2 of 500 rows; first at (10, 1): "
        "np.int64(42), reference has np.int64(41)"
    )


def test_integers_are_not_excused_by_an_override() -> None:
    tolerance = Tolerance(overrides=(("y", Bound(absolute=10.0)),))
    assert difference(np.array([1]), np.array([2]), tolerance).kind is Kind.VALUE


def test_large_integers_are_not_compared_as_floats() -> None:
    big = np.array([2**53, 2**53 + 1], np.int64)
    assert float(big[0]) == float(big[1]), "pointless unless float64 cannot tell them apart"
    assert difference(big[:1], big[1:]).kind is Kind.VALUE


def test_an_override_holds_for_its_output_alone() -> None:
    tolerance = Tolerance(overrides=(("loose", Bound(absolute=1.0)),))
    one, two = np.array([1.0]), np.array([1.5])
    assert compare([one], [two], ["loose"], tolerance) == Equal()
    assert isinstance(compare([one], [two], ["tight"], tolerance), Different)


def test_exact_allows_no_distance_at_all() -> None:
    one = np.array([1.0], np.float32)
    next_one = np.nextafter(one, np.float32(2.0))
    assert compared(one, next_one) == Equal()
    assert isinstance(compared(one, next_one, EXACT), Different)


@given(st.lists(finite_arrays, max_size=3), st.lists(finite_arrays, max_size=3))
def test_sequences_of_other_lengths_differ(one: list[Array], other: list[Array]) -> None:
    assume(len(one) != len(other))
    assert difference(one, other).kind is Kind.LENGTH


def test_a_difference_deep_inside_is_found_and_placed() -> None:
    deep = [[np.array([1, 2])], {"a": 1.0, "b": 2.0}]
    other: list[object] = [[np.array([1, 3])], {"a": 1.0, "b": 2.0}]
    found = difference(deep, other)
    assert (found.output, found.kind) == ("y[0][0]", Kind.VALUE)
    assert difference(deep, [deep[0], {"a": 1.0, "c": 2.0}]).kind is Kind.KEYS
    assert difference(deep, [deep[0], {"a": 1.0, "b": 2.5}]).output == "y[1]{values}"
    assert difference({1: 1.0}, {"1": 1.0}).kind is Kind.KEYS
    assert difference({1: 7}, {1: 8}).output == "y[1]"


@pytest.mark.parametrize(
    "values",
    [(None, np.ones(1)), (np.ones(1), [np.ones(1)]), ([np.ones(1)], {1: 1.0}), (1.0, np.ones(()))],
)
def test_another_kind_of_value_differs(values: tuple[object, object]) -> None:
    one, other = values
    assert difference(one, other).kind is Kind.TYPE
    assert difference(other, one).kind is Kind.TYPE


def test_another_number_of_outputs_differs() -> None:
    one = np.ones(1)
    found = compare([one], [one, one], ["y"], BY_TYPE)
    assert isinstance(found, Different)
    assert found.kind is Kind.COUNT
    assert isinstance(compare([one, one], [one, one], ["y"], BY_TYPE), Incomparable)


@pytest.mark.parametrize(
    "value",
    [
        object(),
        np.array(["2020-01-01"], "datetime64[D]"),
        np.array([object()]),
        [object()],
        {1: object()},
    ],
)
def test_what_cannot_be_compared_is_never_equal(value: object) -> None:
    assert isinstance(compared(value, value), Incomparable)


@pytest.mark.parametrize("value", [None, np.ones((0, 3)), np.zeros(0, np.int64), [], {}, [None]])
def test_empty_outputs_prove_nothing_alone_and_do_no_harm_beside_others(value: object) -> None:
    assert isinstance(compared(value, value), Incomparable)
    one = np.ones(1)
    assert compare([value, one], [value, one], ["a", "b"], BY_TYPE) == Equal()


@pytest.mark.parametrize(
    ("special", "total", "kind"), [(2, 4, Equal), (3, 4, Incomparable), (4, 4, Incomparable)]
)
def test_a_reference_that_is_mostly_not_finite_proves_nothing(
    special: int, total: int, kind: type[Comparison]
) -> None:
    array = np.ones(total, np.float32)
    array[:special] = np.nan
    assert isinstance(compared(array, array.copy()), kind)
    beside: Sequence[Array] = [array, np.ones(3)]
    assert isinstance(compare(beside, beside, ["a", "b"], BY_TYPE), kind)


def test_a_difference_outweighs_what_cannot_be_compared() -> None:
    names = ["strange", "y"]
    found = compare([object(), np.ones(1)], [object(), np.zeros(1)], names, BY_TYPE)
    assert isinstance(found, Different)


@pytest.mark.parametrize("name", EIGHT_BITS)
def test_eight_bit_floats_may_be_one_step_apart_and_no_more(name: str) -> None:
    dtype = np.dtype(getattr(ml_dtypes, name))
    every = np.arange(256, dtype=np.uint8).view(dtype)
    ordered = np.unique(every[np.isfinite(every.astype(np.float64))].astype(np.float64))
    middle = ordered[(np.abs(ordered) > 0.1) & (np.abs(ordered) < 100.0)]
    assert middle.size > 20, "pointless with hardly any value"
    positive = middle[middle > 0]
    for one, two, three in zip(positive[:-2], positive[1:-1], positive[2:], strict=True):
        reference = np.array([two, 0.0], dtype)
        for neighbour in (one, three):
            assert compared(reference, np.array([neighbour, 0.0], dtype)) == Equal()
        assert isinstance(compared(reference, np.array([two * 2, 0.0], dtype)), Different)


def test_a_difference_after_the_first_chunk_is_found_at_its_place() -> None:
    array = np.ones((2, CHUNK_ELEMENTS), np.float32)
    wrong = array.copy()
    wrong[1, 5] = 2.0
    assert "worst at (1, 5): 2.0, reference has 1.0" in difference(array, wrong).what
    wrong[1, 5] = np.nan
    assert "first at (1, 5)" in difference(array, wrong).what


def test_strided_and_other_endian_arrays_are_compared_by_value() -> None:
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert compared(array.T, np.ascontiguousarray(array.T)) == Equal()
    assert compared(array, array.astype(">f4")) == Equal()
    assert isinstance(compared(array, array[::-1]), Different)


def test_complex_outputs_are_compared_in_both_parts() -> None:
    array = np.array([1 + 2j, 3 - 1j], np.complex64)
    assert compared(array, array.copy()) == Equal()
    assert isinstance(compared(array, array + np.complex64(1j)), Different)
    assert isinstance(compared(array, array + np.complex64(1)), Different)
