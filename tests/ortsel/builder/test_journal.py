"""The journal and the merging of what other machines made."""

import os
import time
from fractions import Fraction
from pathlib import Path

import pytest

from ortsel.builder.executor import Finished
from ortsel.builder.families import BY_NAME, families
from ortsel.builder.journal import Journal
from ortsel.builder.merging import StrayFileError, merge
from ortsel.builder.task import Outcome, Status, Task
from ortsel.candidates import CandidateFacts, generate
from ortsel.errors import UsageError
from ortsel.plan import Plan, Provider
from ortsel.provider_caches import with_caches
from ortsel.store import SqliteStore, StoredRecord
from spec.problem import Scope
from spec.record import Origin, Record

DECIDED = Outcome("a" * 64, Status.DECIDED, "faster", plan="p", ratio=0.5, candidates=({"n": 1},))
FAILED = Outcome("b" * 64, Status.FAILED, "no")
TASK = Task("a" * 64, "/m", "m", {}, None, (), 0, 1.0, "", (), None, False, 0, "by-type", (), True)


def test_ends_are_found_again_after_any_cut_of_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path) as journal:
        journal.write(DECIDED)
        one = path.stat().st_size
        journal.write(FAILED)
    whole = path.read_bytes()
    for size in (one, one + 1, len(whole) - 1, len(whole)):
        path.write_bytes(whole[:size])
        with Journal(path) as journal:
            assert journal.outcome(DECIDED.id) == DECIDED
            assert (journal.outcome(FAILED.id) == FAILED) == (size == len(whole))
            assert journal.interrupted
            journal.write(FAILED)
        with Journal(path) as journal:
            assert journal.outcome(FAILED.id) == FAILED


def test_a_build_that_came_to_its_end_was_not_interrupted(tmp_path: Path) -> None:
    with Journal(tmp_path / "j") as journal:
        assert not journal.interrupted
        journal.write(FAILED)
        journal.finish()
    with Journal(tmp_path / "j") as journal:
        assert not journal.interrupted
        assert journal.outcome(FAILED.id) == FAILED


@pytest.mark.parametrize(
    "line", ["", "{}", "[]", "null", "nonsense", '{"schema": 2}', '{"schema": 1, "outcome": {}}']
)
def test_lines_that_are_not_understood_count_for_nothing(tmp_path: Path, line: str) -> None:
    (tmp_path / "j").write_text(line + "\n")
    with Journal(tmp_path / "j") as journal:
        assert not journal.interrupted
        journal.write(DECIDED)
    with Journal(tmp_path / "j") as journal:
        assert journal.outcome(DECIDED.id) == DECIDED


def record(blocks: int) -> StoredRecord:
    made = Record(
        "c" * 64, Scope.PIPELINE, "w", "reference", int(time.time()), 2, 1, Fraction(1, 2),
        Fraction(0), blocks, verified=True, feeds=2, origin=Origin.IMPORTED,
    )  # fmt: skip
    return StoredRecord(made, "")


def test_of_two_records_of_one_key_the_better_stays_whichever_came_first(tmp_path: Path) -> None:
    for order in ((3, 9), (9, 3)):
        output = tmp_path / str(order[0])
        for blocks in order:
            merge(Finished(TASK, DECIDED, (record(blocks),)), output)
        store = SqliteStore(output / "decisions.sqlite3")
        kept = store.load("c" * 64)
        assert kept is not None
        assert kept.blocks == 9
        store.close()


def test_files_land_in_the_folders_of_the_builder(tmp_path: Path) -> None:
    files = (("compiled/a.onnx", b"x"), ("decisions.sqlite3.caches/openvino/b", b"y"))
    merge(Finished(TASK, DECIDED, (), files), tmp_path)
    merge(Finished(TASK, DECIDED, (), (("compiled/a.onnx", b"z"),)), tmp_path)
    assert (tmp_path / "compiled" / "a.onnx").read_bytes() == b"x", "what is there stays"
    assert (tmp_path / "decisions.sqlite3.caches" / "openvino" / "b").read_bytes() == b"y"


@pytest.mark.parametrize(
    "name", ["/etc/x", "compiled", "../x", "compiled/../../x", "decisions.sqlite3", "a/b", "x\0y"]
)
def test_a_file_for_any_other_place_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StrayFileError):
        merge(Finished(TASK, DECIDED, (record(3),), ((name, b"x"),)), tmp_path)
    assert os.listdir(tmp_path) == []


def test_families_are_parts_of_the_catalogue_and_refused_by_other_names() -> None:
    facts = CandidateFacts(4, 4, reference=Plan("reference", (Provider("CPUExecutionProvider"),)))
    every = {plan.name for plan in generate(facts.reference, facts)}
    assert {plan.name for plan in families()(facts)} == every
    some = {plan.name for plan in families("thread", "spinning")(facts)}
    assert "reference" in some
    assert {"reference"} < some < every
    assert families("spinning") == families("spinning")
    with pytest.raises(UsageError, match=f"one of {next(iter(BY_NAME))}"):
        families("spin")


def test_caches_are_used_where_their_folder_is_and_the_user_has_no_own(tmp_path: Path) -> None:
    openvino, tensorrt = "OpenVINOExecutionProvider", "TensorrtExecutionProvider"
    plan = Plan("p", (Provider(openvino), Provider(tensorrt), Provider("CPUExecutionProvider")))
    assert with_caches(plan, None) is plan
    assert with_caches(plan, tmp_path) is plan, "no folder of the provider's"
    (tmp_path / "openvino").mkdir()
    (tmp_path / "tensorrt").mkdir()
    cached = with_caches(plan, tmp_path)
    first, second, third = cached.providers or ()
    assert dict(first.options) == {"cache_dir": str(tmp_path / "openvino")}
    assert dict(second.options).keys() == {
        "trt_engine_cache_enable", "trt_engine_cache_path", "trt_timing_cache_enable",
        "trt_timing_cache_path",
    }  # fmt: skip
    assert dict(second.options)["trt_engine_cache_path"].startswith(str(tmp_path / "tensorrt"))
    assert third == Provider("CPUExecutionProvider")
    assert cached.name == plan.name
    for own in (("cache_dir", "/mine"), ("load_config", '{"CPU": {"CACHE_DIR": "/mine"}}')):
        users = Plan("p", (Provider(openvino, (own,)),))
        assert with_caches(users, tmp_path) == users
