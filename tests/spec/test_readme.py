"""The normative page names what the code has, and its examples are true (`spec/README.md`)."""

import doctest
import itertools
import re
import typing
from pathlib import Path

import attrs

from spec import (
    Candidate,
    Effect,
    Event,
    FailureKind,
    Outcome,
    Policy,
    Problem,
    Record,
    Scope,
    Source,
    Statistics,
)
from spec.keys import key_parts

PAGE = Path(__file__).parents[2] / "spec" / "README.md"
TITLE = re.compile(r"^\*\*Example (\d+): [^*]+ \(([^)]+)\)\.\*\*", re.MULTILINE)
HIGHEST = {"S": 13, "K": 5}
"""Groups of rules that the examples cover whole, and their last number."""


def failures(text: str) -> tuple[int, int]:
    """Execute a page; return how many examples failed and how many there were."""
    test = doctest.DocTestParser().get_doctest(text, {}, "README.md", str(PAGE), 0)
    counts = doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None)
    return counts.failed, counts.attempted


def numbers_in(text: str) -> set[str]:
    """Rule numbers of a title, "R10 to R13" spelt out."""
    found: set[str] = set()
    for letter, first, last in re.findall(r"([A-Z])(\d+)(?: to [A-Z](\d+))?", text):
        found |= {f"{letter}{n}" for n in range(int(first), int(last or first) + 1)}
    return found


def test_every_line_of_the_examples_gives_what_the_page_says() -> None:
    counts = doctest.testfile(str(PAGE), module_relative=False)
    assert counts.failed == 0
    assert counts.attempted > 100, "pointless unless the examples were found"


def test_a_wrong_decision_on_the_page_is_found() -> None:
    text = PAGE.read_text(encoding="utf-8")
    wrong = text.replace("('faster', 'tuned', '2/5')", "('fast', 'tuned', '1/2')")
    assert wrong != text, "pointless unless the example is there"
    assert failures(text)[0] == 0
    assert failures(wrong)[0] == 1


def test_there_are_twenty_examples_in_order_and_each_decides_something() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert [int(number) for number, _ in TITLE.findall(text)] == list(range(1, 21))
    bodies = re.split(r"^\*\*Example \d+:", text, flags=re.MULTILINE)[1:]
    shows = [len(doctest.DocTestParser().get_examples(body)) for body in bodies]
    assert all(shows)


def test_the_examples_cover_selection_keys_and_evidence_whole() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = set().union(*(numbers_in(rules) for _, rules in TITLE.findall(text)))
    expected = {f"{group}{n}" for group, last in HIGHEST.items() for n in range(1, last + 1)}
    expected |= {"E3", "E4", "E5", "C7", "C8", "R12", "R13", "L6"}
    assert expected - shown == set()


def rows_under(header: str) -> list[list[str]]:
    """Cells of the table that begins with a header line."""
    _, found, rest = PAGE.read_text(encoding="utf-8").partition(f"\n{header}\n")
    assert found, f"the page has a table that begins with {header}"
    lines = itertools.takewhile(lambda line: line.startswith("|"), rest.splitlines()[1:])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def names_in(rows: list[list[str]]) -> list[str]:
    """Names in code type in the first cell of each row."""
    return [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]


def fields_of(some: type[attrs.AttrsInstance]) -> list[str]:
    return [field.name for field in attrs.fields(some)]


def test_the_tables_name_the_fields_of_policy_record_and_key() -> None:
    policy = rows_under("| field | default | range | outside of it |")
    assert names_in(policy) == fields_of(Policy)
    assert sorted(names_in(rows_under("| field | range | meaning |"))) == sorted(fields_of(Record))
    asked = Problem(Scope.OPERATOR, "o", {"w": 1}, {"e": 1})
    parts = key_parts(asked, (Candidate("r"),), 0, Policy())
    assert names_in(rows_under("| member | value |")) == sorted(parts)


def test_the_policy_table_states_the_defaults() -> None:
    stated = {
        names_in([row])[0]: row[1]
        for row in rows_under("| field | default | range | outside of it |")
    }
    seconds = {name: 10**9 if name.endswith("_ns") else 1 for name in stated}
    units = {"": 1, " s": 1, " days": 86_400}
    checked = 0
    for name, text in stated.items():
        found = re.fullmatch(r"(\d+)( s| days|)", text)
        if found:
            value = int(found[1]) * units[found[2]] * seconds[name]
            assert getattr(Policy(), name) == value, name
            checked += 1
    assert checked == 9, "pointless unless the numbers were read"
    assert stated["min_speedup"] == str(Policy().min_speedup)
    assert stated["mode"] == f"`{Policy().mode.value}`"


def test_the_tables_name_every_event_and_effect_with_its_fields() -> None:
    tables = (
        (Event, rows_under("| event | fields besides `now` | answers |")),
        (Effect, rows_under("| effect | fields | awaits |")),
    )
    for union, rows in tables:
        kinds: dict[str, type[attrs.AttrsInstance]] = {
            one.__name__: one for one in typing.get_args(union)
        }
        assert sorted(names_in(rows)) == sorted(kinds)
        for row in rows:
            words = re.findall(r"[a-z_]+", row[1])
            missing = [
                field
                for field in fields_of(kinds[names_in([row])[0]])
                if field != "now" and field not in words
            ]
            assert missing == [], row[0]


def test_outcomes_sources_kinds_and_counts_are_named() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert sorted(names_in(rows_under("| outcome | when |"))) == sorted(
        one.value for one in Outcome
    )
    words = [one.value for one in Source] + fields_of(Statistics)
    assert [word for word in words if f"`{word}`" not in text] == []
    assert [one.value for one in FailureKind if one.value not in text] == []
