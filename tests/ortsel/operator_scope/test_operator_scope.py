"""Attention decided by itself, with real children, and the model that rests on it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import evolve

import ortsel
from ortsel.bundle import Bundle
from ortsel.candidates import CandidateFacts
from ortsel.plan import Plan
from ortsel.selectors import forget_all
from ortsel.store import SqliteStore
from ortsel.store.explanation import parse_key_text
from ortsel.store.store import StoredRecord
from spec.problem import Scope
from tests.ortsel.operator_scope.layered_models import layered, layered_feed

pytestmark = pytest.mark.slow

FAST = "variant=attention-24"
SLOW = "variant=flash-decode"


def two_ways(facts: CandidateFacts) -> tuple[Plan, ...]:
    return tuple(
        evolve(facts.reference, name=name, variant=name.removeprefix("variant="))
        for name in (SLOW, FAST)
    )


def session(
    model: Path, store: Path, mode: str = "blocking", operator_scope: bool | None = True
) -> ortsel.InferenceSession:
    """Open the model as a process that has decided nothing yet."""
    forget_all()
    config = ortsel.SelectionConfig(
        mode, store, 60.0, candidates=two_ways, operator_scope=operator_scope
    )
    return ortsel.InferenceSession(model, selection=config)


def records(store: Path) -> dict[Scope, list[StoredRecord]]:
    found: dict[Scope, list[StoredRecord]] = {}
    for stored in SqliteStore(store).records():
        found.setdefault(stored.record.scope, []).append(stored)
    return found


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, ortsel.Explanation]:
    """A model with its store after one search, and what that search says."""
    folder = tmp_path_factory.mktemp("operators")
    model, store = layered(folder / "model.onnx"), folder / "store.sqlite"
    opened = session(model, store)
    opened.run(None, layered_feed())
    return model, store, opened.explain()


def test_the_loser_is_left_out_of_the_models_search_and_the_report_says_so(
    tuned: tuple[Path, Path, ortsel.Explanation],
) -> None:
    _, _, explanation = tuned
    [operator] = explanation.operator_rows()
    assert (operator["plan"], operator["source"]) == (FAST, "tuned")
    assert str(operator["attention"]).startswith("4 x Attention on [1,64,32]")
    assert (operator["generated"], operator["measured"], operator["verified"]) == (2, 2, 2)
    [out] = explanation.left_out_rows()
    assert (out["plan"], out["rule"]) == (SLOW, "lost-at-operator-scope")
    assert [row["plan"] for row in explanation.candidate_rows()] == ["reference", FAST]
    assert [row["plan"] for row in explanation.rows()] == [FAST]
    text = str(explanation)
    assert "attention 4 x Attention" in text
    assert "1 left out (1 lost-at-operator-scope)" in text


def test_the_models_key_holds_the_fingerprint_and_the_operators_nothing_of_the_model(
    tuned: tuple[Path, Path, ortsel.Explanation],
) -> None:
    found = records(tuned[1])
    [operator], [pipeline] = found[Scope.OPERATOR], found[Scope.PIPELINE]
    whole, alone = parse_key_text(pipeline.key_text), parse_key_text(operator.key_text)
    options = whole["options"]
    assert isinstance(options, dict)
    assert options["operators"] == [operator.record.key]
    assert whole["candidates"] == ["reference", FAST]
    assert alone["lower_level"] == ""
    assert alone["model"] != whole["model"]


@pytest.mark.parametrize("operator_scope", [None, True])
def test_another_process_finds_both_decisions_and_measures_nothing(
    tuned: tuple[Path, Path, ortsel.Explanation], operator_scope: bool | None
) -> None:
    model, store, _ = tuned
    opened = session(model, store, "cache-only", operator_scope)
    opened.run(None, layered_feed(1))
    explanation = opened.explain()
    [row], [operator] = explanation.rows(), explanation.operator_rows()
    assert (row["plan"], row["source"]) == (FAST, "stored")
    assert (operator["plan"], operator["source"]) == (FAST, "stored")
    assert opened.statistics().explorations == 0


def test_without_the_operators_decision_the_models_is_a_miss(
    tuned: tuple[Path, Path, ortsel.Explanation], tmp_path: Path
) -> None:
    """What it rests on may be another by now: served all the same, it would be a stale choice."""
    model, store, _ = tuned
    changed = tmp_path / "store.sqlite"
    shutil.copytree(f"{store}.variants", f"{changed}.variants")
    kept = SqliteStore(changed)
    found = records(store)
    for stored in found[Scope.PIPELINE]:
        kept.save(stored.record, stored.key_text)
    [operator] = found[Scope.OPERATOR]
    for winner in ("", "reference"):
        if winner:
            other = evolve(
                operator.record, winner=winner, ratio=operator.record.ratio / operator.record.ratio
            )
            kept.save(other, operator.key_text)
        opened = session(model, changed, "cache-only")
        opened.run(None, layered_feed(1))
        [row] = opened.explain().rows()
        assert (row["plan"], row["source"]) == ("reference", "cache-miss"), winner
    kept.save(evolve(operator.record, created_s=operator.record.created_s + 1), operator.key_text)
    opened = session(model, changed, "cache-only")
    opened.run(None, layered_feed(1))
    assert opened.explain().rows()[0]["plan"] == FAST, "the premise: nothing else is in the way"


def export(model: Path, store: Path, bundle: Path) -> None:
    options = ["--model", str(model), "--store", str(store)]
    command = [sys.executable, "-m", "ortsel.cli", "cache", "export", str(bundle), *options]
    subprocess.run(command, check=True, capture_output=True, timeout=60)


def test_a_bundle_of_one_model_holds_what_its_decisions_rest_on(
    tuned: tuple[Path, Path, ortsel.Explanation], tmp_path: Path
) -> None:
    model, store, _ = tuned
    export(model, store, tmp_path / "one.bundle")
    bundle = Bundle.read((tmp_path / "one.bundle").read_bytes())
    assert {one.record.scope for one in bundle.records} == {Scope.OPERATOR, Scope.PIPELINE}


@pytest.mark.deep
def test_decisions_out_of_a_bundle_serve_together(
    tuned: tuple[Path, Path, ortsel.Explanation], tmp_path: Path
) -> None:
    model, store, _ = tuned
    export(model, store, tmp_path / "one.bundle")
    there = tmp_path / "store.sqlite"
    shutil.copytree(f"{store}.variants", f"{there}.variants")
    command = [sys.executable, "-m", "ortsel.cli", "cache", "import", str(tmp_path / "one.bundle")]
    subprocess.run([*command, "--store", str(there)], check=True, capture_output=True, timeout=60)
    opened = session(model, there, "cache-only")
    opened.run(None, layered_feed(1))
    [row], [operator] = opened.explain().rows(), opened.explain().operator_rows()
    assert (row["plan"], row["source"], operator["plan"]) == (FAST, "stored", FAST)


@pytest.mark.deep
def test_another_model_with_the_same_attention_uses_the_same_decision(
    tuned: tuple[Path, Path, ortsel.Explanation], tmp_path: Path
) -> None:
    _, store, _ = tuned
    other = layered(tmp_path / "other.onnx", layers=6, seed=1)
    opened = session(other, store)
    opened.run(None, layered_feed(1))
    [operator] = opened.explain().operator_rows()
    assert (operator["plan"], operator["source"]) == (FAST, "stored")
    assert len(records(store)[Scope.OPERATOR]) == 1
    assert opened.statistics().explorations == 1, "the model's own"


@pytest.mark.deep
@pytest.mark.parametrize(("operator_scope", "reason"), [(None, "it would take about"), (False, "")])
def test_a_small_model_is_searched_as_ever_unless_asked(
    tmp_path: Path, operator_scope: bool | None, reason: str
) -> None:
    model = layered(tmp_path / "model.onnx")
    opened = session(model, tmp_path / "store.sqlite", operator_scope=operator_scope)
    opened.run(None, layered_feed())
    [workload] = opened.explain().workloads
    assert workload.operators.decisions == ()
    assert workload.operators.reason.startswith(reason)
    assert bool(workload.operators.reason) == bool(reason)
    assert [one.name for one in workload.candidates] == ["reference", SLOW, FAST]
    assert set(records(tmp_path / "store.sqlite")) == {Scope.PIPELINE}
