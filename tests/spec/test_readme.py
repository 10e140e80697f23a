"""The normative page's worked examples are true (`spec/README.md`)."""

import doctest
import re
from pathlib import Path

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
