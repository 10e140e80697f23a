"""`python -m conformance`, with real programs on the other side."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from conformance.__main__ import main

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[3]
RIGHT = ("--", sys.executable, "-m", "conformance.implementations.python")
KEYS = ("--id", "keys/canonical/*")


def wrong(name: str) -> tuple[str, ...]:
    return ("--", sys.executable, "-m", "conformance.zoo", name)


def test_a_right_implementation_is_green(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--area", "keys", *RIGHT]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith("passed. GREEN")
    assert "per second" in last


def test_a_level_is_its_area_and_styles_can_be_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    for style in ("stepping", "calling"):
        words = ["run", "--level", "cache", "--id", "cache/bans/*", "--style", style, *RIGHT]
        assert main(words) == 0
        assert "GREEN" in capsys.readouterr().out


def test_a_failure_can_be_repeated_with_the_line_that_it_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", *KEYS, *wrong("accepts-nan")]) == 1
    text = capsys.readouterr().out
    repeats = [line for line in text.splitlines() if line.startswith("  repeat:")]
    assert repeats
    words = shlex.split(repeats[0].split(":", 1)[1])
    assert words[:3] == ["python", "-m", "conformance"]
    done = subprocess.run(
        [sys.executable, *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "1 vectors" in done.stdout
    assert "1 failed" in done.stdout


@pytest.mark.parametrize(
    "words",
    [("--id", "nothing/like/this"), ("--area", "colour"), ("--id", "keys/*", "--id", "kezs/*")],
)
def test_a_wish_that_matches_nothing_is_red(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words, *RIGHT]) == 1
    assert "matches no vector" in capsys.readouterr().err


def test_a_program_that_does_not_exist_is_red_and_not_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", *KEYS, "--", "no-such-program"]) == 1
    text = capsys.readouterr().out
    assert "could not run, stage start:" in text
    assert "no-such-program" in text


@pytest.mark.parametrize("name", ["silence", "endless-line", "abort"])
def test_a_program_that_misbehaves_is_red_and_its_stage_is_told(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "--id", "keys/canonical/*", "--time-limit", "2", "--size-limit", "100000"]
    assert main([*words, *wrong(name)]) == 1
    stage = {"silence": "time limit", "endless-line": "protocol", "abort": "crash"}[name]
    assert f"could not run, stage {stage}:" in capsys.readouterr().out


def test_known_failures_make_a_run_green_and_rot_makes_it_red(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = tmp_path / "known"
    report = tmp_path / "report.json"
    assert main(["run", *KEYS, "--json", str(report), *wrong("by-code-point")]) == 1
    results = json.loads(report.read_text())["results"]
    failed = [one["id"] for one in results if one["outcome"] == "failed"]
    assert failed
    known.write_text("".join(f"{name} sorts by code point\n" for name in failed))
    words = ["run", *KEYS, "--known-failures", str(known)]
    assert main([*words, *wrong("by-code-point")]) == 0
    assert "failed as expected" in capsys.readouterr().out
    assert main([*words, *RIGHT]) == 1
    assert "unexpectedly passed" in capsys.readouterr().out
    known.write_text("keys/canonical/gone it left\n")
    assert main([*words, *RIGHT]) == 2


def test_reports_are_written(tmp_path: Path) -> None:
    junit, everything, badge = (tmp_path / name for name in ("j.xml", "a.json", "b.json"))
    words = ["--junit", str(junit), "--json", str(everything), "--badge", str(badge)]
    assert main(["run", *KEYS, *words, *RIGHT]) == 0
    assert ET.fromstring(junit.read_text()).find("testsuite[@name='keys']") is not None
    assert json.loads(everything.read_text())["green"] is True
    assert json.loads(badge.read_text())["color"] == "brightgreen"


def test_without_a_command_or_with_a_limit_of_nothing_nothing_is_run() -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", *KEYS])
    assert caught.value.code == 2
    assert main(["run", *KEYS, "--time-limit", "0", *RIGHT]) == 2
    assert main(["run", "--vectors", "/no/such/file.json", *RIGHT]) == 2


def test_searching_finds_saves_and_repeats(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["fuzz", "--seed", "1", "--examples", "200", "--save", str(tmp_path)]
    assert main([*words, *wrong("nested-explores")]) == 1
    text = capsys.readouterr().out
    assert "smallest disagreement" in text
    assert "rules:    S2" in text
    (saved,) = tmp_path.glob("*.json")
    assert main(["run", "--vectors", str(saved), *wrong("nested-explores")]) == 1
    assert main(["run", "--vectors", str(saved), *RIGHT]) == 0


def test_searching_a_right_implementation_finds_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for style in ("stepping", "calling"):
        assert main(["fuzz", "--style", style, "--examples", "10", *RIGHT]) == 0
        text = capsys.readouterr().out
        assert "10 examples" in text
        assert "no disagreement" in text


def test_the_reference_model_alone_can_be_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--spec-alone", "--examples", "50"]) == 0
    assert "selections per second" in capsys.readouterr().out
    assert main(["fuzz", "--spec-alone", *RIGHT]) == 2
    assert main(["fuzz"]) == 2


def test_searching_what_cannot_start_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--examples", "5", "--", "no-such-program"]) == 2
    assert "no-such-program" in capsys.readouterr().err
