"""The implementation in Rust: another author, another language, the same text, the same answers."""

import json
import random
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path
from statistics import median

import pytest

from conformance.__main__ import main
from spec.canonical_json import Json

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("rustc") is None, reason="needs rustc"),
]
HERE = Path(__file__).resolve().parents[3] / "conformance/implementations/rust"
LEVELS = {"keys", "records", "evidence", "regression", "selection", "cache"}
EXACT = 2**53


def built(folder: Path, target: Path) -> Path:
    done = subprocess.run(
        [str(folder / "build.sh"), str(target)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(HERE, tmp_path_factory.mktemp("rust"))


def asked(program: Path, *lines: str) -> tuple[int, list[dict[str, Json]], str]:
    """Say the lines to a new process. Returns its status, its answers and what it complains of."""
    done = subprocess.run(
        [str(program)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def call(function: str, given: Json) -> str:
    return json.dumps({"type": "call", "seq": 1, "function": function, "input": given})


def whole(number: int) -> Json:
    return number if abs(number) < EXACT else str(number)


def pair(ratio: Fraction) -> Json:
    return [whole(ratio.numerator), whole(ratio.denominator)]


def test_every_vector_of_its_levels_passes_in_both_styles(program: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    status = main(["run", "--json", str(report), "--", str(program)])
    said = json.loads(report.read_text("utf-8"))
    others = [one["id"] for one in said["results"] if one["outcome"] != "passed"]
    not_its_own = {name.split("/")[0] for name in others}
    assert not_its_own == {"capability", "ranking"}, "nothing of a declared level is left out"
    assert set(said["implementation"]["levels"]) == LEVELS
    assert {"stepping", "calling"} <= set(said["implementation"]["capabilities"])
    assert said["counts"]["passed"] > 500
    assert status == 0


@pytest.mark.parametrize("style", ["stepping", "calling"])
def test_random_scripts_find_no_disagreement_with_the_reference_model(
    style: str, program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--style", style, "--seed", "5", "--examples", "150", "--save", str(tmp_path)]
    assert main(["fuzz", *words, "--", str(program)]) == 0
    assert "no disagreement" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("file", "right", "wrong", "rule"),
    [
        ("evidence.rs", "min_speedup <= Fraction::one()", "min_speedup < Fraction::one()", "E4"),
        ("search/trial.rs", "                | Fate::OverLimit\n", "", "S6"),
    ],
)
def test_one_wrong_comparison_turns_it_red(
    file: str, right: str, wrong: str, rule: str, tmp_path: Path
) -> None:
    copy = shutil.copytree(HERE, tmp_path / "copy")
    source = copy / "src" / file
    text = source.read_text("utf-8")
    assert text.count(right) == 1
    source.write_text(text.replace(right, wrong), "utf-8")
    report = tmp_path / "report.json"
    program = built(copy, tmp_path / "target")
    words = ["--level", "evidence", "--level", "selection", "--json", str(report)]
    assert main(["run", *words, "--", str(program)]) == 1
    results = json.loads(report.read_text("utf-8"))["results"]
    failed = [one for one in results if one["outcome"] == "failed"]
    assert failed
    assert any(rule in one["rules"] for one in failed)


def test_ratios_of_hundreds_of_digits_are_exact(program: Path) -> None:
    draw = random.Random(8)
    for digits in (10, 25, 60, 200):
        for count in (1, 2, 5, 8):
            high = 10**digits
            ratios = [
                Fraction(draw.randrange(1, high), draw.randrange(1, high)) for _ in range(count)
            ]
            centre = median(ratios)
            spread = median([abs(ratio - centre) for ratio in ratios]) / centre
            _, (said,), _ = asked(
                program, call("spread", {"ratios": [pair(ratio) for ratio in ratios]})
            )
            assert said["value"] == {"median": pair(centre), "relative_mad": pair(spread)}


def test_deep_input_is_refused_and_not_crashed_on(program: Path) -> None:
    deep = "[" * 50_000 + "]" * 50_000
    status, answers, _ = asked(program, call("canonical-json", {"text": deep}))
    assert status == 0
    assert [one["type"] for one in answers] == ["refused"]


def test_a_request_with_a_lone_surrogate_is_answered(program: Path) -> None:
    problem: Json = {
        "scope": "operator",
        "operation": "softmax",
        "workload": {"rows": "\ud800"},
        "environment": {"device": "cpu"},
    }
    event: Json = {
        "type": "requested",
        "request": 1,
        "now": {"monotonic_ns": 0, "wall_s": 0},
        "problem": problem,
        "candidates": [{"name": "reference"}],
        "reference": 0,
    }
    status, answers, _ = asked(program, json.dumps({"type": "happened", "seq": 7, "event": event}))
    assert status == 0
    result: Json = {"type": "failure", "kind": "invalid", "code": "not-canonical"}
    answer: Json = {"type": "answer", "request": 1, "result": result}
    assert answers == [{"type": "effects", "seq": 7, "effects": [answer]}]


@pytest.mark.parametrize("line", ["", "hello", "[]", '{"type": "hello"}', '{"seq": 1'])
def test_what_is_no_message_ends_it_with_a_complaint(line: str, program: Path) -> None:
    status, answers, complaint = asked(program, line)
    assert status != 0
    assert answers == []
    assert complaint.strip()
