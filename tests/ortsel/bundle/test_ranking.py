"""Records rank: what won for the model elsewhere is tried first here, and decides nothing."""

import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from attrs import evolve
from onnx import TensorProto, helper

from ortsel.call_trials import Call
from ortsel.candidates.search_space import SearchSpace
from ortsel.loaded_model import LoadedModel
from ortsel.plan import Plan
from ortsel.ranking_by_records import ranked_by_records, remembered_winner
from ortsel.selection_config import SelectionConfig
from ortsel.selectors import selector_for
from ortsel.session_tuner import SessionTuner
from ortsel.store import MemoryStore
from ortsel.trial.calling import Calling
from spec.canonical_json import Json, canonical, digest
from tests.ortsel.bundle.bundle_samples import ENVIRONMENT, MODEL, stored
from tests.ortsel.store.sample_records import NOW_S

SPACE = SearchSpace(tuple(Plan(name) for name in ("reference", "a", "b", "threads=2")))


def names(space: SearchSpace) -> list[str]:
    return [plan.name for plan in space.plans]


def holding(**changes: Json) -> MemoryStore:
    store = MemoryStore(wall_clock_s=lambda: NOW_S)
    one = stored(**changes)
    store.save(one.record, one.key_text)
    return store


def test_what_won_in_another_environment_is_tried_first() -> None:
    store = holding(environment={**ENVIRONMENT, "cpu": "another"})
    assert names(ranked_by_records(SPACE, store, MODEL)) == ["reference", "threads=2", "a", "b"]


def test_another_models_winner_changes_nothing() -> None:
    store = holding(model="cd" * 32)
    assert remembered_winner(store, "cd" * 32) == "threads=2", "pointless unless it is there"
    assert ranked_by_records(SPACE, store, MODEL) == SPACE


@pytest.mark.parametrize("winner", ["reference", "gone"])
def test_a_winner_that_is_no_candidate_changes_nothing(winner: str) -> None:
    store = MemoryStore(wall_clock_s=lambda: NOW_S)
    one = stored()
    store.save(evolve(one.record, winner=winner), one.key_text)
    assert ranked_by_records(SPACE, store, MODEL) == SPACE


def test_an_empty_store_changes_nothing() -> None:
    assert ranked_by_records(SPACE, MemoryStore(), MODEL) == SPACE


def test_a_session_that_tunes_ranks_by_its_store_and_keeps_its_key(tmp_path: Path) -> None:
    row = [1, 4]
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, row)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, row)],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), tmp_path / "m.onnx")
    model = LoadedModel.of(tmp_path / "m.onnx", time.time_ns())

    def plans(mode: str, store: str) -> list[str]:
        config = SelectionConfig(mode=mode, store=str(tmp_path / store))
        selector = selector_for(config.effective_policy(), config.store)
        call = Call({"x": np.zeros(row, np.float32)}, ("y",), Calling.NUMPY, list)
        question = SessionTuner(model, Plan("reference"), config, selector).question(call)
        return [one.name for one in question.space.plans]

    usual = plans("blocking", "a")
    last = usual[-1]
    assert len(usual) > 2, "pointless unless the order can change"
    text = canonical({"environment": {}, "model": model.content().digest, "workload": "another"})
    config = SelectionConfig(mode="blocking", store=str(tmp_path / "b"))
    selector = selector_for(config.effective_policy(), config.store)
    record = evolve(stored().record, key=digest(text), winner=last, created_s=int(time.time()))
    selector.store.save(record, text)
    assert plans("blocking", "b") == [usual[0], last, *usual[1:-1]]
    assert plans("cache-only", "b") == usual
