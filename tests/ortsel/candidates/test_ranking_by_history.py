"""What was measured before orders what is tried next, and only that."""

import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import ortsel
from ortsel.candidates import CandidateFacts
from ortsel.candidates.search_space import SearchSpace
from ortsel.plan import Plan
from ortsel.ranking_by_history import PastSearch, features_of, ordered_by, ranked_by_history
from ortsel.store.search_log import LoggedEntry, Searched, SearchLog, search_log
from spec.canonical_json import Json, canonical, digest
from spec.problem import Problem, Scope
from spec.report import CandidateReport, Outcome, TrialReport
from tests.ortsel.session.session_models import WIDTH, unoptimized, wasteful_for_any_rows

NOW_S = 1_790_000_000
DAY_S = 86_400
REFERENCE = Plan("reference")
PLANS = ("cpu:threads=1", "cpu:spin=off", "cpu:level=basic", "openvino:CPU", "variant=math")
SPACE = SearchSpace((REFERENCE, *(Plan(name) for name in PLANS)))
FACTS = CandidateFacts(2, reference=REFERENCE)


def workload(length: int) -> Json:
    return {"calling": "numpy", "inputs": {"ids": {"shape": [1, length], "type": "t"}}}


def problem(length: int = 128, model: str = "m", cpu: str = "here") -> Problem:
    return Problem(
        scope=Scope.PIPELINE,
        operation="onnx-model",
        workload=workload(length),
        environment={"cpu": cpu},
        model=model,
    )


def line(name: str, ratio: Fraction | None, outcome: Outcome, time_ns: int = 0) -> CandidateReport:
    return CandidateReport(name, outcome, 9, ratio, Fraction(0), True, None, time_ns or None)


def past(*lines: CandidateReport, length: int = 16, same: bool = True, days: int = 0) -> PastSearch:
    text = str(workload(length))
    features = features_of(workload(length))
    return PastSearch(NOW_S - days * DAY_S, same, text, features, lines)


def order(*searches: PastSearch, length: int = 128) -> list[str]:
    space = ordered_by(SPACE, FACTS, searches, problem(length), NOW_S)
    first, *others = [plan.name for plan in space.plans]
    assert first == "reference"
    assert sorted(others) == sorted(PLANS)
    return others


def test_without_history_the_order_stays_and_says_that_it_is_a_rule_of_thumb() -> None:
    space = ordered_by(SPACE, FACTS, (), problem(), NOW_S)
    assert space.plans == SPACE.plans
    placed = dict(space.placed)
    assert sorted(placed) == sorted(PLANS)
    assert all("rule of thumb" in words for words in placed.values())


def test_what_won_for_this_model_is_tried_first() -> None:
    won = past(line("cpu:level=basic", Fraction(7, 10), Outcome.PROMOTED))
    assert order(won)[0] == "cpu:level=basic"
    space = ordered_by(SPACE, FACTS, (won,), problem(), NOW_S)
    words = dict(space.placed)["cpu:level=basic"]
    assert "0.70 of the reference's time expected (measured for this model)" in words
    assert "faster in 1 of 1 searches for this model" in words


def test_what_was_no_faster_or_failed_comes_after_what_nobody_tried() -> None:
    for outcome in (Outcome.NOT_FASTER, Outcome.NOISY, Outcome.FAILED):
        lost = past(line(PLANS[0], Fraction(99, 100), outcome))
        assert order(lost)[-1] == PLANS[0]


def test_the_fastest_of_those_that_won_is_first() -> None:
    won = past(
        line("cpu:spin=off", Fraction(8, 10), Outcome.FASTER),
        line("openvino:CPU", Fraction(5, 10), Outcome.PROMOTED),
        line("cpu:threads=1", Fraction(12, 10), Outcome.NOT_FASTER),
    )
    assert order(won)[:2] == ["openvino:CPU", "cpu:spin=off"]
    assert order(won)[-1] == "cpu:threads=1"


def test_what_won_more_often_than_it_lost_is_tried_first() -> None:
    name = PLANS[0]
    lost = past(line(name, Fraction(11, 10), Outcome.NOT_FASTER))
    won = past(line(name, Fraction(8, 10), Outcome.PROMOTED))
    assert order(lost)[-1] == name
    assert order(lost, won, won)[0] == name


def test_what_is_too_old_counts_as_never_measured() -> None:
    lost = line(PLANS[0], Fraction(11, 10), Outcome.NOT_FASTER)
    assert order(past(lost, days=55))[-1] == PLANS[0]
    assert order(past(lost, days=57)) == order()


def test_other_models_replace_a_rule_of_thumb_once_there_are_enough_of_them() -> None:
    gained = past(line("cpu:level=basic", Fraction(3, 10), Outcome.PROMOTED), same=False)
    assert order(gained, gained)[0] != "cpu:level=basic"
    assert order(gained, gained, gained)[0] == "cpu:level=basic"
    space = ordered_by(SPACE, FACTS, (gained,) * 3, problem(), NOW_S)
    assert "measured for other models" in dict(space.placed)["cpu:level=basic"]


def trading_places(length: int) -> PastSearch:
    """One plan costs the same for all lengths, another one by length: they cross at 300."""
    constant, growing = 300_000, 1_000 * length
    reference = 400_000 + 500 * length
    return past(
        line("reference", Fraction(1), Outcome.REFERENCE, reference),
        line("cpu:threads=1", Fraction(growing, reference), Outcome.NOT_FASTER, growing),
        line("cpu:level=basic", Fraction(constant, reference), Outcome.NOT_FASTER, constant),
        line("variant=math", Fraction(9, 10), Outcome.NOT_FASTER, 9 * reference // 10),
        line("openvino:CPU", Fraction(2), Outcome.NOT_FASTER, 2 * reference),
        length=length,
    )


def test_latencies_learned_over_shapes_order_a_shape_that_nobody_measured() -> None:
    lengths = (8, 16, 24, 32, 48, 64, 96, 900, 1200, 1600, 2000, 3000, 4000)
    searches = [trading_places(length) for length in lengths]
    space = ordered_by(SPACE, FACTS, searches, problem(12), NOW_S)
    assert "ms learned" in dict(space.placed)["cpu:threads=1"]
    short, long = order(*searches, length=12), order(*searches, length=2500)
    assert short.index("cpu:threads=1") < short.index("cpu:level=basic")
    assert long.index("cpu:level=basic") < long.index("cpu:threads=1")


def test_a_predictor_that_proved_nothing_orders_nothing() -> None:
    few = [trading_places(length) for length in (8, 16, 900, 1200)]
    assert order(*few, length=12) == order(*few, length=2500)
    space = ordered_by(SPACE, FACTS, few, problem(12), NOW_S)
    assert not any("learned" in words for _, words in space.placed)


outcomes = st.sampled_from(
    [Outcome.PROMOTED, Outcome.FASTER, Outcome.NOT_FASTER, Outcome.NOISY, Outcome.FAILED]
)
lines = st.builds(
    line,
    st.sampled_from([*PLANS, "gone"]),
    st.fractions(Fraction(1, 100), Fraction(100), max_denominator=1000),
    outcomes,
    st.integers(1, 10**9),
)
searches = st.builds(
    lambda found, length, same, days: past(
        *{one.name: one for one in found}.values(), length=length, same=same, days=days
    ),
    st.lists(lines, max_size=6),
    st.integers(1, 4096),
    st.booleans(),
    st.integers(-3, 100),
)


@given(st.lists(searches, max_size=8))
def test_the_order_is_a_function_of_the_history_and_loses_no_plan(found: list[PastSearch]) -> None:
    once = ordered_by(SPACE, FACTS, found, problem(), NOW_S)
    assert once == ordered_by(SPACE, FACTS, list(found), problem(), NOW_S)
    assert once.plans[0] == REFERENCE
    assert sorted(once.plans, key=lambda one: one.name) == sorted(
        SPACE.plans, key=lambda one: one.name
    )
    assert {name for name, _ in once.placed} == set(PLANS)


def logged(log: SearchLog, asked: Problem, winner: str, created_s: int = NOW_S) -> None:
    parts: dict[str, Json] = {
        "environment": asked.environment,
        "model": asked.model,
        "scope": asked.scope.value,
        "workload": asked.workload,
    }
    text = canonical(parts)
    report = TrialReport(
        digest(text),
        asked.scope,
        asked.operation,
        winner,
        10**9,
        False,
        (
            line("reference", Fraction(1), Outcome.REFERENCE, 10**6),
            line(winner, Fraction(1, 2), Outcome.PROMOTED, 5 * 10**5),
        ),
    )
    log.save(Searched(created_s, report), text)


def test_the_log_of_searches_gives_the_order_and_another_machines_gives_none(
    tmp_path: Path,
) -> None:
    log = SearchLog(tmp_path / "searches")
    logged(log, problem(16, cpu="elsewhere"), "cpu:level=basic")
    assert ranked_by_history(SPACE, FACTS, log, problem(), NOW_S).plans == SPACE.plans
    logged(log, problem(16), "variant=math")
    found = ranked_by_history(SPACE, FACTS, log, problem(), NOW_S)
    assert found.plans[1].name == "variant=math"
    assert ranked_by_history(SPACE, FACTS, None, problem(), NOW_S).plans == SPACE.plans
    operator = evolve(problem(), scope=Scope.OPERATOR)
    assert ranked_by_history(SPACE, FACTS, log, operator, NOW_S).plans == SPACE.plans


def test_a_log_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    path = tmp_path / "searches"
    path.write_bytes(b"no database at all" * 100)
    found = ranked_by_history(SPACE, FACTS, SearchLog(path), problem(), int(time.time()))
    assert found.plans == SPACE.plans


@pytest.mark.slow
def test_a_session_tries_first_what_its_log_says_and_notes_what_it_had_to_choose_from(
    tmp_path: Path,
) -> None:
    model = wasteful_for_any_rows(tmp_path / "model.onnx")
    store = tmp_path / "store.sqlite"
    config = ortsel.SelectionConfig("blocking", str(store), 0.3)
    session = ortsel.InferenceSession(str(model), unoptimized(), selection=config)
    session.run(None, {"x": np.zeros((2, WIDTH), np.float32)})
    log = search_log(store)
    assert log is not None
    [entry] = log.entries()
    assert isinstance(entry, LoggedEntry)
    assert isinstance(entry.entry, Searched)
    told = session.explain().workloads[0]
    considered = entry.entry.considered
    assert considered is not None
    assert considered.generated == told.counts()["generated"] > len(told.left_out) > 0
    assert considered.placed == told.placed
    last = told.placed[-1][0]
    assert told.candidates[1].name != last, "pointless if it is the first anyway"
    won = (line(last, Fraction(1, 2), Outcome.PROMOTED),)
    log.save(evolve(entry.entry, report=evolve(entry.entry.report, candidates=won)), entry.key_text)
    session.run(None, {"x": np.zeros((3, WIDTH), np.float32)})
    first, words = session.explain().workloads[-1].placed[0]
    assert first == last
    assert "faster in 1 of" in words
    rows = {row["plan"]: row["placed"] for row in session.explain().candidate_rows()[-40:]}
    assert rows[last] == words
    assert f"placed {last}: {words}" in str(session.explain())
