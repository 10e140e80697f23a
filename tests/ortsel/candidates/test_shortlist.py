from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from ortsel.candidates.shortlist import HOPELESS, SHORT_LOOK, shortlist
from spec.candidate import Candidate
from spec.failure import Failure, FailureKind

NAMES = ("reference", "device", "a", "b", "c")
LOOKED_AT = {"a", "b", "c"}


def listed(ratios: dict[str, float], failures: dict[str, Failure]) -> tuple[Candidate, ...]:
    exact = {name: Fraction(ratio) for name, ratio in ratios.items()}
    return shortlist(NAMES, LOOKED_AT, exact, failures)


def tried(ratios: dict[str, float], failures: dict[str, Failure] | None = None) -> list[str]:
    found = listed(ratios, failures or {})
    assert sorted(one.name for one in found) == sorted(NAMES)
    return [one.name for one in found if not one.ineligible]


def test_the_fastest_looks_come_first_after_what_was_not_to_be_looked_at() -> None:
    assert tried({"a": 0.9, "b": 0.5, "c": 0.7}) == ["reference", "device", "b", "c", "a"]


def test_what_is_clearly_slower_gets_no_turn_and_says_why() -> None:
    found = listed({"a": 1.09, "b": 1.11, "c": 2.0}, {})
    reasons = {one.name: one.ineligible for one in found}
    assert not reasons["a"]
    assert reasons["b"] == f"{SHORT_LOOK} 1.11 of the reference's time"
    assert reasons["c"] == f"{SHORT_LOOK} 2.00 of the reference's time"


def test_what_was_not_reached_comes_between_what_gains_much_and_what_gains_little() -> None:
    assert tried({"c": 0.9}) == ["reference", "device", "a", "b", "c"]
    assert tried({"c": 0.7}) == ["reference", "device", "c", "a", "b"]


def test_what_cannot_run_is_left_out_and_what_failed_for_now_is_tried_last() -> None:
    failures = {
        "a": Failure(FailureKind.UNSUPPORTED, "variant-refused", "no attention"),
        "b": Failure(FailureKind.TRANSIENT, "out-of-memory", "full"),
    }
    assert tried({"c": 0.9}, failures) == ["reference", "device", "c", "b"]


@given(st.dictionaries(st.sampled_from(sorted(LOOKED_AT)), st.floats(0.01, 100.0)))
def test_nobody_is_lost_and_nothing_that_looked_fast_is_left_out(ratios: dict[str, float]) -> None:
    found = listed(ratios, {})
    assert found[0].name == "reference"
    assert sorted(one.name for one in found) == sorted(NAMES)
    out = {one.name for one in found if one.ineligible}
    assert out == {name for name, ratio in ratios.items() if Fraction(ratio) > HOPELESS}
