"""Plans that users bring, and what is refused."""

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from ortsel.candidates import (
    REFERENCE,
    CandidateFacts,
    CandidateSourceError,
    candidate_plans,
    generate,
    installed_sources,
)
from ortsel.errors import UsageError
from ortsel.plan import Plan, SessionSettings

FACTS = CandidateFacts(2, 2)
PLAIN = Plan(REFERENCE)
ONE = Plan("mine:one", settings=SessionSettings((("intra_op_num_threads", 1),)))
TWO = Plan("mine:two", settings=SessionSettings((("intra_op_num_threads", 2),)))


def test_without_a_source_the_catalogue_is_offered() -> None:
    assert candidate_plans(PLAIN, FACTS, installed={}) == generate(PLAIN, FACTS)


def test_own_plans_replace_the_catalogue_and_follow_the_reference() -> None:
    assert candidate_plans(PLAIN, FACTS, [ONE, TWO], {}) == (PLAIN, ONE, TWO)
    assert candidate_plans(PLAIN, FACTS, (), {}) == (PLAIN,)


def test_a_function_sees_the_reference_in_the_facts_and_may_add_to_the_catalogue() -> None:
    pinned = Plan("session", settings=SessionSettings((("use_deterministic_compute", True),)))

    def mine(facts: CandidateFacts) -> Iterable[Plan]:
        assert facts.reference.settings == pinned.settings
        assert facts.reference.name == REFERENCE
        yield from generate(facts.reference, facts)
        yield TWO

    plans = candidate_plans(pinned, FACTS, mine, {})
    assert plans == (*generate(pinned, FACTS), TWO)


def test_a_plan_that_equals_an_earlier_one_is_dropped() -> None:
    again = Plan("again", settings=ONE.settings)
    assert candidate_plans(PLAIN, FACTS, [Plan("nothing new"), ONE, again], {}) == (PLAIN, ONE)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("cpu", r"candidates: got 'cpu', need a sequence of plans"),
        (3, r"candidates: got 3, need a sequence of plans"),
        ({"a": ONE}, r"candidates: got .*need a sequence of plans"),
        ([ONE, "two"], r"candidates\[1\]: got 'two', need an ortsel.Plan"),
        ([Plan("")], r"candidates\[0\]\.name: got '', need a non-empty string"),
        ([Plan("\ud800")], r"candidates\[0\]\.name: got .*, need text without lone surrogates"),
        ([Plan("é" * 2049)], r"candidates\[0\]\.name: got 4098 bytes, need at most 4096"),
        ([ONE, Plan("mine:one")], r"candidates\[1\]\.name: got 'mine:one', need a name that no"),
        ([Plan(REFERENCE, variant="x")], r"got 'reference', need a name that no other plan has"),
        ([ONE] * 4096, r"candidates: got 4096 plans, need at most 4096 in all"),
        (lambda _facts: None, r"candidates of .*lambda.*: got None, need a sequence of plans"),
        (lambda _facts: [1], r"candidates of .*lambda.*\[0\]: got 1, need an ortsel.Plan"),
    ],
)
def test_what_is_no_plan_is_refused_with_its_place_and_the_rule(source: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        candidate_plans(PLAIN, FACTS, source, {})


def test_a_long_name_within_the_limit_is_accepted() -> None:
    longest = Plan("é" * 2048, settings=ONE.settings)
    assert candidate_plans(PLAIN, FACTS, [longest], {}) == (PLAIN, longest)


def test_an_error_in_the_users_function_is_reported_with_its_cause() -> None:
    def broken(_facts: CandidateFacts) -> Iterable[Plan]:
        raise KeyError("gpu")

    with pytest.raises(
        CandidateSourceError, match=r"broken: got KeyError\('gpu'\), need plans"
    ) as e:
        candidate_plans(PLAIN, FACTS, broken, {})
    assert isinstance(e.value.__cause__, KeyError)


def test_a_broken_package_costs_its_own_plans_only(caplog: pytest.LogCaptureFixture) -> None:
    def cannot_load() -> Callable[[CandidateFacts], Iterable[Plan]]:
        raise ImportError("no such library")

    def half_wrong(_facts: CandidateFacts) -> Any:
        return [ONE, 1]

    with caplog.at_level(logging.WARNING, "ortsel.candidates"):
        plans = candidate_plans(
            PLAIN,
            FACTS,
            [ONE],
            {
                "a": cannot_load,
                "b": lambda: lambda _facts: [TWO],
                "c": lambda: half_wrong,
            },
        )
    assert plans == (PLAIN, ONE, TWO)
    assert [record.getMessage() for record in caplog.records] == [
        "entry point a of group ortsel.candidates is left out",
        "entry point c of group ortsel.candidates is left out",
    ]


def test_an_installed_package_is_found_by_its_entry_point_and_loaded_at_the_call_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    information = tmp_path / "extra_plans-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: extra-plans\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[ortsel.candidates]\nextra = extra_plans:make\n")
    (tmp_path / "extra_plans.py").write_text(
        "from ortsel.plan import Plan\ndef make(facts):\n    return [Plan('extra', variant='v')]\n"
    )
    assert "extra" not in installed_sources()
    monkeypatch.syspath_prepend(tmp_path)
    assert "extra" in installed_sources()
    assert candidate_plans(PLAIN, FACTS, [ONE]) == (PLAIN, ONE, Plan("extra", variant="v"))
