"""`ortsel cache`: what is stored is shown, carried whole, pruned as asked, and examined."""

import json
import logging
import sqlite3
import time
from pathlib import Path
from typing import Any

import click.testing
import numpy as np
import pytest
from attrs import evolve

import ortsel
from ortsel.cli.ages import parse_age
from ortsel.cli.stored_decisions import age_words, workload_words
from ortsel.selectors import forget_all
from ortsel.store import SqliteStore
from spec.record import Origin
from tests.ortsel.cli.conftest import Invoke, hold_something
from tests.ortsel.cli.stored_samples import WINNER, decide


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give tables the room in which no cell is folded."""
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def store(tmp_path: Path, dense: Path) -> Path:
    """Two decisions about the dense model, one of them for the reference."""
    decide(dense, tmp_path / "s.sqlite3", 1)
    decide(dense, tmp_path / "s.sqlite3", 2, "reference", age_s=9 * 86_400)
    return tmp_path / "s.sqlite3"


def document(result: click.testing.Result, code: int = 0) -> dict[str, Any]:
    assert result.exit_code == code, result.output
    assert result.stderr == ""
    parsed: dict[str, Any] = json.loads(result.stdout)
    assert parsed["schema"] == 1
    return parsed


def test_a_list_names_every_decision_the_newest_first(invoke: Invoke, store: Path) -> None:
    found = document(invoke("cache", "list", "--store", store, "--json"))
    assert [one["winner"] for one in found["decisions"]] == [WINNER, "reference"]
    assert [one["workload"] for one in found["decisions"]] == [
        "x float[1,64] (numpy)",
        "x float[2,64] (numpy)",
    ]
    assert found["decisions"][0]["ratio"] == 0.5
    assert found["decisions"][0]["environment_differs"] == []
    assert (found["total"], found["unreadable"]) == (2, 0)
    text = invoke("cache", "list", "--store", store).stdout
    assert WINNER in text
    assert "9 d" in text
    assert "2 decisions" in text


def test_a_list_can_be_narrowed(invoke: Invoke, store: Path, dense: Path, tokens: Path) -> None:
    def keys(*options: object) -> int:
        found = document(invoke("cache", "list", "--store", store, "--json", *options))
        return len(found["decisions"])

    assert keys("--model", dense) == 2
    assert keys("--model", tokens) == 0
    assert keys("--origin", "imported") == 0
    assert keys("--limit", "1") == 1
    assert "1 of 2 decisions" in invoke("cache", "list", "--store", store, "--limit", 1).stdout


def test_a_store_that_is_not_there_is_empty(invoke: Invoke, tmp_path: Path) -> None:
    result = invoke("cache", "list", "--store", tmp_path / "none.sqlite3")
    assert result.exit_code == 0
    assert "no decisions" in result.stdout
    assert not (tmp_path / "none.sqlite3").exists()


def test_one_decision_is_shown_with_every_part_of_its_key(invoke: Invoke, store: Path) -> None:
    key = document(invoke("cache", "list", "--store", store, "--json"))["decisions"][0]["key"]
    found = document(invoke("cache", "show", key[:12], "--store", store, "--json"))
    assert found["key"] == key
    assert found["parts"]["workload"]["inputs"]["x"]["shape"] == [1, 64]
    text = invoke("cache", "show", key, "--store", store).stdout
    assert "0.500 (2.00x faster), noise 0.010, 9 blocks" in text
    assert "on 2 feeds" in text
    assert "environment.onnxruntime" in text


def test_a_bundle_carries_decisions_to_another_store(
    invoke: Invoke, store: Path, dense: Path, tmp_path: Path
) -> None:
    bundle, other = tmp_path / "a.bundle", tmp_path / "other.sqlite3"
    made = document(invoke("cache", "export", bundle, "--model", dense, "--store", store, "--json"))
    assert (made["records"], made["signed_by"], len(made["models"])) == (2, None, 1)
    again = tmp_path / "b.bundle"
    document(invoke("cache", "export", again, "--store", store, "--json"))
    assert again.read_bytes() == bundle.read_bytes()
    tried = document(invoke("cache", "import", bundle, "--store", other, "--dry-run", "--json"))
    assert (tried["records"], tried["imported"], tried["dry_run"]) == (2, 0, True)
    assert not other.exists()
    done = document(invoke("cache", "import", bundle, "--store", other, "--json"))
    assert (done["imported"], done["for_this_environment"]) == (2, 2)
    found = document(invoke("cache", "list", "--store", other, "--origin", "imported", "--json"))
    assert len(found["decisions"]) == 2
    text = invoke("cache", "import", bundle, "--store", store).stdout
    assert "2 left out: the store holds better ones" in text


def test_a_session_serves_an_imported_decision_after_verifying_it_and_only_with_a_trusted_key(
    invoke: Invoke, store: Path, dense: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bundle, other, key = tmp_path / "a.bundle", tmp_path / "o.sqlite3", tmp_path / "key.pem"
    public = document(invoke("cache", "keygen", key, "--json"))["public_key"]
    assert key.stat().st_mode & 0o777 == 0o600
    invoke("cache", "export", bundle, "--store", store, "--sign", key)
    trust = tmp_path / "key.pem.pub"
    done = document(invoke("cache", "import", bundle, "--store", other, "--trust", trust, "--json"))
    assert done["signed_by"] == public

    def serves(*keys: str) -> tuple[str, str, bool]:
        forget_all()
        config = ortsel.SelectionConfig(mode="cache-only", store=str(other), trusted_keys=keys)
        session = ortsel.InferenceSession(str(dense), selection=config)
        session.run(None, {"x": np.ones((1, 64), np.float32)})
        explained = session.explain().workloads[-1]
        return explained.plan, explained.source, explained.verified

    assert serves(public) == (WINNER, "stored", True)
    with caplog.at_level(logging.WARNING):
        assert serves("ab" * 32)[:2] == ("reference", "cache-miss")
    assert "no trusted key signed" in caplog.text
    forget_all()


def test_trusted_keys_are_checked_when_they_are_given() -> None:
    for wrong in ("ab", ("ab",), ("zz" * 32,)):
        with pytest.raises(ortsel.UsageError, match="trusted_keys"):
            ortsel.SelectionConfig(trusted_keys=wrong)
    assert ortsel.SelectionConfig(trusted_keys=["AB" * 32]).trusted_keys == ("ab" * 32,)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--older-than", "8d"], 1),
        (["--older-than", "2w"], 2),
        (["--keep", "1"], 1),
        (["--keep", "2"], 2),
        (["--imported"], 2),
        (["--other-environments"], 2),
        (["--model", "0000"], 2),
        (["--older-than", "8d", "--imported"], 2),
        (["--all"], 0),
    ],
)
def test_pruning_removes_what_meets_every_condition(
    invoke: Invoke, store: Path, options: list[str], left: int
) -> None:
    tried = document(invoke("cache", "prune", *options, "--dry-run", "--store", store, "--json"))
    assert tried["left"] == left
    assert len(document(invoke("cache", "list", "--store", store, "--json"))["decisions"]) == 2
    done = document(invoke("cache", "prune", *options, "--store", store, "--json"))
    assert (done["left"], done["removed"]) == (left, tried["removed"])
    assert len(document(invoke("cache", "list", "--store", store, "--json"))["decisions"]) == left


def test_pruning_finds_imported_decisions_and_those_of_other_environments(
    invoke: Invoke, store: Path
) -> None:
    place = SqliteStore(store)
    one, two = place.records()
    place.remove_all([one.record.key, two.record.key])
    place.save(evolve(one.record, origin=Origin.IMPORTED), one.key_text)
    place.save(two.record, two.key_text.replace('"affinity":', '"affinity":9'))
    place.close()
    for option, key in (("--imported", one.record.key), ("--other-environments", two.record.key)):
        done = document(invoke("cache", "prune", option, "--store", store, "--json"))
        assert done["removed"] == [key]


def test_pruning_everything_takes_built_graphs_and_kept_bundles_along(
    invoke: Invoke, store: Path
) -> None:
    folders = [
        store.with_name(f"{store.name}.{name}") for name in ("variants", "contents", "bundles")
    ]
    for folder in folders:
        folder.mkdir()
        (folder / "a.onnx").write_bytes(b"")
    invoke("cache", "prune", "--all", "--dry-run", "--store", store)
    assert all(folder.is_dir() for folder in folders)
    invoke("cache", "prune", "--all", "--store", store)
    assert not any(folder.exists() for folder in folders)


def test_verifying_counts_what_is_sound(invoke: Invoke, store: Path) -> None:
    found = document(invoke("cache", "verify", "--store", store, "--json"))
    assert (found["sound"], found["findings"], found["exit_code"]) == (2, [], 0)
    assert "2 sound, nothing to look at" in invoke("cache", "verify", "--store", store).stdout


def test_verifying_names_what_is_wrong_and_changes_nothing(invoke: Invoke, store: Path) -> None:
    hold_something(store)
    place = SqliteStore(store, wall_clock_s=lambda: time.time() + 20_000)
    first = next(place.records())
    place.save(evolve(first.record, created_s=first.record.created_s + 10_000), first.key_text)
    place.close()
    with sqlite3.connect(store) as database:
        database.execute("UPDATE record SET body = '{' WHERE sequence = 2")
    database.close()
    before = store.read_bytes()
    found = document(invoke("cache", "verify", "--store", store, "--json"), code=4)
    assert sorted(one["kind"] for one in found["findings"]) == ["corrupt", "corrupt", "future"]
    assert found["sound"] == 0
    assert "3 to look at" in invoke("cache", "verify", "--store", store).stdout
    assert store.read_bytes() == before
    assert "more cannot be read" in invoke("cache", "list", "--store", store).stdout


def spoil(store: Path, column: str, value: object) -> str:
    """Write something into the second row that no reader takes; return what its key was."""
    with sqlite3.connect(store) as database:
        (key,) = database.execute("SELECT key FROM record WHERE sequence = 2").fetchone()
        database.execute(f"UPDATE record SET {column} = ? WHERE sequence = 2", (value,))
    database.close()
    return str(key)


def test_verifying_names_the_key_of_a_row_that_cannot_be_decoded(
    invoke: Invoke, store: Path
) -> None:
    key = spoil(store, "body", "{")
    [one] = document(invoke("cache", "verify", "--store", store, "--json"), code=4)["findings"]
    assert (one["kind"], one["key"]) == ("corrupt", key)
    assert key[:12] in invoke("cache", "verify", "--store", store).stdout


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (b"\xff\x1b[31m", "\\\\xff\\x1b[31m"),
        ("<b>\u202e" + "k" * 200, "<b>\\u202e" + "k" * 71),
        (7, "7"),
    ],
)
def test_a_hostile_key_is_shown_escaped_and_cut(
    invoke: Invoke, store: Path, key: object, shown: str
) -> None:
    spoil(store, "key", key)
    [one] = document(invoke("cache", "verify", "--store", store, "--json"), code=4)["findings"]
    assert one["key"] == shown


@pytest.mark.parametrize(("column", "value"), [("body", "{"), ("key", b"\xff"), ("key", "other")])
def test_pruning_removes_what_is_corrupt_and_nothing_else(
    invoke: Invoke, store: Path, column: str, value: object
) -> None:
    before = len(document(invoke("cache", "list", "--store", store, "--json"))["decisions"])
    spoil(store, column, value)
    asked = ("cache", "prune", "--corrupt", "--store", store)
    dry = document(invoke(*asked, "--dry-run", "--json"))
    assert (len(dry["removed"]), dry["left"]) == (1, before - 1)
    document(invoke("cache", "verify", "--store", store, "--json"), code=4)
    assert f"1 removed, {before - 1} left" in invoke(*asked).stdout
    assert document(invoke("cache", "verify", "--store", store, "--json"))["sound"] == before - 1
    assert document(invoke(*asked, "--json"))["removed"] == []


def test_a_record_of_a_later_schema_is_not_pruned_as_corrupt(invoke: Invoke, store: Path) -> None:
    spoil(store, "body", '{"schema": 999}')
    found = document(invoke("cache", "prune", "--corrupt", "--store", store, "--json"))
    assert found["removed"] == []
    [one] = document(invoke("cache", "verify", "--store", store, "--json"), code=4)["findings"]
    assert one["kind"] == "newer"


def test_pruning_what_is_corrupt_takes_no_other_condition(invoke: Invoke, store: Path) -> None:
    result = invoke("cache", "prune", "--corrupt", "--imported", "--store", store)
    assert result.exit_code == 2
    assert "got conditions and --corrupt" in result.stderr


def test_a_file_that_is_no_store_is_not_pruned(invoke: Invoke, tmp_path: Path) -> None:
    place = tmp_path / "s.sqlite3"
    place.write_bytes(b"x" * 4096)
    result = invoke("cache", "prune", "--corrupt", "--store", place)
    assert result.exit_code == 2
    assert str(place) in result.stderr
    assert place.read_bytes() == b"x" * 4096


def test_a_file_that_is_no_store_is_a_finding(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "s.sqlite3").write_bytes(b"x" * 4096)
    found = document(invoke("cache", "verify", "--store", tmp_path / "s.sqlite3", "--json"), code=4)
    assert [one["kind"] for one in found["findings"]] == ["store"]


def test_ages_are_hours_days_and_weeks() -> None:
    assert [parse_age(text) for text in ("12h", "1D", "2w")] == [43_200, 86_400, 1_209_600]
    for wrong in ("", "1", "d", "-1d", "1m", "1.5d", "999999d"):
        with pytest.raises(ValueError, match="is not an age such as"):
            parse_age(wrong)
    seconds = (-999, 0, 59, 60, 7200, 86_400 * 3)
    words = ["ahead", "just now", "just now", "1 min", "2 h", "3 d"]
    assert [age_words(one) for one in seconds] == words


@pytest.mark.parametrize("workload", [None, 1, {}, {"inputs": []}, {"inputs": {"x": 1}}])
def test_a_workload_that_is_not_understood_has_no_words(workload: object) -> None:
    assert workload_words(workload) == ""
