"""Reports: nothing red is left out of any, and each can be read by its own readers."""

from xml.etree import ElementTree as ET

from conformance.runner import Run, run
from conformance.runner.file_report import badge, json_report, junit_xml
from conformance.runner.text_report import shown, text_report
from conformance.zoo import ZOO
from spec.canonical_json import Json
from tests.conformance.runner.samples import opening, question, tuned_script, wrong_question


def mixed() -> Run:
    known = {"keys/sample/known": "not yet"}
    vectors = (question(), wrong_question(), wrong_question("keys/sample/known"), tuned_script())
    return run(opening(), vectors, known, repeat=lambda name: f"again {name}")


def broken(name: str) -> Run:
    (wrong,) = [one for one in ZOO if one.name == name]
    return run(opening(wrong.main), tuple(question(f"keys/a/{number}") for number in range(9)))


def test_the_text_shows_a_failure_with_all_that_is_needed_to_repeat_it() -> None:
    text = text_report(mixed())
    assert "FAILED keys/sample/wrong" in text
    for word in ("rules:    S1", "input:", "expected:", "got:", "again keys/sample/wrong"):
        assert word in text
    assert "keys/sample/known" not in text
    last = text.splitlines()[-1]
    assert "2 passed, 1 failed, 1 failed as expected" in last
    assert last.endswith("RED: 1 failed")


def test_the_text_groups_what_could_not_run_by_stage() -> None:
    text = text_report(broken("garbage"))
    assert "could not run, stage protocol:" in text
    assert "P3" in text
    assert text.count("COULD NOT RUN") == 3, "the rest is in the groups"
    assert "9 could not run" in text.splitlines()[-1]


def test_the_text_shows_a_bad_end() -> None:
    assert "GOODBYE answer (P5)" in text_report(broken("after-goodbye"))


def test_long_values_are_cut_in_the_text_only() -> None:
    long: Json = {"text": "x" * 10_000}
    assert len(shown(long)) < 1400
    assert "10012 characters" in shown(long)


def test_the_json_has_every_result() -> None:
    report = json_report(mixed())
    assert report["green"] is False
    assert report["red"] == ["1 failed"]
    results = report["results"]
    assert isinstance(results, list)
    outcomes = [one["outcome"] for one in results if isinstance(one, dict)]
    assert outcomes == ["passed", "failed", "failed as expected", "passed"]
    implementation = report["implementation"]
    assert isinstance(implementation, dict)
    assert implementation["language"] == "Python"


def test_junit_counts_add_up_and_hold_the_failure() -> None:
    root = ET.fromstring(junit_xml(mixed()))
    suites = {suite.get("name"): suite for suite in root}
    keys = suites["keys"]
    assert (keys.get("tests"), keys.get("failures"), keys.get("skipped")) == ("3", "1", "1")
    failure = keys.find("testcase/failure")
    assert failure is not None
    assert "again keys/sample/wrong" in str(failure.text)
    assert suites["selection"].get("tests") == "1"


def test_junit_of_a_run_that_is_red_without_a_red_vector_holds_an_error() -> None:
    for red in (broken("after-goodbye"), run(opening(), ())):
        root = ET.fromstring(junit_xml(red))
        assert root.find("testsuite[@name='run']/testcase/error") is not None
    green = run(opening(), (question(),))
    assert ET.fromstring(junit_xml(green)).find("testsuite[@name='run']") is None


def test_junit_survives_characters_that_xml_cannot_hold() -> None:
    (wrong,) = [one for one in ZOO if one.name == "garbage"]
    assert ET.fromstring(junit_xml(run(opening(wrong.main), (question(),)))) is not None
    odd = wrong_question("keys/sample/\x00\ud800\ufffe")
    assert ET.fromstring(junit_xml(run(opening(), (odd,)))) is not None


def test_a_badge_is_green_yellow_or_red() -> None:
    assert badge(run(opening(), (question(),)))["color"] == "brightgreen"
    assert badge(mixed())["color"] == "red"
    known = run(opening(), (question(), wrong_question()), {"keys/sample/wrong": "x"})
    assert badge(known)["color"] == "yellow"
    assert badge(known)["message"] == "1 of 2 vectors"
    assert badge(run(opening(), ()))["color"] == "red"
