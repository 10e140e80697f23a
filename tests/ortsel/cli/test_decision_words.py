"""Sentences about a decision, and the table under it. They never claim what was not measured."""

import io
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve
from rich.console import Console

from ortsel.cli.decision_words import decision_lines, search_words, storage_line, verdict_words
from ortsel.cli.exit_codes import ExitCode
from ortsel.cli.search import SearchResult
from ortsel.cli.tables import candidate_table
from ortsel.explain import WorkloadExplanation
from spec.decision import Source
from spec.problem import Scope
from spec.record import Record
from spec.report import CandidateReport, Outcome

KEY = "0" * 64
RATIO = Fraction(7, 10)
PLACE = Path("/somewhere/decisions.sqlite3")
REPORTS = (
    CandidateReport("reference", Outcome.REFERENCE, ratio=Fraction(1), median_ns=2_000_000),
    CandidateReport("fast", Outcome.PROMOTED, 9, RATIO, Fraction(1, 50), verified=True),
    CandidateReport("slow", Outcome.NOT_FASTER, 5, Fraction(3, 2), Fraction(1, 10)),
    CandidateReport("broken", Outcome.FAILED, reason="crashed: signal 11\n\x1b[31mmore"),
    CandidateReport("late", Outcome.SKIPPED, reason="the search's time budget ended"),
)


def record(winner: str = "fast") -> Record:
    return Record(
        KEY, Scope.PIPELINE, winner, "reference", 1_700_000_000, 20, 14, RATIO, Fraction(1, 50), 9,
        verified=True, feeds=2,
    )  # fmt: skip


def result(
    plan: str = "fast",
    source: Source = Source.TUNED,
    kept: Record | None = None,
    *,
    ratio: Fraction | None = RATIO,
    verified: bool = True,
) -> SearchResult:
    explanation = WorkloadExplanation(
        workload="x float32[1]",
        plan=plan,
        source=source.value,
        verified=verified,
        ratio=ratio,
        reason="the reason",
        key=KEY,
        candidates=REPORTS if source is Source.TUNED else (),
        changes=(("slow", "does less"),),
        elapsed_ns=3_000_000_000,
    )
    return SearchResult(explanation, kept, str(PLACE))


def table_text(shown: SearchResult, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, force_terminal=False)
    console.print(candidate_table(shown))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_winner_is_told_with_its_evidence() -> None:
    evidence = "ratio 0.700, noise 0.020, 9 blocks"
    line = f"serves fast: 1.43x faster than the reference ({evidence}), verified on 2 feeds"
    assert decision_lines(result(kept=record())) == [line]


def test_a_winner_without_a_record_claims_no_more_than_is_known() -> None:
    assert decision_lines(result()) == [
        "serves fast: 1.43x faster than the reference (ratio 0.700), verified"
    ]
    (line,) = decision_lines(result(verified=False, ratio=None))
    assert line == "serves fast, not verified"


def test_the_reference_is_never_called_faster() -> None:
    for source in (Source.TUNED, Source.STORED, Source.MEMORY):
        for ratio in (None, Fraction(1), RATIO):
            shown = result("reference", source, record(winner="reference"), ratio=ratio)
            lines = decision_lines(shown)
            assert lines[0] == "keeps the reference: the reason"
            assert "faster" not in " ".join(lines)
            assert shown.exit_code is ExitCode.DECIDED


def test_a_ratio_that_is_not_below_one_is_not_called_faster() -> None:
    (line,) = decision_lines(result(ratio=Fraction(1)))
    assert "faster" not in line
    assert "ratio 1.000" in line


def test_a_stored_decision_says_when_it_was_measured_and_that_it_was_checked() -> None:
    lines = decision_lines(result(source=Source.STORED, kept=record()))
    assert lines[1] == (
        "from the store, measured on 2023-11-14 at 22:13 UTC; nothing was measured now; "
        "its outputs were checked again just now"
    )
    kept = decision_lines(result("reference", Source.STORED, record()))
    assert "checked" not in kept[1], "the reference is served as it is"


def test_made_up_inputs_are_not_passed_off_as_real_ones() -> None:
    (line,) = decision_lines(result(kept=evolve(record(), provisional=True)))
    assert line.endswith("verified on 2 made-up feeds; real ones are verified before it serves")


def test_a_search_that_the_budget_cut_short_is_said_to_be_one() -> None:
    assert len(decision_lines(result(kept=record()))) == 1
    lines = decision_lines(result(kept=evolve(record(), complete=False)))
    assert lines[1] == "not every candidate had its turn: a longer --budget tries the rest"


@pytest.mark.parametrize(
    "source", [Source.BYPASSED, Source.BUSY, Source.NESTED, Source.CACHE_MISS, Source.DISABLED]
)
def test_an_answer_without_a_measurement_is_no_decision(source: Source) -> None:
    shown = result("reference", source)
    assert decision_lines(shown) == ["no decision: the reason"]
    assert shown.exit_code is ExitCode.UNDECIDED


def test_every_source_is_either_a_decision_or_none() -> None:
    decided = {source for source in Source if result("reference", source).decided}
    assert decided == {Source.TUNED, Source.MEMORY, Source.STORED}


def test_where_a_decision_is_kept_is_said_only_when_it_is_there() -> None:
    assert storage_line(result(kept=record())) == f"stored in {PLACE}"
    assert storage_line(result()).startswith(f"not stored: {PLACE} does not hold it")
    nowhere = evolve(result(), place=None)
    assert storage_line(nowhere).startswith("not stored: there is no cache folder")


def test_a_winner_that_failed_at_the_door_is_not_shown_as_served() -> None:
    kept = result("reference")
    assert [verdict_words(report, kept) for report in REPORTS[:2]] == ["reference", "not served"]
    assert [verdict_words(report, result()) for report in REPORTS[:2]] == ["reference", "serves"]


def test_every_outcome_has_words() -> None:
    words = {verdict_words(CandidateReport("x", outcome), result()) for outcome in Outcome}
    assert len(words) == len(Outcome)


def test_the_table_has_a_row_per_candidate_on_lines_of_its_own() -> None:
    lines = table_text(result()).splitlines()
    assert len(lines) == 2 + len(REPORTS)
    assert lines[0].split() == ["candidate", "ratio", "noise", "blocks", "verdict", "reason"]
    assert lines[2].split() == ["reference", "1.000", "-", "-", "reference"]
    assert lines[3].split() == ["fast", "0.700", "0.020", "9", "serves"]
    assert lines[4].split()[-2:] == ["does", "less"]
    assert "crashed: signal 11 \\x1b[31mmore" in lines[5]


def test_a_narrow_terminal_folds_reasons_and_loses_nothing() -> None:
    text = table_text(result(), 72)
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 72
    assert "budget" in text


def test_the_search_is_summed_up() -> None:
    assert (
        search_words(result())
        == "4 candidates against the reference, 2 measured in blocks, in 3.0 s"
    )
    assert search_words(result(source=Source.STORED)) == ""
