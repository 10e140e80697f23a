"""`ortsel report` from the command line."""

from pathlib import Path

import pytest

from ortsel.cli import html_report
from tests.ortsel.cli.conftest import Invoke, hold_something


def test_a_report_is_replaced_and_nothing_else_is(invoke: Invoke, tmp_path: Path) -> None:
    store, page = tmp_path / "s.sqlite3", tmp_path / "page.html"
    hold_something(store)
    for _ in range(2):
        assert invoke("report", "--store", store, "-o", page).exit_code == 0
    assert page.read_text("utf-8").startswith("<!doctype html>")
    assert sorted(one.name for one in tmp_path.glob("*.html*")) == ["page.html"]
    page.write_text("my letters")
    result = invoke("report", "--store", store, "-o", page)
    assert result.exit_code == 2
    assert "which is no report" in result.output
    assert page.read_text() == "my letters"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--store", "missing"), "there is no store yet"),
        (("--output", "."), "it is a directory"),
        (("--output", "nowhere/page.html"), "there is no directory nowhere"),
        (("--model", "missing.onnx"), "--model missing.onnx"),
    ],
)
def test_what_cannot_be_is_one_line(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    hold_something(tmp_path / "s.sqlite3")
    result = invoke("report", "--store", "s.sqlite3", *arguments)
    assert result.exit_code == 2
    assert words in result.output
    assert len(result.output.splitlines()) == 1


def test_a_file_that_is_no_store_is_said_so(invoke: Invoke, tmp_path: Path) -> None:
    store = tmp_path / "s.sqlite3"
    store.write_bytes(b"x" * 10_000)
    result = invoke("report", "--store", store, "-o", tmp_path / "page.html")
    assert result.exit_code == 2
    assert str(store) in result.output


def test_a_model_gets_its_files_name(invoke: Invoke, tmp_path: Path, dense: Path) -> None:
    from ortsel.report.model_names import model_names, read_model
    from ortsel.store import SqliteStore
    from spec.canonical_json import canonical
    from tests.ortsel.store.sample_records import record

    named = read_model(dense)
    assert dict(named.axes) == {("x", 0): "batch"}
    assert set(model_names([named]).values()) == {"dense.onnx"}
    store = SqliteStore(tmp_path / "s.sqlite3")
    store.save(record("k"), canonical({"model": named.digests[0]}))
    store.close()
    page = tmp_path / "page.html"
    invoke("report", "--store", store.path, "-o", page)
    assert "dense.onnx" not in page.read_text("utf-8")
    invoke("report", "--store", store.path, "-o", page, "--model", dense)
    assert "dense.onnx" in page.read_text("utf-8")


def test_a_missing_package_names_the_extra(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold_something(tmp_path / "s.sqlite3")
    monkeypatch.setattr(html_report, "_NEEDED", ("no_such_package",))
    result = invoke("report", "--store", tmp_path / "s.sqlite3")
    assert result.exit_code == 2
    assert "pip install 'ortsel[report]'" in result.output
