"""Keys: complete, unambiguous, equal where the question is (K1, K3, K4)."""

from fractions import Fraction
from typing import Any

import pytest
from attrs import evolve

from spec import AnytimeValid, Candidate, MedianMad, Policy, Problem, Scope, cache_key
from spec.canonical_json import canonical, digest
from spec.errors import InvalidValue
from spec.keys import key_parts

PROBLEM = Problem(
    Scope.OPERATOR,
    "softmax",
    {"shape": [1, 8]},
    {"device": "cpu"},
    model="abc",
    options={"threads": 2},
    lower_level="f00d",
)
PLANS = (Candidate("reference"), Candidate("fast"))
POLICY = Policy()


@pytest.mark.parametrize("policy", [POLICY, Policy(evidence=MedianMad())])
@pytest.mark.parametrize("names", [("a", "b"), ("ü\n", '"\\'), ("\U0001f600", "\uffff")])
def test_the_text_put_together_in_parts_is_the_canonical_text(
    policy: Policy, names: tuple[str, str]
) -> None:
    plans = tuple(map(Candidate, names))
    key = cache_key(PROBLEM, plans, 1, policy)
    assert key.text == canonical(key_parts(PROBLEM, plans, 1, policy))
    assert key.digest == digest(key.text)


@pytest.mark.parametrize(
    "change",
    [
        {"scope": Scope.PIPELINE},
        {"operation": "attention"},
        {"workload": {"shape": [1, 9]}},
        {"environment": {"device": "gpu"}},
        {"model": "abd"},
        {"options": {"threads": 3}},
        {"lower_level": "beef"},
    ],
)
def test_every_part_of_a_problem_is_part_of_the_key(change: dict[str, Any]) -> None:
    changed = evolve(PROBLEM, **change)
    assert cache_key(PROBLEM, PLANS, 0, POLICY) != cache_key(changed, PLANS, 0, POLICY)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(require_validation=False),
        Policy(tolerance="loose"),
        Policy(min_speedup=Fraction(11, 10)),
        Policy(reuse=1),
        Policy(evidence=MedianMad()),
        Policy(evidence=AnytimeValid(max_blocks=32)),
    ],
)
def test_a_policy_that_changes_what_a_decision_means_changes_the_key(policy: Policy) -> None:
    assert cache_key(PROBLEM, PLANS, 0, POLICY) != cache_key(PROBLEM, PLANS, 0, policy)


@pytest.mark.parametrize(
    "policy", [Policy(budget_ns=1), Policy(capacity=1), Policy(seed=7), Policy(max_parallel=9)]
)
def test_a_policy_that_changes_when_a_decision_is_made_does_not(policy: Policy) -> None:
    assert cache_key(PROBLEM, PLANS, 0, POLICY) == cache_key(PROBLEM, PLANS, 0, policy)


def test_the_set_of_candidates_counts_and_their_order_does_not() -> None:
    key = cache_key(PROBLEM, PLANS, 0, POLICY)
    assert cache_key(PROBLEM, PLANS[::-1], 1, POLICY) == key
    assert cache_key(PROBLEM, (*PLANS, Candidate("more")), 0, POLICY) != key
    assert cache_key(PROBLEM, PLANS, 1, POLICY) != key, "another reference"


def test_whether_records_persist_is_no_part_of_the_key() -> None:
    fleeting = evolve(PROBLEM, persistent=False)
    assert cache_key(PROBLEM, PLANS, 0, POLICY) == cache_key(fleeting, PLANS, 0, POLICY)


def test_names_that_run_together_are_told_apart() -> None:
    first = cache_key(PROBLEM, (Candidate("a"), Candidate('b","c')), 0, POLICY)
    second = cache_key(PROBLEM, (Candidate("a"), Candidate("b"), Candidate("c")), 0, POLICY)
    assert first != second


@pytest.mark.parametrize("reference", [-1, 2, True])
def test_a_reference_that_is_no_candidate_has_no_key(reference: int) -> None:
    candidates = (Candidate("a"), Candidate("b"))
    with pytest.raises(InvalidValue, match="reference: got"):
        cache_key(PROBLEM, candidates, reference, Policy())
