"""What a report says about a store, before any page is drawn."""

import json
import logging
from fractions import Fraction
from pathlib import Path

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

import ortsel
from ortsel.report import compile_contents, read_evidence
from ortsel.report.document import report_document
from ortsel.report.evidence import Evidence
from ortsel.report.page import Heading, render
from ortsel.report.question import question_of
from ortsel.report.shown_text import plain, three_digits
from ortsel.store.search_log import Considered, LoggedEntry, Searched, Withdrawn
from ortsel.store.store import StoredRecord
from spec.report import CandidateReport, Outcome, TrialReport
from tests.ortsel.report.sample_store import NOW_S, key_of, record_of, report
from tests.ortsel.session.session_models import folding, unoptimized, wasteful, wasteful_feed

HEADING = Heading("title", "store", NOW_S)


def searched(ratio: Fraction, created_s: int, runtime: str = "1", noise: int = 0) -> LoggedEntry:
    """Return a search of one shape whose winner took this part of the reference's time."""
    key, text = key_of("model", 1, 8, runtime)
    found = report(key, 1000, ratio)
    candidates = tuple(
        evolve(one, dispersion=Fraction(noise, 100)) if one.outcome is Outcome.PROMOTED else one
        for one in found.candidates
    )
    return LoggedEntry(Searched(created_s, evolve(found, candidates=candidates)), text)


def test_less_advantage_than_before_is_a_regression_and_more_is_none() -> None:
    worse = Evidence((), (searched(Fraction(1, 2), 1), searched(Fraction(3, 4), 2)))
    better = Evidence((), (searched(Fraction(3, 4), 1), searched(Fraction(1, 2), 2)))
    (shape,) = compile_contents(worse, {}).shapes
    assert [(one.before, one.now) for one in shape.slowdowns] == [(Fraction(1, 2), Fraction(3, 4))]
    (shape,) = compile_contents(better, {}).shapes
    assert shape.slowdowns == ()


def test_what_two_searches_are_unsure_of_is_no_regression() -> None:
    noisy = (searched(Fraction(1, 2), 1, noise=30), searched(Fraction(3, 4), 2, noise=30))
    (shape,) = compile_contents(Evidence((), noisy), {}).shapes
    assert shape.slowdowns == ()


def test_a_new_runtime_is_the_same_shape_and_named_as_what_changed() -> None:
    entries = (searched(Fraction(1, 2), 1, "1.31"), searched(Fraction(3, 4), 2, "1.32"))
    (shape,) = compile_contents(Evidence((), entries), {}).shapes
    assert len(shape.searches) == 2
    assert shape.slowdowns[0].changed == ("environment.onnxruntime.version",)


def test_another_shape_is_another_shape() -> None:
    keys = [key_of("model", 1, size) for size in (8, 16)]
    entries = [
        LoggedEntry(Searched(1, report(key, 10, Fraction(1, 2))), text) for key, text in keys
    ]
    contents = compile_contents(Evidence((), tuple(entries)), {"model": "bert.onnx"})
    assert [shape.label for shape in contents.shapes] == ["input_ids[1] = 8", "input_ids[1] = 16"]
    assert contents.models[0].title == "bert.onnx"


def test_a_rejected_candidate_is_no_measure_of_regret() -> None:
    (shape,) = compile_contents(Evidence((), (searched(Fraction(1, 2), 1),)), {}).shapes
    assert shape.newest is not None
    rejected = shape.newest.candidate("openvino:CPU")
    assert rejected is not None
    assert rejected.ratio is not None
    assert rejected.ratio < Fraction(1, 2), "pointless unless the rejected one was fastest"
    assert shape.regret is not None
    assert shape.regret.best == "variant=attention-fused"


def test_anything_in_a_store_makes_a_page() -> None:
    huge, tiny = Fraction(2**1000), Fraction(1, 2**1000)
    names = ("中文🚀", "\x00\x1b]0;x\x07", "\ud800", "$\\alpha_{", "a" * 4000, "</svg><script>")
    entries = []
    for number, (name, ratio) in enumerate(zip(names, (huge, tiny) * 3, strict=True)):
        lines = (
            CandidateReport("reference", Outcome.REFERENCE, 0, Fraction(1), None, True, 0, 0),
            CandidateReport(
                name, Outcome.PROMOTED, 1, ratio, huge, True, 2**62, 2**62, reason=name
            ),
            CandidateReport(name + "0", Outcome.NOISY, 1, Fraction(0), huge, True, 2**62, 2**62),
        )
        key = f"k{number % 2}"
        found = TrialReport(key, report(key, 1, tiny).scope, name, name, 2**62, True, lines)
        entries.append(LoggedEntry(Searched(2**62 * (number % 2), found), '{"workload": [3]}'))
    entries.append(LoggedEntry(Withdrawn(2**62, "k0", names[0], names[1]), ""))
    record = evolve(record_of(report("k0", 10, Fraction(1, 2)), 2**62), ratio=huge, winner=names[2])
    texts = (
        "",
        "[]",
        '{"workload": {"inputs": {"x": 7, "y": {"shape": ["a", -1, 5]}}}, "model": {}}',
    )
    records = tuple(
        StoredRecord(evolve(record, key=f"k{number}"), text) for number, text in enumerate(texts)
    )
    contents = compile_contents(Evidence(records, tuple(entries), ("bad <b>",), 7), {})
    page = render(contents, HEADING)
    assert "<script" not in page
    assert "bad &lt;b&gt;" in page
    assert "7 older decisions left out" in page
    assert "中文🚀" in page
    assert report_document(contents)["left_out"] == 7


def test_an_empty_store_makes_a_page_that_says_so() -> None:
    page = render(compile_contents(Evidence((), ()), {}), HEADING)
    assert 'id="empty"' in page


@given(st.text())
def test_a_shown_name_has_no_unseen_character_and_an_end(text: str) -> None:
    shown = plain(text)
    assert shown.isprintable() or all(one.isprintable() or one.isspace() for one in shown)
    assert "\n" not in shown
    assert len(shown) <= 10 * 300 + 1


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_of_a_key_is_a_question(key: str, text: str) -> None:
    assert question_of(key, text).words() != ""


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Fraction(0), "0.00"),
        (Fraction(1, 3), "0.33"),
        (Fraction(9994, 1000), "9.99"),
        (Fraction(9996, 1000), "10.0"),
        (Fraction(9996, 100), "100"),
        (Fraction(12345), "12,345"),
        (Fraction(2**1000), "1,000,000,000,000,000"),
    ],
)
def test_numbers_have_three_digits(value: Fraction, words: str) -> None:
    assert three_digits(value) == words


@pytest.mark.slow
def test_a_real_search_is_kept_whole_for_the_report(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ortsel")
    store = tmp_path / "decisions.sqlite3"
    selection = ortsel.SelectionConfig(
        mode="blocking", store=str(store), budget_s=5.0, candidates=folding
    )
    session = ortsel.InferenceSession(
        str(wasteful(tmp_path / "wasteful.onnx")), unoptimized(), selection=selection
    )
    session.run(None, wasteful_feed())
    (shape,) = compile_contents(read_evidence(store), {}).shapes
    assert shape.newest is not None
    (explained,) = session.explain().workloads
    assert shape.newest.key == explained.key
    assert shape.newest.report.candidates == explained.candidates
    assert "not kept for reports" not in caplog.text


def test_page_and_document_say_how_many_candidates_there_were_and_why_in_that_order() -> None:
    key, text = key_of("model", 1, 8)
    considered = Considered(
        15, (("no-gain", 2), ("same-as-reference", 3)), (("cpu:threads=4", "<b>won</b> before"),)
    )
    found = Searched(NOW_S, report(key, 1000, Fraction(1, 2)), considered)
    contents = compile_contents(Evidence((), (LoggedEntry(found, text),)), {})
    (search,) = contents.shapes[0].searches
    measured = sum(one.blocks > 0 for one in search.report.candidates)
    verified = sum(one.verified for one in search.report.candidates) - 1
    assert 0 < verified < measured, "pointless unless the counts differ"
    document = json.loads(json.dumps(report_document(contents)))
    told = document["models"][0]["shapes"][0]["searches"][0]
    assert told["counts"] == {
        "generated": 15, "left_out": 5, "measured": measured, "verified": verified,
    }  # fmt: skip
    assert told["left_out_by_rule"] == {"no-gain": 2, "same-as-reference": 3}
    placed = {one["name"]: one["placed"] for one in told["candidates"]}
    assert placed["cpu:threads=4"] == "<b>won</b> before"
    page = render(contents, HEADING)
    sentence = "15 generated, 5 left out (2 no-gain, 3 same-as-reference), "
    assert f"{sentence}{measured} measured, {verified} verified" in page
    assert "Why in this order" in page
    assert "&lt;b&gt;won&lt;/b&gt; before" in page


def test_a_search_whose_log_does_not_say_has_no_such_counts() -> None:
    contents = compile_contents(Evidence((), (searched(Fraction(1, 2), 1),)), {})
    (search,) = contents.shapes[0].searches
    assert search.counts()["generated"] is None
    page = render(contents, HEADING)
    assert "Why in this order" not in page
    assert f'<span class="counts">{search.counts()["measured"]} measured' in page


def test_a_page_says_over_how_long_blocks_went_and_in_how_many_states_of_the_machine() -> None:
    key, text = key_of("model", 1, 8)
    two = report(key, 1000, Fraction(1, 2))
    assert {one.states for one in two.candidates} == {0, 1, 2}, "pointless unless they differ"
    one = evolve(two, candidates=tuple(evolve(line, states=1) for line in two.candidates))
    unknown = evolve(
        two, candidates=tuple(evolve(line, states=0, window_ns=0) for line in two.candidates)
    )
    pages = [
        render(
            compile_contents(Evidence((), (LoggedEntry(Searched(NOW_S, found), text),)), {}),
            HEADING,
        )
        for found in (two, one, unknown)
    ]
    cell = '<span class="soft over">over 21.5 s</span> <span class="states">two states</span>'
    assert [page.count(cell) for page in pages] == [1, 0, 0]
    assert [page.count('<span class="soft over">over 3.10 s</span>') for page in pages] == [1, 1, 0]
    words = "blocks were spread over up to 21.5 s"
    assert [words in page for page in pages] == [True, True, False]
    assert 'seen in <span class="machine">two states</span>' in pages[0]
    assert 'seen in <span class="machine">one state</span>' in pages[1]
    assert "The machine was seen" not in pages[2]
