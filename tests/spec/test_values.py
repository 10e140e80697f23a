"""The plain values: what each refuses, and what it lets through (K5)."""

from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve

from spec import Candidate, InvalidValue, Moment, Policy, Problem, Record, Scope
from spec.errors import SpecError

RECORD = Record(
    "0" * 64,
    Scope.OPERATOR,
    "fast",
    "reference",
    1000,
    100,
    50,
    Fraction(1, 2),
    Fraction(0),
    3,
    True,
)

BAD_POLICIES: tuple[dict[str, Any], ...] = (
    {"mode": "explore"},
    {"require_validation": "no"},
    {"tolerance": ""},
    {"tolerance": "x" * 257},
    {"tolerance": "ü"},
    {"tolerance": "a\nb"},
    {"min_speedup": Fraction(99, 100)},
    {"min_speedup": 1.03},
    {"reuse": 0},
    {"reuse": 2**53},
    {"reuse": 1.5},
    {"min_speedup": Fraction(1001)},
    {"warmups": 0},
    {"warmups": 101},
    {"warmups": True},
    {"budget_ns": 0},
    {"budget_ns": 1.5},
    {"max_candidates": 0},
    {"max_candidates": 4097},
    {"max_parallel": 0},
    {"capacity": 0},
    {"capacity": 2**20 + 1},
    {"reports": -1},
    {"ttl_s": 0},
    {"retry_after_s": 0},
    {"max_workspace_bytes": -1},
    {"seed": -1},
    {"seed": 2**53},
)


@pytest.mark.parametrize("change", BAD_POLICIES, ids=str)
def test_a_policy_outside_its_ranges_is_refused_by_name(change: dict[str, Any]) -> None:
    ((name, _),) = change.items()
    with pytest.raises(SpecError, match=name):
        evolve(Policy(), **change)


@pytest.mark.parametrize(
    "change",
    [
        {"warmups": 1},
        {"warmups": 100},
        {"max_candidates": 1},
        {"capacity": 2**20},
        {"reports": 0},
        {"max_workspace_bytes": 0},
        {"max_workspace_bytes": None},
        {"min_speedup": Fraction(1)},
        {"seed": 2**53 - 1},
    ],
    ids=str,
)
def test_a_policy_at_the_edges_of_its_ranges_is_accepted(change: dict[str, Any]) -> None:
    ((name, value),) = change.items()
    assert getattr(evolve(Policy(), **change), name) == value


@pytest.mark.parametrize(
    "change",
    [
        {"key": ""},
        {"winner": ""},
        {"reference": ""},
        {"created_s": -1},
        {"reference_ns": 0},
        {"winner_ns": 0},
        {"ratio": Fraction(0)},
        {"ratio": 0.5},
        {"dispersion": Fraction(-1)},
        {"blocks": -1},
        {"feeds": -1},
    ],
    ids=str,
)
def test_a_record_that_nobody_can_have_measured_is_refused(change: dict[str, Any]) -> None:
    ((name, _),) = change.items()
    with pytest.raises(InvalidValue, match=name):
        evolve(RECORD, **change)


def test_a_record_is_fresh_for_its_time_and_not_when_dated_in_the_future() -> None:
    def fresh(wall_s: int, *, complete: bool = True) -> bool:
        return evolve(RECORD, complete=complete).is_fresh(Moment(0, wall_s), 100, 10)

    assert [fresh(1000), fresh(1099), fresh(1100)] == [True, True, False]
    assert [fresh(700), fresh(699)] == [True, False]
    assert [fresh(1009, complete=False), fresh(1010, complete=False)] == [True, False]


@pytest.mark.parametrize("clocks", [(-1, 0), (0, -1), (0.5, 0), (True, 0)])
def test_a_moment_before_all_moments_is_refused(clocks: tuple[int, int]) -> None:
    with pytest.raises(InvalidValue):
        Moment(*clocks)


@pytest.mark.parametrize(
    ("candidate", "limit", "fits"),
    [
        (Candidate("a"), 0, True),
        (Candidate("a", 100), 100, True),
        (Candidate("a", 101), 100, False),
        (Candidate("a", None), 100, False),
        (Candidate("a", None), None, True),
        (Candidate("a", 0, "no AVX2"), None, False),
    ],
)
def test_a_candidate_fits_if_eligible_and_known_to_be_within_the_limit(
    candidate: Candidate, limit: int | None, fits: bool
) -> None:
    assert candidate.fits(limit) is fits


def test_a_problem_keeps_what_it_was_made_of_whatever_happens_to_the_source() -> None:
    workload: dict[str, list[int]] = {"shape": [1]}
    problem = Problem(Scope.OPERATOR, "softmax", workload, "cpu")
    workload["shape"].append(2)
    assert problem == Problem(Scope.OPERATOR, "softmax", {"shape": [1]}, "cpu")
    assert hash(problem) == hash(Problem(Scope.OPERATOR, "softmax", {"shape": [1]}, "cpu"))


def test_problems_share_a_lane_if_and_only_if_their_environments_are_equal() -> None:
    def lane(environment: dict[str, str]) -> str:
        return Problem(Scope.OPERATOR, "softmax", "rows", environment).lane

    assert lane({"a": "1", "b": "2"}) == lane({"b": "2", "a": "1"})
    assert lane({"a": "1"}) != lane({"a": "2"})
