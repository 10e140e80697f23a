"""The second way to the figures is one of its own, and would notice a slip of the first."""

import ast
import hashlib
import sys
from fractions import Fraction
from pathlib import Path

import pytest

import conformance.vectors.second_route as package
from conformance.vectors import Question, Script, load
from conformance.vectors.authoring import evidence as authoring
from conformance.vectors.index import index_of
from conformance.vectors.layout import files, vectors_of
from conformance.vectors.lint import Disk, lint
from conformance.vectors.questions import evidence as questions
from conformance.vectors.second_route.evidence import assess, relative_mad, shared, wealth
from conformance.vectors.second_route.keys import fingerprint, written
from conformance.vectors.second_route.opinion import WAYS, opinion
from conformance.vectors.second_route.plain import Plain
from conformance.vectors.second_route.worked_examples import EMPTY_LIST_SHA256, WORKED, differs
from spec.evidence import betting
from spec.evidence.order_statistics import median

assert package.__file__ is not None
FOLDER = Path(package.__file__).parent
OWN = "conformance.vectors.second_route"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_the_standard_library_and_itself_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            assert name.startswith(OWN) or name.split(".")[0] in sys.stdlib_module_names, name


def test_it_has_an_opinion_of_hundreds_of_questions() -> None:
    asked = [one.body for one in load() if isinstance(one.body, Question)]
    told = [one for one in asked if opinion(one.kind, one.input) is not None]
    assert len(told) > 300
    assert {one.kind for one in told} == set(WAYS)


def test_it_refuses_what_must_be_refused() -> None:
    assert opinion("spread", {"ratios": []}) == {"refused": True}
    assert opinion("canonical-json", {"text": "1.5"}) == {"refused": True}
    assert opinion("nobody-knows", {}) is None


def test_a_slip_in_an_even_median_would_differ() -> None:
    asked = {"ratios": [[1, 5], [1, 3], [1, 2], [2, 1]]}
    lower = {"median": [1, 3], "relative_mad": [1, 2]}
    assert opinion("spread", asked) == {"median": [5, 12], "relative_mad": [9, 25]}
    assert opinion("spread", asked) != lower


@pytest.mark.parametrize("wins", range(12))
@pytest.mark.parametrize("losses", range(4))
def test_both_ways_make_the_same_of_a_bet(wins: int, losses: int) -> None:
    assert wealth(wins, losses) == betting.wealth(wins, losses)


def test_a_shared_rate_takes_more_wins() -> None:
    rule: Plain = {
        "type": "anytime-valid",
        "false_promotion_rate": [1, 100],
        "false_rejection_rate": [1, 20],
        "min_blocks": 5,
        "max_blocks": 8,
    }
    case: dict[str, Plain] = {"ratios": [[1, 2]] * 8, "min_speedup": [103, 100]}
    words = [_word(assess({**case, "rule": shared(rule, number)})) for number in (1, 4)]
    assert words == ["faster", "undecided"]


def _word(verdict: object) -> object:
    assert isinstance(verdict, dict)
    return verdict["verdict"]


def test_dispersion_by_hand() -> None:
    assert relative_mad([Fraction(1), Fraction(2), Fraction(4), Fraction(8)]) == Fraction(1, 2)


def test_names_are_sorted_by_utf_16_units() -> None:
    assert written({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'


def test_nothing_has_the_fingerprint_of_an_empty_list() -> None:
    assert fingerprint([]) == EMPTY_LIST_SHA256 == hashlib.sha256(b"[]").hexdigest()
    (vector,) = (one for one in load() if one.id == "cache/looks/fingerprint-of-nothing")
    assert isinstance(vector.body, Script)
    assert [getattr(step, "expected", None) for step in vector.body.steps] == [EMPTY_LIST_SHA256]


def test_fingerprints_of_operators_follow_from_the_answers() -> None:
    """Key and name of what each answer served, hashed: no look into the machine."""
    (vector,) = (one for one in load() if one.id == "cache/looks/fingerprint-of-three")
    assert isinstance(vector.body, Script)
    served = [
        (effect["result"]["key"], effect["result"]["name"])
        for step in vector.body.steps
        for effect in getattr(step, "effects", [])
        if effect["type"] == "answer"
    ]
    assert len(served) == 3
    assert getattr(vector.body.steps[-1], "expected", None) == fingerprint(served)


def test_what_was_worked_out_by_hand_is_compared_member_by_member() -> None:
    assert len(WORKED) > 60
    assert differs({"a": 1}, {"a": 1, "b": 2}) == ""
    assert differs({"a": 1}, {"a": 2}) == "expected.a is 2, by hand 1"
    assert differs({"a": {"1": 5}}, {"a": [4, 6]}) == "expected.a.1 is 6, by hand 5"
    assert differs({"a": {"1": 5}}, {"a": []}) == "expected.a has no 1"
    assert differs({"a": True}, {}) == "expected.a is None, by hand True"


def test_vectors_are_read_with_their_long_texts() -> None:
    path = Path(__file__).parents[3] / "conformance/vectors/selection/inputs.json"
    vectors = {one.id: one for one in vectors_of("x", path.read_text())}
    body = vectors["selection/inputs/longest-name"].body
    assert isinstance(body, Script)
    event = getattr(body.steps[0], "event", None)
    assert isinstance(event, dict)
    assert event["candidates"][1]["name"] == "n" * 4096


def test_vectors_written_from_a_wrong_model_are_complained_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A slip in the reference model is in what it writes; the second way does not share it."""

    def lower_middle(values: tuple[Fraction, ...]) -> Fraction:
        even = len(values) > 0 and len(values) % 2 == 0
        return sorted(values)[len(values) // 2 - 1] if even else median(values)

    right = {one.id: one for one in load()}
    monkeypatch.setattr(questions, "median", lower_middle)
    wrong = [one for one in authoring.vectors() if one != right[one.id]]
    assert {one.id for one in wrong} >= {"evidence/spread/four", "evidence/spread/two"}
    texts = {f"vectors/{path}": text for path, text in files(wrong).items()}
    disk = Disk({path: text.encode() for path, text in texts.items()}, index_of(wrong), texts)
    found = lint(disk, fewest=0)
    for one in wrong:
        assert any(said.startswith(one.id) and "by the second way" in said for said in found)
