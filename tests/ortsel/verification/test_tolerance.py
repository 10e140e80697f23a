"""Bounds as values."""

import ml_dtypes
import numpy as np
import pytest

from ortsel.errors import UsageError
from ortsel.selection_config import SelectionConfig
from ortsel.verification.element_types import BOUNDS, EXACT_BOUND, Bound
from ortsel.verification.metrics import Cosine, MetricFunction, RelativeL2, TopOne
from ortsel.verification.tolerance import BY_TYPE, EXACT, OutputRule, Tolerance, as_tolerance
from spec.canonical_json import canonical
from spec.policy import Policy


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


DIFFERENT = (
    BY_TYPE,
    EXACT,
    Tolerance(overrides=(("y", Bound(0.5)),)),
    Tolerance(overrides=(("y", Bound(0.5000001)),)),
    Tolerance(overrides=(("z", Bound(0.5)),)),
    Tolerance(overrides=(("y", Bound(scale=0.5)),)),
    Tolerance(overrides=(("y", Bound(absolute=0.5)),)),
    Tolerance(overrides=(("y", Bound(absolute=0.5, absolute_share=0.5)),)),
)


def test_key_parts_tell_any_two_tolerances_apart() -> None:
    assert len({canonical(tolerance.parts()) for tolerance in DIFFERENT}) == len(DIFFERENT)


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        ("by-type", BY_TYPE),
        ("exact", EXACT),
        (EXACT, EXACT),
        (Bound(0.5), Tolerance(Bound(0.5))),
        (Cosine(0.9), Tolerance(Cosine(0.9))),
        (
            {"b": "close", "a": TopOne(0.9)},
            Tolerance(overrides=(("a", TopOne(0.9)), ("b", "close"))),
        ),
    ],
)
def test_a_configuration_takes_a_word_a_bound_a_metric_or_a_mapping(
    value: object, meant: Tolerance
) -> None:
    assert as_tolerance(value) == meant
    assert SelectionConfig(tolerance=value).tolerance == meant
    assert hash(SelectionConfig(tolerance=value)) == hash(SelectionConfig(tolerance=meant))


@pytest.mark.parametrize(
    ("value", "need"),
    [
        ("loose", "one of by-type, exact, close, a Bound, a metric"),
        ("lossy", "the metric that says how lossy"),
        (0.1, "one of by-type"),
        (None, "one of by-type"),
        ({"y": 0.1}, "one of by-type"),
        ({3: "close"}, "the name of an output"),
    ],
)
def test_what_is_no_tolerance_is_refused_with_what_would_be(value: object, need: str) -> None:
    with pytest.raises(UsageError, match="tolerance: got ") as caught:
        SelectionConfig(tolerance=value)
    assert need in str(caught.value)


def test_the_key_holds_any_tolerance_in_plain_ascii_of_limited_length() -> None:
    assert BY_TYPE.key_text() == Policy().tolerance, "a default of one is a default of the other"
    many: dict[str, OutputRule] = {
        f"output {number}": Bound(1 / (number + 2)) for number in range(50)
    }
    different = [
        *DIFFERENT,
        Tolerance(overrides=many),
        Tolerance(overrides=many | {"output 7": Bound(0.1)}),
        Tolerance(overrides={"größe": "close"}),
        Tolerance(overrides={"y": "close"}),
        Tolerance("close"),
        Tolerance(Cosine(0.9)),
        Tolerance(TopOne(0.9)),
        Tolerance(RelativeL2(0.9)),
        Tolerance(Cosine(0.91)),
        Tolerance(MetricFunction("a:b")),
        Tolerance(MetricFunction("a:b", 1.0)),
        Tolerance(MetricFunction("a:c", 1.0)),
    ]
    policies = [SelectionConfig(tolerance=one).effective_policy() for one in different]
    assert len({policy.tolerance for policy in policies}) == len(different)
    assert all(policy.tolerance.isascii() for policy in policies)


def test_only_a_metric_makes_a_tolerance_lossy() -> None:
    for loose, lossy, tolerance in (
        (False, False, BY_TYPE),
        (False, False, Tolerance(overrides={"y": Bound(0.5)})),
        (True, False, Tolerance(overrides={"y": "close"})),
        (True, True, Tolerance(overrides={"y": Cosine(0.9)})),
    ):
        assert (tolerance.is_loose, tolerance.is_lossy) == (loose, lossy)


def test_a_name_that_is_no_output_is_refused_with_those_that_are() -> None:
    tolerance = Tolerance(overrides={"z": "close"})
    tolerance.check(["y", "z"])
    with pytest.raises(UsageError, match=r"tolerance: got 'z', need the name of an output: 'y'"):
        tolerance.check(["y"])
