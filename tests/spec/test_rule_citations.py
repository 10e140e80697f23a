"""Rules and what cites them: none without a test or vector, none that does not exist.

A rule is defined by the bold number that begins its paragraph in `spec/README.md`. A test module
cites rules in its docstring ("S1 to S4" is all four), a vector in its member `rules`. Whatever else
names a rule in words, such as a comment or a message, must name one that exists. 99 is no rule's
number and may be named where a test needs a wrong one.
"""

import ast
import io
import json
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "spec" / "README.md"
CODE = ("spec", "conformance", "kernels_cuda", "ortsel", "tests", "benchmarks")
DEFINED = re.compile(r"^\*\*([SKECRL]\d+) [^*]+\*\*", re.MULTILINE)
CITED = re.compile(r"(?<![\w.\\+-])([SKECRL])(\d{1,2})(?: to \1(\d{1,2}))?(?![\w-])")
GROUPS = "SKECRL"
NEVER = 99


def defined_in(page: str) -> list[str]:
    """Numbers of the rules that a page states, in order."""
    return DEFINED.findall(page)


def cited_in(text: str) -> set[str]:
    """Numbers that a text names, ranges spelt out."""
    found: set[str] = set()
    for group, first, last in CITED.findall(text):
        found |= {f"{group}{number}" for number in range(int(first), int(last or first) + 1)}
    return found


def words_of(source: str) -> Iterator[str]:
    """Strings and comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.STRING, tokenize.COMMENT}:
            yield token.string


def modules(*folders: str) -> Iterator[Path]:
    """Python files below folders of the project."""
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def citing_tests() -> Iterator[Path]:
    """Test modules; this one names rules only to speak of them."""
    for module in modules("tests"):
        if module.name.startswith("test_") and module != Path(__file__):
            yield module


def docstring_of(module: Path) -> str:
    return ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""


def rules_of_vectors() -> set[str]:
    """Numbers in the member `rules` of every vector that is there."""
    found: set[str] = set()
    for file in sorted((ROOT / "conformance" / "vectors").rglob("*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        for vector in content.get("vectors", ()) if isinstance(content, dict) else ():
            sides = vector.get("rules", {}) if isinstance(vector, dict) else {}
            found |= {number for side in sides.values() for number in side}
    return found


def without_citation(defined: Iterable[str], cited: set[str]) -> list[str]:
    return [number for number in defined if number not in cited]


def unknown(texts: Iterable[tuple[str, str]], defined: Iterable[str]) -> list[str]:
    """Places and the numbers that they name although no such rule exists."""
    known = {*defined, *(f"{group}{NEVER}" for group in GROUPS)}
    return [f"{place}: {wrong}" for place, text in texts for wrong in cited_in(text) - known]


def texts_of_the_project() -> Iterator[tuple[str, str]]:
    for module in modules(*CODE):
        if module == Path(__file__):
            continue  # It names numbers that must not exist.
        text = "\n".join(words_of(module.read_text(encoding="utf-8")))
        yield str(module.relative_to(ROOT)), text
    pages = [PAGE, *sorted((ROOT / "docs").rglob("*.md")), *(ROOT / "conformance").rglob("*.md")]
    for page in pages:
        yield str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")


def test_rules_are_numbered_without_gaps_and_stated_once() -> None:
    defined = defined_in(PAGE.read_text(encoding="utf-8"))
    counts = {group: sum(number[0] == group for number in defined) for group in GROUPS}
    assert all(counts.values()), "pointless unless every group was found"
    expected = [f"{group}{n}" for group in GROUPS for n in range(1, counts[group] + 1)]
    assert sorted(defined) == sorted(expected)


def test_every_rule_is_cited_by_a_test_or_a_vector() -> None:
    defined = defined_in(PAGE.read_text(encoding="utf-8"))
    cited = rules_of_vectors().union(*(cited_in(docstring_of(one)) for one in citing_tests()))
    assert without_citation(defined, cited) == []


def test_no_rule_is_cited_that_does_not_exist() -> None:
    defined = defined_in(PAGE.read_text(encoding="utf-8"))
    texts = list(texts_of_the_project())
    assert len(texts) > 100, "pointless unless the project was read"
    assert any("S5" in cited_in(text) for _, text in texts)
    assert unknown(texts, defined) == []


def test_a_rule_without_a_test_is_noticed() -> None:
    page = "**S1 inputs.** Text.\n\n**S2 order.** Text, as in S1.\n"
    assert defined_in(page) == ["S1", "S2"]
    assert without_citation(defined_in(page), cited_in("What is let in (S1).")) == ["S2"]


def test_a_citation_of_nothing_is_noticed_in_strings_and_comments_only() -> None:
    source = '"""As S1 says."""\nS15 = 1  # S14\nraise ValueError("E10: no")\n'
    text = "\n".join(words_of(source))
    assert sorted(unknown([("x.py", text)], ["S1"])) == ["x.py: E10", "x.py: S14"]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(S1 to S4)", {"S1", "S2", "S3", "S4"}),
        ("C5, C6 and C8", {"C5", "C6", "C8"}),
        ("E4M3 and UTF-16, 1E5, K8s, \\u00C8, S-1", set()),
    ],
)
def test_numbers_are_read_as_people_read_them(text: str, numbers: set[str]) -> None:
    assert cited_in(text) == numbers
