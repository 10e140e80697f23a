"""Bounds as values."""

import ml_dtypes
import numpy as np
import pytest

from ortsel.errors import UsageError
from ortsel.verification.element_types import BOUNDS, EXACT_BOUND, Bound
from ortsel.verification.tolerance import BY_TYPE, EXACT, Tolerance
from spec.canonical_json import canonical


def test_every_name_in_the_table_is_an_element_type() -> None:
    for name in BOUNDS:
        dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
        assert dtype.name == name


def test_bounds_tighten_with_precision() -> None:
    ordered = ["float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
    relative = [BOUNDS[name].relative for name in ordered]
    assert relative == sorted(relative)
    assert len(set(relative)) == len(relative)


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UsageError, match="tolerance: got 'loose', need one of by-type, exact, close"
    ):
        Tolerance("loose")


@pytest.mark.parametrize(
    "field", [{"relative": -0.1}, {"relative": 1.0}, {"scale": float("nan")}, {"absolute": -1.0}]
)
def test_a_bound_that_would_accept_anything_or_nothing_is_refused(field: dict[str, float]) -> None:
    with pytest.raises(UsageError, match=f"tolerance, {next(iter(field))}: got .*, need a number"):
        Bound(**field)


def test_types_without_an_entry_are_compared_exactly() -> None:
    assert BY_TYPE.bound("y", "int64") == EXACT_BOUND
    assert BY_TYPE.bound("y", "float32") == BOUNDS["float32"]
    assert EXACT.bound("y", "float32") == EXACT_BOUND


def test_overrides_win_over_the_profile_and_their_order_means_nothing() -> None:
    bounds = {"b": Bound(0.5), "a": Bound(0.25)}
    tolerance = Tolerance("exact", tuple(bounds.items()))
    assert tolerance == Tolerance("exact", tuple(reversed(bounds.items())))
    assert tolerance.bound("b", "float32") == Bound(0.5)
    assert tolerance.bound("c", "float32") == EXACT_BOUND


def test_key_parts_tell_any_two_tolerances_apart() -> None:
    different = [
        BY_TYPE,
        EXACT,
        Tolerance(overrides=(("y", Bound(0.5)),)),
        Tolerance(overrides=(("y", Bound(0.5000001)),)),
        Tolerance(overrides=(("z", Bound(0.5)),)),
        Tolerance(overrides=(("y", Bound(scale=0.5)),)),
        Tolerance(overrides=(("y", Bound(absolute=0.5)),)),
        Tolerance(overrides=(("y", Bound(absolute=0.5, absolute_share=0.5)),)),
    ]
    assert len({canonical(tolerance.parts()) for tolerance in different}) == len(different)
