"""`ortsel explain` without every size says what it knows and asks for the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from ortsel.cli.stored_decisions import StoredDecision
from tests.ortsel.cli.conftest import Invoke
from tests.ortsel.cli.stored_samples import WINNER, decide


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def ask(invoke: Invoke, *arguments: object, code: int = 3) -> dict[str, Any]:
    result = invoke("explain", *arguments, "--json")
    assert result.exit_code == code, result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_without_sizes_the_models_decisions_are_listed_and_the_sizes_asked_for(
    invoke: Invoke, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite3"
    old, new = decide(dense, store, age_s=500), decide(dense, store, rows=4, winner="reference")
    found = ask(invoke, dense, "--store", store)
    assert found["verdict"] == "open"
    assert found["missing"] == "batch"
    assert found["inputs"] == [{"name": "x", "type": "tensor(float)", "shape": ["batch", 64]}]
    assert [one["key"] for one in found["decisions"]] == [new.key, old.key]
    assert found["example"].startswith("ortsel explain ")
    assert found["example"].endswith("--shape batch=1")
    text = invoke("explain", dense, "--store", store).stdout
    assert "2 decisions for this model at the sizes that were given" in text
    assert f"x float[1,64] (numpy): {WINNER}, ratio 0.500" in text
    assert "x float[4,64] (numpy): keeps the reference" in text
    assert "which one serves depends on sizes that are missing: batch" in text
    assert "ortsel tune" not in text


def test_the_command_that_it_gives_answers(invoke: Invoke, dense: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite3"
    decide(dense, store)
    example = ask(invoke, dense, "--store", store)["example"].split()
    assert example[:2] == ["ortsel", "explain"]
    assert ask(invoke, *example[2:], "--store", store, code=0)["serves"] == WINNER


def test_another_models_decisions_are_not_listed(
    invoke: Invoke, dense: Path, tokens: Path, tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite3"
    decide(dense, store)
    found = ask(invoke, tokens, "--store", store)
    assert found["decisions"] == []
    assert "no decisions for this model" in invoke("explain", tokens, "--store", store).stdout


def test_given_sizes_narrow_what_is_listed() -> None:
    from ortsel.cli.model_inputs import ModelInput
    from ortsel.cli.partial_explanation import agrees
    from ortsel.cli.shapes import parse_shape
    from tests.ortsel.store.sample_records import record

    inputs = (
        ModelInput("ids", "tensor(int64)", ("batch", "length")),
        ModelInput("image", "tensor(float)", ("batch", 3, None)),
    )
    shapes = {"ids": {"shape": [2, 16]}, "image": {"shape": [2, 3, 8]}}
    decision = StoredDecision(record(), json.dumps({"workload": {"inputs": shapes}}))

    def fits(*texts: str) -> bool:
        return agrees(decision, inputs, [parse_shape(text) for text in texts])

    assert fits()
    assert fits("batch=2")
    assert fits("batch=2", "ids=2x16")
    assert not fits("batch=1")
    assert not fits("batch=2", "length=8")
    assert not fits("image=2x3x9")


def test_a_tolerance_is_part_of_the_question(invoke: Invoke, dense: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite3"
    decide(dense, store)
    asked = (dense, "--shape", "batch=1", "--store", store)
    assert ask(invoke, *asked, "--tolerance", "by-type", code=0)["serves"] == WINNER
    found = ask(invoke, *asked, "--tolerance", "cosine=0.99")
    assert "policy.tolerance" in {one["part"] for one in found["differs"]}
    assert "variant=dynamic-int8" in found["parts"]["candidates"]


@pytest.mark.parametrize("command", ["tune", "explain"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("near", "got 'near', need by-type, exact, close, or one of cosine"),
        ("cosine=2", "got 2.0, need a number above 0, at most 1"),
        ("cosine=x", "got 'x', need a number from 0 to 1"),
        ("angle=0.5", "got 'angle', need by-type"),
    ],
)
def test_a_tolerance_that_is_none_is_an_error_of_the_option(
    invoke: Invoke, dense: Path, command: str, text: str, words: str
) -> None:
    result = invoke(command, dense, "--shape", "batch=1", "--tolerance", text)
    assert result.exit_code == 2
    assert "--tolerance" in result.stderr
    assert words in " ".join(result.stderr.split())
