"""`--store postgresql://...`: commands work on a real server and show no secret of its URL."""

import json
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import click.testing
import pytest

import ortsel
from ortsel.bundle.kept_bundles import KeptBundles
from ortsel.selectors import forget_all
from ortsel.store import PostgresStore
from spec.record import Origin
from tests.ortsel.cli.conftest import Invoke
from tests.ortsel.cli.stored_samples import WINNER, decide
from tests.ortsel.store.postgres_server import PASSWORD, PostgresServer

QUOTED = PASSWORD.replace("/", "%2F").replace("@", "%40")


@pytest.fixture
def url(postgres: PostgresServer, database: str) -> str:
    return postgres.url(database)


@pytest.fixture(autouse=True)
def own_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def text(result: click.testing.Result, code: int = 0) -> str:
    assert result.exit_code == code, result.output
    for secret in (PASSWORD, QUOTED, "tester"):
        assert secret not in result.output
    return result.output


def document(result: click.testing.Result, code: int = 0) -> dict[str, Any]:
    text(result, code)
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def test_decisions_on_a_server_are_listed_shown_explained_and_pruned(
    invoke: Invoke, url: str, database: str, dense: Path
) -> None:
    key = decide(dense, url).key
    decide(dense, url, 2, "reference")
    listed = text(invoke("cache", "list", "--store", url))
    assert WINNER in listed
    assert f"/{database}" in listed
    assert "***" not in listed.replace("/***", ""), "the address is readable"
    assert text(invoke("cache", "show", key[:12], "--store", url)).startswith("key")
    found = document(invoke("explain", dense, "--shape", "batch=1", "--store", url, "--json"))
    assert found["key"] == key
    pruned = document(invoke("cache", "prune", "--keep", "1", "--store", url, "--json"))
    assert (len(pruned["removed"]), pruned["left"]) == (1, 1)
    pruned = document(invoke("cache", "prune", "--all", "--store", url, "--json"))
    assert (len(pruned["removed"]), pruned["folders"]) == (1, [])


def test_tune_finds_its_decision_on_the_server(invoke: Invoke, url: str, dense: Path) -> None:
    key = decide(dense, url).key
    forget_all()
    try:
        found = document(invoke("tune", dense, "--shape", "batch=1", "--store", url, "--json"))
    finally:
        forget_all()
    assert found["decision"]["source"] == "stored"
    assert found["workload"]["key"] == key
    assert found["store"]["stored"]
    assert found["store"]["path"].startswith("postgresql://127.0.0.1")


def test_a_damaged_row_on_a_server_is_something_to_look_at(
    invoke: Invoke, url: str, postgres: PostgresServer, database: str, dense: Path
) -> None:
    decide(dense, url)
    assert document(invoke("cache", "verify", "--store", url, "--json"))["sound"] == 1
    postgres.execute(database, "UPDATE ortsel_record SET body = 'nonsense'")
    found = document(invoke("cache", "verify", "--store", url, "--json"), 4)
    assert [one["kind"] for one in found["findings"]] == ["corrupt"]


def test_doctor_says_whether_a_server_answers_and_takes_changes(
    invoke: Invoke, url: str, postgres: PostgresServer, database: str, dense: Path
) -> None:
    decide(dense, url)
    command = ("doctor", "--provider", "CPUExecutionProvider", "--json", "--store")

    def look(place: str) -> dict[str, Any]:
        result = invoke(*command, place)
        found = document(result, result.exit_code)
        return {**found["store"], "attention": [x for x in found["attention"] if "store" in x]}

    found = look(url)
    assert (found["exists"], found["writable"], found["sound"]) == (True, True, 1)
    assert (found["bytes"], found["attention"]) == (None, [])
    postgres.execute(
        database,
        f"CREATE ROLE reader_{database} LOGIN PASSWORD 'r-word'",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader_{database}",
    )
    found = look(postgres.url(database, f"reader_{database}", "r-word"))
    assert (found["exists"], found["writable"]) == (True, False)
    assert "cannot be written" in found["attention"][0]
    away = f"postgresql://tester:{QUOTED}@127.0.0.1:1/{database}"
    found = look(away)
    assert (found["exists"], found["writable"]) == (False, False)


def test_report_says_what_a_store_on_a_server_does_not_hold(
    invoke: Invoke, url: str, database: str, dense: Path, tmp_path: Path
) -> None:
    decide(dense, url)
    page = tmp_path / "page.html"
    said = text(invoke("report", "--store", url, "--output", page))
    assert "beside a store in a file only" in said
    written = page.read_text()
    assert database in written
    assert QUOTED not in written


def test_a_signed_bundle_counts_on_each_machine_that_imports_it(
    invoke: Invoke,
    url: str,
    dense: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    key = decide(dense, tmp_path / "s.sqlite3").key
    public = document(invoke("cache", "keygen", tmp_path / "k.pem", "--json"))["public_key"]
    bundle = tmp_path / "b.bundle"
    exported = ("cache", "export", bundle, "--store", tmp_path / "s.sqlite3")
    text(invoke(*exported, "--sign", tmp_path / "k.pem"))
    taken = document(invoke("cache", "import", bundle, "--store", url, "--json"))
    assert taken["imported"] == 1
    kept = KeptBundles.of(url)
    assert kept is not None
    assert kept.files(), "the cache folder keeps it"
    with closing(PostgresStore(url)) as store:
        record = store.load(key)
        assert record is not None
        assert record.origin is Origin.IMPORTED

    def decided() -> object:
        forget_all()
        from ortsel.selectors import selector_for
        from spec.policy import Policy

        config = ortsel.SelectionConfig(store=url, trusted_keys=[public])
        found = selector_for(Policy(), config.store, config.trusted_keys).store
        return None if found is None else found.load(key)

    try:
        assert decided() == record
        for file in kept.files():
            file.unlink()
        with caplog.at_level(logging.WARNING):
            assert decided() is None
        assert "imported on this machine" in caplog.text

    finally:
        forget_all()


def test_a_url_that_is_none_is_a_usage_error_without_its_secrets(invoke: Invoke) -> None:
    bad = f"postgresql://tester:{QUOTED}@host/db?nonsense=1"
    assert "need postgresql://" in text(invoke("cache", "list", "--store", bad), 2)
