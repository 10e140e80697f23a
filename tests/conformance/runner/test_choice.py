"""Choosing vectors and knowing failures: what matches nothing is never a success."""

from pathlib import Path

import pytest

from conformance.runner.choice import NothingChosenError, chosen
from conformance.runner.known_failures import KnownFailuresError, read_known_failures
from tests.conformance.runner.samples import question

VECTORS = tuple(question(f"{area}/g/{name}") for area in ("keys", "cache") for name in ("a", "b"))


def ids(*args: list[str]) -> list[str]:
    return [vector.id for vector in chosen(VECTORS, *args)]


def test_without_wishes_everything_is_chosen() -> None:
    assert ids() == ["keys/g/a", "keys/g/b", "cache/g/a", "cache/g/b"]


def test_areas_and_patterns_narrow_the_choice() -> None:
    assert ids(["cache"]) == ["cache/g/a", "cache/g/b"]
    assert ids([], ["*/a"]) == ["keys/g/a", "cache/g/a"]
    assert ids(["cache"], ["*/b"]) == ["cache/g/b"]
    assert ids([], ["keys/g/a", "cache/g/b"]) == ["keys/g/a", "cache/g/b"]


@pytest.mark.parametrize(
    ("areas", "patterns"),
    [(["colour"], []), ([], ["nothing*"]), ([], ["*/a", "*/c"]), (["cache"], ["keys/*"])],
)
def test_a_wish_that_matches_nothing_is_an_error_even_beside_others(
    areas: list[str], patterns: list[str]
) -> None:
    with pytest.raises(NothingChosenError, match="matches no vector"):
        chosen(VECTORS, areas, patterns)


def test_no_vectors_at_all_is_an_error() -> None:
    with pytest.raises(NothingChosenError):
        chosen(())


def test_known_failures_are_ids_with_reasons(tmp_path: Path) -> None:
    path = tmp_path / "known"
    path.write_text("# ours\n\nkeys/g/a  floats, issue 3\n", "utf-8")
    assert dict(read_known_failures(path, {"keys/g/a"})) == {"keys/g/a": "floats, issue 3"}


@pytest.mark.parametrize(
    "text", ["keys/g/z gone\n", "keys/g/a\n", "keys/g/a one\nkeys/g/a two\n", "  keys/g/a  \n"]
)
def test_a_list_that_cannot_be_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "known"
    path.write_text(text, "utf-8")
    with pytest.raises(KnownFailuresError, match="line"):
        read_known_failures(path, {"keys/g/a"})
