"""What holds for every command: help with examples, one line for a user's error, completion."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ortsel.bundle import generate_key
from ortsel.cli.app import app
from tests.ortsel.cli.conftest import Invoke, hold_something


def commands(group: click.Group = app, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


ALL = list(commands())
GROUPS = [("cache",)]


def command_at(path: tuple[str, ...]) -> click.Command:
    found: click.Command = app
    for name in path:
        assert isinstance(found, click.Group)
        named = found.get_command(click.Context(found), name)
        assert named is not None
        found = named
    return found


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_shows_an_example_of_the_command_itself(invoke: Invoke, path: tuple[str, ...]) -> None:
    result = invoke(*path, "--help")
    assert result.exit_code == 0
    assert re.search(rf"^ +(eval .*)?\"?\$?\(?ortsel {' '.join(path)}", result.stdout, re.MULTILINE)
    lines = [line for line in result.stdout.splitlines() if "|" not in line]
    assert max(map(len, lines)) <= 80, "except for choices, which click keeps on one line"


@pytest.mark.parametrize("path", [one for one in ALL if one not in GROUPS], ids=" ".join)
def test_every_command_but_exec_prints_json(path: tuple[str, ...]) -> None:
    options = {option for one in command_at(path).params for option in one.opts}
    assert ("--json" in options) == (path != ("exec",))


def unusable(path: Path) -> Path:
    (path / "text").write_text("no bundle, no model, no key")
    return path / "text"


def signing_key(path: Path) -> Path:
    (path / "key.pem").write_bytes(generate_key().pem())
    return path / "key.pem"


def store(path: Path) -> Path:
    hold_something(path / "s.sqlite3")
    return path / "s.sqlite3"


CASES: dict[str, tuple[Callable[[Path, Path], list[object]], str]] = {
    "cache alone": (lambda _, __: ["cache", "lst"], "No such command 'lst'"),
    "list limit": (lambda _, __: ["cache", "list", "--limit", "0"], "0 is not in the range"),
    "list model": (lambda _, __: ["cache", "list", "--model", "no.onnx"], "need a model file"),
    "list store": (lambda path, __: ["cache", "list", "--store", unusable(path)], "text: "),
    "show nothing": (lambda _, __: ["cache", "show"], "Missing argument 'KEY'"),
    "show short": (lambda _, __: ["cache", "show", "abc"], "at least 4 hexadecimal digits"),
    "show unknown": (
        lambda path, __: ["cache", "show", "abcd", "--store", store(path)],
        "need the key of a decision in",
    ),
    "export nothing": (
        lambda path, __: ["cache", "export", path / "b", "--store", path / "none"],
        "got no decision in",
    ),
    "export no parts": (
        lambda path, __: ["cache", "export", path / "b", "--store", store(path)],
        "got no decision in",
    ),
    "export nowhere": (
        lambda path, __: ["cache", "export", path / "no" / "b"],
        "its directory does not exist",
    ),
    "export over": (lambda path, __: ["cache", "export", unusable(path)], "it exists already"),
    "export folder": (lambda path, __: ["cache", "export", path, "--force"], "it is a directory"),
    "export key": (
        lambda path, __: ["cache", "export", path / "b", "--sign", unusable(path)],
        "need a PEM file with an Ed25519 private key",
    ),
    "export no key": (
        lambda path, __: ["cache", "export", path / "b", "--sign", path / "none"],
        "--sign",
    ),
    "import nothing": (lambda path, __: ["cache", "import", path / "none"], "No such file"),
    "import folder": (lambda path, __: ["cache", "import", path], "Is a directory"),
    "import text": (lambda path, __: ["cache", "import", unusable(path)], "two lines of a bundle"),
    "import trust": (
        lambda path, __: ["cache", "import", unusable(path), "--trust", "me"],
        "need 64 hexadecimal digits",
    ),
    "import private": (
        lambda path, __: ["cache", "import", unusable(path), "--trust", signing_key(path)],
        "Ed25519 public key",
    ),
    "keygen over": (lambda path, __: ["cache", "keygen", unusable(path)], "it exists"),
    "keygen nowhere": (lambda path, __: ["cache", "keygen", path / "no" / "k"], "does not exist"),
    "prune nothing": (lambda _, __: ["cache", "prune"], "got no condition"),
    "prune both": (
        lambda _, __: ["cache", "prune", "--all", "--keep", "1"],
        "conditions and --all",
    ),
    "prune age": (lambda _, __: ["cache", "prune", "--older-than", "old"], "is not an age such as"),
    "prune store": (
        lambda path, __: ["cache", "prune", "--all", "--store", unusable(path)],
        "text: ",
    ),
    "verify argument": (lambda _, __: ["cache", "verify", "x"], "unexpected extra argument"),
    "explain nothing": (lambda _, __: ["explain"], "Missing argument 'MODEL'"),
    "explain no file": (lambda _, __: ["explain", "no.onnx"], "there is no such file"),
    "explain text": (lambda path, __: ["explain", unusable(path)], "ONNX Runtime rejects"),
    "explain attention": (
        lambda path, __: ["explain", unusable(path), "--attention"],
        "text",
    ),
    "explain provider": (lambda _, model: ["explain", model, "--provider", "X"], "need one of"),
    "explain both": (
        lambda _, model: ["explain", model, "--shape", "x=1", "--input", "f.npz"],
        "one or the other",
    ),
    "doctor argument": (lambda _, __: ["doctor", "x"], "unexpected extra argument"),
    "doctor store": (lambda path, __: ["doctor", "--store", path], "is a directory"),
    "completion": (lambda _, __: ["completion", "tcsh"], "'tcsh' is not one of"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_a_users_error_is_one_line_and_exit_code_2(
    invoke: Invoke, dense: Path, tmp_path: Path, name: str, as_json: bool
) -> None:
    arguments, words = CASES[name]
    extra = ["--json"] if as_json else []
    result = invoke(*arguments(tmp_path, dense), *extra)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("ortsel: ")
    if name != "cache alone" or not as_json:
        assert words in result.stderr


ARGUMENTS = st.text(
    st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8
).filter(lambda text: text not in {"--help", "-h"})
"""What a shell may hand over."""


@pytest.mark.parametrize("path", [one for one in ALL if one != ("exec",)], ids=" ".join)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(extra=st.lists(ARGUMENTS, min_size=3, max_size=5))
def test_arguments_that_nothing_asks_for_are_refused_in_one_line(
    invoke: Invoke, path: tuple[str, ...], extra: list[str]
) -> None:
    result = invoke(*path, *extra)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    if path not in GROUPS:
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_ask_for_the_command_under_its_variable(
    invoke: Invoke, shell: str
) -> None:
    result = invoke("completion", shell)
    assert result.exit_code == 0
    assert f"_ORTSEL_COMPLETE={shell}_complete" in result.stdout
    found = json.loads(invoke("completion", shell, "--json").stdout)
    assert found["script"].strip() == result.stdout.strip()


@pytest.mark.slow
def test_bash_completes_commands_options_and_choices(
    start: Callable[..., "subprocess.Popen[str]"],
) -> None:
    process = start(
        _ORTSEL_COMPLETE="bash_complete", COMP_WORDS="ortsel explain --att", COMP_CWORD="2"
    )
    output, errors = process.communicate(timeout=60)
    assert (output.split(), errors) == (["plain,--attention"], "")


@pytest.mark.parametrize("name", app.places)
def test_the_line_in_the_help_is_the_first_of_the_command_itself(name: str) -> None:
    assert app.places[name].summary == command_at((name,)).get_short_help_str(200)


@pytest.mark.parametrize("arguments", [["--help"], ["tuen"], ["--no-such-option"]], ids=" ".join)
def test_nothing_heavy_is_imported_where_no_command_is_asked_for(arguments: list[str]) -> None:
    program = (
        "import sys\nfrom ortsel.cli.app import run\n"
        f"try:\n    run({arguments!r})\nexcept SystemExit:\n    pass\n"
        "heavy = {'onnxruntime', 'numpy', 'onnx', 'yaml', 'matplotlib'} & set(sys.modules)\n"
        "print('heavy:', sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "heavy: []"
