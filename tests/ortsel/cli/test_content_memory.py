"""Commands hash a model once: they use what is remembered beside the store, and keep it there."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
import pytest
from attrs import evolve

from ortsel import model_content
from ortsel.content_memory import _decode, _encode
from ortsel.model_content import forget_all
from tests.ortsel.cli.conftest import Invoke
from tests.ortsel.cli.stored_samples import WINNER, decide

OTHER = "ab" * 32


@pytest.fixture(autouse=True)
def _new_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let files count as settled at once, and leave nothing remembered in memory."""
    monkeypatch.setattr(model_content, "_SETTLED_NS", -(10**12))
    forget_all()
    yield
    forget_all()


@pytest.fixture
def store(dense: Path, tmp_path: Path) -> Path:
    place = tmp_path / "s.sqlite3"
    decide(dense, place)
    forget_all()
    return place


def remembered(store: Path) -> list[Path]:
    return sorted(store.with_name(f"{store.name}.contents").glob("*"))


def shown_digest(invoke: Invoke, model: Path, store: Path) -> str:
    """Ask as another process would."""
    forget_all()
    result = invoke("explain", model, "--shape", "batch=1", "--store", store, "--json")
    document: dict[str, Any] = json.loads(result.stdout)
    return str(document["model"]["sha256"])


def pretend(store: Path, real: str) -> None:
    """Have the memory say another digest, so that its use can be seen."""
    [file] = remembered(store)
    known = _decode(file.read_bytes())
    assert known is not None
    assert known.digest == real
    file.write_bytes(_encode(evolve(known, digest=OTHER)))


def test_a_command_uses_the_hash_that_an_earlier_one_left_beside_the_store(
    invoke: Invoke, dense: Path, store: Path
) -> None:
    real = shown_digest(invoke, dense, store)
    pretend(store, real)
    assert shown_digest(invoke, dense, store) == OTHER
    forget_all()
    listed = invoke("cache", "list", "--model", dense, "--store", store, "--json")
    assert json.loads(listed.stdout)["decisions"] == [], "it has the remembered hash, too"


def test_a_changed_model_is_hashed_anew(invoke: Invoke, dense: Path, store: Path) -> None:
    pretend(store, shown_digest(invoke, dense, store))
    model = onnx.load(dense)
    model.graph.node[0].op_type = "MatMul"
    model.graph.initializer[0].raw_data = bytes(len(model.graph.initializer[0].raw_data))
    onnx.save(model, dense)
    found = shown_digest(invoke, dense, store)
    assert found not in {OTHER, ""}


def test_pruning_all_forgets_the_hashes(invoke: Invoke, dense: Path, store: Path) -> None:
    real = shown_digest(invoke, dense, store)
    pretend(store, real)
    invoke("cache", "prune", "--all", "--store", store)
    assert remembered(store) == []
    assert shown_digest(invoke, dense, store) == real


def test_a_mistyped_store_makes_no_folder(invoke: Invoke, dense: Path, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    digest = shown_digest(invoke, dense, tmp_path / "mistyped.sqlite3")
    assert len(digest) == 64
    assert sorted(os.listdir(tmp_path)) == before


def test_a_damaged_memory_costs_a_hash_and_nothing_else(
    invoke: Invoke, dense: Path, store: Path
) -> None:
    real = shown_digest(invoke, dense, store)
    [file] = remembered(store)
    file.write_bytes(b"\xff{" * 100)
    assert shown_digest(invoke, dense, store) == real
    asked = ("explain", dense, "--shape", "batch=1", "--store", store, "--json")
    assert json.loads(invoke(*asked).stdout)["serves"] == WINNER
