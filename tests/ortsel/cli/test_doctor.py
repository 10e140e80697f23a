"""`ortsel doctor` tries what it names, and its exit code says whether something needs attention."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ortsel.doctor import check_provider, provider_check
from tests.ortsel.cli.conftest import Invoke, hold_something

CPU = "CPUExecutionProvider"


def look(invoke: Invoke, store: Path, *arguments: object) -> tuple[dict[str, Any], int]:
    result = invoke("doctor", "--store", store, "--json", *arguments)
    assert result.stderr == ""
    return json.loads(result.stdout), result.exit_code


@pytest.mark.slow
def test_a_provider_that_loads_and_a_store_that_is_sound_need_no_attention(
    invoke: Invoke, tmp_path: Path
) -> None:
    found, _ = look(invoke, tmp_path / "s.sqlite3", "--provider", CPU)
    (provider,) = found["providers"]
    assert (provider["loaded"], provider["nodes"], provider["reason"]) == (True, 1, "")
    assert found["store"]["exists"] is False
    assert found["threads"]["budget"] >= 1
    assert not [line for line in found["attention"] if "store" in line or "Provider" in line]
    assert found["exit_code"] == (4 if found["attention"] else 0)


def test_what_is_wrong_is_named_and_gives_exit_code_4(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "s.sqlite3"
    hold_something(store)
    monkeypatch.setenv("ORT_DISABLE_FLASH_ATTENTION", "1")
    found, code = look(invoke, store, "--provider", "NoSuchExecutionProvider")
    assert code == found["exit_code"] == 4
    (provider,) = found["providers"]
    assert (provider["in_build"], provider["loaded"]) == (False, False)
    assert [one["name"] for one in found["variables"]] == ["ORT_DISABLE_FLASH_ATTENTION"]
    attention = "\n".join(found["attention"])
    assert "NoSuchExecutionProvider does not load: this build of ONNX Runtime has" in attention
    assert "store: corrupt: 000000000000" in attention
    text = invoke("doctor", "--store", store, "--provider", "NoSuchExecutionProvider").stdout
    assert "needs attention:" in text
    assert "ORT_DISABLE_FLASH_ATTENTION=1: takes an attention kernel" in text


def test_a_store_that_cannot_be_written_needs_attention(invoke: Invoke, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    found, code = look(invoke, tmp_path / "file" / "s.sqlite3", "--provider", "None")
    assert code == 4
    assert found["store"]["writable"] is False


def probe(path: Path, text: str) -> dict[str, str]:
    """Return variables under which the probe is this program instead."""
    folder = path / "ortsel" / "doctor"
    folder.mkdir(parents=True)
    for package in (path / "ortsel", folder):
        (package / "__init__.py").write_text("")
    (folder / "provider_probe.py").write_text(text)
    return {**os.environ, "PYTHONPATH": str(path), "PYTHONSAFEPATH": "1"}


LOG = (
    r"\x1b[1;31m2026-01-01 00:00:00.1 [E:onnxruntime:Default, a.cc:1 f] x : 1 : FAIL : Failed to "
    r"load library /opt/libonnxruntime_providers_x.so with error: libx.so.1: cannot open\x1b[m\n"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"import sys; sys.stderr.write('{LOG}'); print('[[\"Other\"], null, \"\"]')",
            "libonnxruntime_providers_x.so needs libx.so.1: cannot open",
        ),
        ('print(\'[["Other"], null, ""]\')', "the session runs on Other"),
        ("print('[[], null, \"Fail: no device\"]')", "Fail: no device"),
        ("import os; os.abort()", "ended with signal 6"),
        ("print('nonsense'); raise SystemExit(3)", "ended with code 3"),
        ("import time; time.sleep(60)", "it was not ready after 2 s"),
    ],
)
def test_why_a_provider_does_not_load_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, words: str
) -> None:
    assert sys.version_info >= (3, 11), "pointless where the safe path is not known"
    monkeypatch.setattr(provider_check, "TIMEOUT_S", 2.0)
    found = check_provider("X", ("X",), probe(tmp_path, text))
    assert not found.loaded
    assert words in found.reason
    assert not any("\x1b" in line or "2026" in line for line in found.log)
