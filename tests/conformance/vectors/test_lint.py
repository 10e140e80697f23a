"""Every check of the vectors can go red, and is green on what lies here."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from attrs import evolve

from conformance.vectors.__main__ import main
from conformance.vectors.disk import read
from conformance.vectors.index import Known
from conformance.vectors.lint import Disk, lint
from conformance.vectors.rules import RULES

ROOT = Path(__file__).parents[3] / "conformance"
SAMPLE = "vectors/evidence/block.json"
SCRIPTS = "vectors/selection/promotion.json"
TARGETS = ("evidence/block/half", "selection/promotion/clearly-faster")


@pytest.fixture(scope="session")
def disk() -> Disk:
    return read(ROOT)


def test_the_vectors_here_are_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["lint"])
    assert capsys.readouterr().err == ""
    assert status == 0


def only(disk: Disk, *paths: str) -> Disk:
    """The disk with these files alone, so that a check costs little."""
    files = {path: disk.files[path] for path in paths}
    written = {path: disk.written[path] for path in paths}
    ids = {name: one for name, one in disk.index.items() if _home(name) in paths}
    return Disk(files, ids, written)


def _home(name: str) -> str:
    area, group, _ = name.split("/")
    return f"vectors/{area}/{group}.json"


def complaints(disk: Disk, path: str, change: Callable[[str], str]) -> list[str]:
    """What the linter says of one changed file, and did not say before."""
    small = only(disk, path)
    before = set(lint(small, fewest=0))
    text = small.files[path].decode()
    changed = change(text)
    assert changed != text, "pointless unless something changed"
    files: Mapping[str, bytes] = {path: changed.encode()}
    return [one for one in lint(evolve(small, files=files), fewest=0) if one not in before]


def edited(change: Callable[[dict[str, object]], None]) -> Callable[[str], str]:
    """A change of one vector of a file, written back as JSON."""

    def edit(text: str) -> str:
        file = json.loads(text)
        (target,) = (one for one in file["vectors"] if one["id"] in TARGETS)
        change(target)
        return json.dumps(file)

    return edit


def put(name: str, value: object) -> Callable[[str], str]:
    return edited(lambda vector: vector.update({name: value}))


def _flagless(vector: dict[str, object]) -> None:
    del vector["flags"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(put("id", "evidence/block/new"), "not in the index", id="new id"),
        pytest.param(put("id", "evidence/block/new"), "the id has vanished", id="vanished id"),
        pytest.param(put("id", "evidence/block/sum-of-times"), "there twice", id="twin"),
        pytest.param(put("id", "Evidence"), "no area/group/name", id="odd id"),
        pytest.param(put("id", "evidence/spread/half"), "lies in", id="wrong file"),
        pytest.param(put("comment", ""), "no comment", id="no comment"),
        pytest.param(put("flags", []), "no flag", id="no flag"),
        pytest.param(put("flags", ["odd"]), "unknown flag odd", id="unknown flag"),
        pytest.param(
            put("rules", {"holds": ["S99"], "breaks": []}), "unknown rule S99", id="unknown rule"
        ),
        pytest.param(put("rules", {"holds": [], "breaks": []}), "tests no rule", id="no rule"),
        pytest.param(
            put("rules", {"holds": [], "breaks": ["E3"]}), "meaning changed", id="rules changed"
        ),
        pytest.param(put("kind", "odd"), "unknown kind odd", id="unknown kind"),
        pytest.param(
            put("expected", {"ratio": [1, 3]}), "the reference model says", id="edited answer"
        ),
        pytest.param(put("expected", {"ratio": [1, 3]}), "by the second way", id="second way"),
        pytest.param(put("expected", {"ratio": [1, 3]}), "by hand", id="worked by hand"),
        pytest.param(put("expected", {"ratio": [1, 3]}), "meaning changed", id="index"),
        pytest.param(put("expected", {"ratio": 0.5}), "floating-point number 0.5", id="float"),
        pytest.param(
            lambda text: text.replace("[500, 500]", "[500, NaN]"),
            "floating-point number NaN",
            id="NaN",
        ),
        pytest.param(put("odd", 1), "need exactly", id="unknown member"),
        pytest.param(edited(_flagless), "need exactly", id="missing member"),
        pytest.param(lambda text: text.replace("\n", "\r\n"), "differs", id="CRLF"),
        pytest.param(lambda text: text + "\n", "differs", id="an empty line more"),
        pytest.param(lambda text: text.replace('": ', '":', 1), "differs", id="spacing"),
        pytest.param(lambda text: text[:-20], "vectors/evidence/block.json", id="cut off"),
    ],
)
def test_a_changed_question_is_complained_of(
    disk: Disk, change: Callable[[str], str], words: str
) -> None:
    found = complaints(disk, SAMPLE, change)
    assert any(words in one for one in found), found


def _first_step(change: Callable[[dict[str, object]], None]) -> Callable[[str], str]:
    def edit(vector: dict[str, object]) -> None:
        steps = vector["steps"]
        assert isinstance(steps, list)
        change(steps[-1])

    return edited(edit)


def _answer(step: dict[str, object]) -> dict[str, object]:
    effects = step["effects"]
    assert isinstance(effects, list)
    result = effects[-1]["result"]
    assert isinstance(result, dict)
    return result


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(put("answers", ["tuned nobody"]), "answers are", id="answers"),
        pytest.param(put("styles", ["shouting"]), "unknown styles", id="styles"),
        pytest.param(put("policy", {"budget_ns": 0}), "$.budget_ns", id="policy"),
        pytest.param(
            _first_step(lambda step: step.update(event={"type": "odd"})), "$.type", id="event"
        ),
        pytest.param(
            _first_step(lambda step: _answer(step).update(source="odd")), "source", id="effect"
        ),
        pytest.param(
            _first_step(lambda step: _answer(step).update(ratio=[1, 3])),
            "by the second way",
            id="ratio",
        ),
        pytest.param(
            _first_step(lambda step: _answer(step).update(key="0" * 64)),
            "a decision under another key",
            id="key",
        ),
        pytest.param(
            lambda text: text.replace('"purpose": "paired"', '"purpose": "warmup"', 1),
            "measures another candidate",
            id="a measurement less",
        ),
        pytest.param(
            lambda text: text.replace('"candidate": 1, "purpose": "paired"',
                                      '"candidate": 0, "purpose": "paired"', 1),
            "measures another candidate",
            id="order of a block",
        ),
        pytest.param(
            lambda text: text.replace('"deadline_ns": 31000000000', '"deadline_ns": 31000000001',
                                      1),
            "the turn ends",
            id="deadline",
        ),
    ],
)  # fmt: skip
def test_a_changed_script_is_complained_of(
    disk: Disk, change: Callable[[str], str], words: str
) -> None:
    found = complaints(disk, SCRIPTS, change)
    assert any(words in one for one in found), found


def test_files_in_another_order_differ(disk: Disk) -> None:
    def turned(text: str) -> str:
        file = json.loads(text)
        file["vectors"].reverse()
        return json.dumps(file)

    assert any("differs" in one for one in complaints(disk, SAMPLE, turned))


def test_a_missing_file_and_a_strange_one_are_complained_of(disk: Disk) -> None:
    small = only(disk, SAMPLE)
    renamed = {"vectors/evidence/odd.json": small.files[SAMPLE]}
    found = lint(evolve(small, files=renamed), fewest=0)
    assert f"{SAMPLE}: the file is missing" in found
    assert "vectors/evidence/odd.json: nothing writes this file" in found


@pytest.mark.parametrize("rule", sorted(RULES))
def test_every_rule_must_be_covered_from_both_sides(disk: Disk, rule: str) -> None:
    found = lint(Disk({}, {}, {}), fewest=0)
    assert f"rule {rule}: no vector in which it holds" in found
    assert f"rule {rule}: no vector in which it breaks" in found
    assert disk.files, "pointless unless the real ones are covered, which the first test shows"


def test_too_few_vectors_are_complained_of(disk: Disk) -> None:
    found = lint(only(disk, SAMPLE))
    assert any("need at least 400" in one for one in found)


def test_a_new_version_of_the_rules_may_change_a_meaning(disk: Disk) -> None:
    small = only(disk, SAMPLE)
    old = {name: Known("0.9", "0" * 64) for name in small.index}
    found = lint(evolve(small, index=old), fewest=0)
    assert not any("meaning changed" in one for one in found)
    same = {name: Known(one.spec_version, "0" * 64) for name, one in small.index.items()}
    found = lint(evolve(small, index=same), fewest=0)
    assert any("meaning changed" in one for one in found)


def test_a_file_that_is_not_text_is_complained_of(disk: Disk) -> None:
    small = only(disk, SAMPLE)
    found = lint(evolve(small, files={SAMPLE: b"\xff\xfe"}), fewest=0)
    assert any(one.startswith(SAMPLE) and "decode" in one for one in found)
