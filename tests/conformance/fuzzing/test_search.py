"""Searching for disagreements: found, small, the same for the same seed, and saved as a vector."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.adapters import InProcess, serve
from conformance.fuzzing import candidate_vector, fuzz, write_candidate
from conformance.fuzzing.drawing import hypothesis_module
from conformance.fuzzing.finding import HypothesisMissingError
from conformance.fuzzing.search import Search
from conformance.implementations.python import ReferenceHarness
from conformance.protocol import Capability, Conversation, Level, Limits, Style
from conformance.runner import Outcome, run
from conformance.runner.suspicion import ANY, suspected_rules
from conformance.vectors.layout import vectors_of
from conformance.vectors.vector import Script
from conformance.zoo import ZOO
from spec.canonical_json import Json
from tests.conformance.runner.samples import declaring, opening, right

LIMITS = Limits(answer_s=5.0)
FOUND = (
    ("nested-explores", Style.STEPPING, "S2"),
    ("nested-explores", Style.CALLING, "S2"),
    ("zero-counts", Style.STEPPING, "S6"),
    ("busy-waits", Style.STEPPING, "S4"),
)


def search(name: str, style: Style, seed: int = 1, examples: int = 400) -> Search:
    (wrong,) = [one for one in ZOO if one.name == name]
    return fuzz(lambda: Conversation(InProcess(wrong.main, LIMITS)), seed, examples, style)


@pytest.mark.parametrize("style", Style)
def test_the_reference_model_agrees_with_itself(style: Style) -> None:
    found = fuzz(opening(right), 5, 25, style)
    assert found.finding is None
    assert found.examples == 25
    assert found.applicable > 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "style", "rule"), FOUND, ids=str)
def test_a_fault_is_found_made_small_and_blamed_on_a_rule(
    name: str, style: Style, rule: str, tmp_path: Path
) -> None:
    found = search(name, style)
    assert found.finding is not None
    assert found.finding.size <= 40
    vector = candidate_vector(found.finding, style, found.seed)
    assert rule in vector.rules
    path = tmp_path / "found.json"
    write_candidate(path, vector)
    (again,) = vectors_of(path.name, path.read_text("utf-8"))
    assert isinstance(again.body, Script)
    (wrong,) = [one for one in ZOO if one.name == name]
    assert run(opening(wrong.main), (again,)).results[0].outcome is Outcome.FAILED
    assert run(opening(right), (again,)).results[0].outcome is Outcome.PASSED


@pytest.mark.slow
def test_the_same_seed_finds_the_same_and_makes_it_as_small() -> None:
    one, other = (search("nested-explores", Style.STEPPING, seed=11) for _ in range(2))
    assert one.finding == other.finding
    assert (one.examples, one.selections) == (other.examples, other.selections)


def test_a_crash_is_a_finding_too() -> None:
    found = search("crash", Style.STEPPING, examples=5)
    assert found.finding is not None
    assert found.finding.broken is not None
    assert "cannot say" in found.finding.broken.stderr


def test_an_implementation_that_declares_nothing_compares_nothing() -> None:
    found = fuzz(opening(declaring((), ())), 1, 5, Style.STEPPING)
    assert found.applicable == 0
    only_calling = declaring((Level.SELECTION,), (Capability.CALLING,))
    assert fuzz(opening(only_calling), 1, 5, Style.STEPPING).applicable == 0
    assert fuzz(opening(only_calling), 1, 5, Style.CALLING).applicable > 0


def test_an_implementation_that_answers_by_chance_does_not_break_the_search() -> None:
    calls = [0]

    def fickle(lines: Iterator[str], write: Callable[[str], object]) -> None:
        def sometimes(line: str) -> None:
            calls[0] += 1
            wrong = calls[0] % 97 == 0 and '"type":"effects"' in line
            answer = json.loads(line)
            write(json.dumps({**answer, "effects": []}) + "\n" if wrong else line)

        serve(ReferenceHarness(), lines, sometimes)

    found = fuzz(lambda: Conversation(InProcess(fickle, LIMITS)), 1, 30, Style.STEPPING)
    assert found.finding is not None


def test_without_hypothesis_the_extra_that_brings_it_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(HypothesisMissingError, match=r"ortsel\[test\]"):
        hypothesis_module()


def test_a_disagreement_always_names_a_rule() -> None:
    assert suspected_rules([], []) == ANY
    measure: Json = {"type": "measure", "candidate": 1}
    answer: Json = {"type": "answer", "result": {"type": "decision", "source": "busy"}}
    assert suspected_rules([answer], [measure]) == ("S4", "S6")
    assert suspected_rules([{"type": "remove-record", "key": "k"}], []) == ("S9", "S5")
