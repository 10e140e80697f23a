"""`ortsel explain` says what a session would find, and measures nothing."""

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from spec.policy import Policy
from tests.ortsel.cli.conftest import Invoke, save_model
from tests.ortsel.cli.stored_samples import WINNER, decide


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tables the room in which no cell is folded."""
    monkeypatch.setenv("COLUMNS", "200")


def ask(invoke: Invoke, *arguments: object, code: int) -> dict[str, Any]:
    result = invoke("explain", *arguments, "--json")
    assert result.exit_code == code, result.output
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_a_decision_is_shown_with_its_evidence(invoke: Invoke, dense: Path, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite3"
    record = decide(dense, store)
    found = ask(invoke, dense, "--shape", "batch=1", "--store", store, code=0)
    assert (found["verdict"], found["serves"], found["key"]) == ("decided", WINNER, record.key)
    assert found["decision"]["ratio"] == 0.5
    assert found["differs"] == []
    text = invoke("explain", dense, "--shape", "batch=1", "--store", store).stdout
    assert f"serves {WINNER}: faster beyond the noise, and verified equal" in text
    assert "0.500 (2.00x faster)" in text
    assert "workload.inputs" in text


def test_a_miss_shows_the_nearest_decision_and_the_parts_that_differ(
    invoke: Invoke, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite3"
    record = decide(dense, store)
    found = ask(invoke, dense, "--shape", "batch=3", "--store", store, code=3)
    assert (found["verdict"], found["serves"]) == ("miss", "reference")
    assert found["nearest"]["key"] == record.key
    assert found["differs"] == [
        {"part": "workload.inputs.x.shape", "here": [3, 64], "there": [1, 64]}
    ]
    result = invoke("explain", dense, "--shape", "batch=3", "--store", store)
    assert "it differs in workload.inputs.x.shape" in result.stdout
    bound = ask(invoke, dense, "--shape", "batch=1", "--bound", "--store", store, code=3)
    assert [one["part"] for one in bound["differs"]] == ["workload.calling"]
    other = ask(
        invoke, dense, "--shape", "batch=1", "--min-speedup", "1.5", "--store", store, code=3
    )
    assert [one["part"] for one in other["differs"]] == ["policy.min_speedup"]


def test_an_empty_store_has_no_nearest(invoke: Invoke, dense: Path, tmp_path: Path) -> None:
    store = tmp_path / "none.sqlite3"
    found = ask(invoke, dense, "--shape", "batch=1", "--store", store, code=3)
    assert (found["verdict"], found["nearest"]) == ("miss", None)
    assert not store.exists()
    text = invoke("explain", dense, "--shape", "batch=1", "--store", store).stdout
    assert "ortsel tune makes one" in text


def test_a_decision_that_is_too_old_is_said_to_be(
    invoke: Invoke, dense: Path, tmp_path: Path
) -> None:
    store = tmp_path / "s.sqlite3"
    decide(dense, store, age_s=Policy().ttl_s + 1)
    found = ask(invoke, dense, "--shape", "batch=1", "--store", store, code=3)
    assert (found["verdict"], found["serves"]) == ("stale", "reference")
    assert "older than" in found["reason"]


def test_a_model_that_draws_random_numbers_is_never_tuned(
    invoke: Invoke, random_model: Path, tmp_path: Path
) -> None:
    found = ask(invoke, random_model, "--store", tmp_path / "s.sqlite3", code=3)
    assert found["verdict"] == "never"
    assert "RandomNormalLike" in found["reason"]


def test_attention_is_listed_with_operands_and_shapes(
    invoke: Invoke, dense: Path, tmp_path: Path
) -> None:
    pytest.importorskip("onnx_ir")

    def tensor(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 4, "tokens", 8])

    model = save_model(
        tmp_path / "attention.onnx",
        [
            helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
            helper.make_node("MatMul", ["q", "kt"], ["scores"], name="first"),
            helper.make_node("Softmax", ["scores"], ["weights"], name="soft", axis=-1),
            helper.make_node("MatMul", ["weights", "v"], ["y"], name="second"),
        ],
        [tensor("q"), tensor("k"), tensor("v")],
        [tensor("y")],
    )
    found = ask(invoke, model, "--attention", code=0)
    (site,) = found["attention"]
    assert site["operator"] == "unfused"
    assert site["query"] == {"name": "q", "shape": [2, 4, "tokens", 8]}
    assert site["masked"] is False
    text = invoke("explain", model, "--attention").stdout
    assert "q[2,4,tokens,8]" in text
    assert "attention in 1 place\n" in text
    assert "attention in no places" in invoke("explain", dense, "--attention").stdout
