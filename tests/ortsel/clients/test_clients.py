"""Packages that know nothing of ortsel give the same answers with it and without it."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.zoo, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[3]
PROGRAM = Path(__file__).with_name("client_programs.py")
LIGHT = ("magika", "pyfrspell", "text2tashkeel", "akiki", "silero_vad")
OURS = ["ortsel.session"]
INSTALL = f"""
import runpy, sys
import ortsel
ortsel.install(ortsel.SelectionConfig(store=sys.argv.pop(1)))
sys.argv[0] = {str(PROGRAM)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""
WITH_ONE_PLAN = f"""
import runpy, sys
from fractions import Fraction
from attrs import evolve
import ortsel
from spec.evidence.median_mad import MedianMad
from spec.policy import Policy


def set_well(facts):
    settings = facts.reference.settings.with_attribute("graph_optimization_level", 99)
    return [evolve(facts.reference, name="set-well", settings=evolve(settings, config=()))]


mode, store = sys.argv.pop(1), sys.argv.pop(1)
# What is looked at is whether answers stay the same; a busy machine must not change the winner.
lenient = Policy(min_speedup=Fraction(1), evidence=MedianMad(5, Fraction(99, 100)))
ortsel.install(ortsel.SelectionConfig(mode, store, 30.0, lenient, candidates=set_well))
sys.argv[0] = {str(PROGRAM)!r}
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def told(*command: str) -> Any:
    environment = {name: text for name, text in os.environ.items() if "ORTSEL" not in name}
    path = [str(ROOT), *filter(None, [environment.get("PYTHONPATH")])]
    result = subprocess.run(
        [sys.executable, *command],
        env=environment | {"PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert "ortsel" not in result.stderr
    return json.loads(result.stdout)


def ortsel_exec(names: Sequence[str], *options: str) -> Any:
    command = [sys.executable, str(PROGRAM), *names]
    return told("-m", "ortsel.cli", "exec", *options, "--", *command)


def skip_unless_installed(names: Sequence[str]) -> None:
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; see tests/models.txt")


def test_clients_give_the_same_answers_with_the_command_and_with_install(tmp_path: Path) -> None:
    skip_unless_installed(LIGHT)
    plain = told(str(PROGRAM), *LIGHT)
    assert plain["sessions"] == ["onnxruntime.capi.onnxruntime_inference_collection"]
    assert all(len(answer) > 1 for answer in plain["answers"].values())
    by_command = ortsel_exec(LIGHT, "--store", str(tmp_path / "one.sqlite"))
    by_call = told("-c", INSTALL, str(tmp_path / "two.sqlite"), *LIGHT)
    for found in (by_command, by_call):
        assert (found["answers"], found["sessions"]) == (plain["answers"], OURS)


def test_a_pipeline_of_three_models_reads_the_same(tmp_path: Path) -> None:
    names = ("rapidocr",)
    skip_unless_installed(("cv2", "rapidocr_onnxruntime", "shapely", "pyclipper"))
    plain = told(str(PROGRAM), *names)
    assert plain["answers"]["rapidocr"], "pointless unless something is read"
    found = ortsel_exec(names, "--store", str(tmp_path / "store.sqlite"))
    assert (found["answers"], found["sessions"]) == (plain["answers"], OURS)


@pytest.mark.parametrize(
    "name", ["akiki", "text2tashkeel", pytest.param("pyfrspell", marks=pytest.mark.deep)]
)
def test_a_client_gives_the_same_answers_where_another_plan_was_found_and_serves(
    name: str, tmp_path: Path
) -> None:
    skip_unless_installed((name,))
    program = ("--badly-set", "--repeated", name)
    plain = told(str(PROGRAM), *program)
    assert plain["calls_by_plans"] == 0
    store = str(tmp_path / "store.sqlite")
    searched = told("-c", WITH_ONE_PLAN, "blocking", store, *program)
    served = told("-c", WITH_ONE_PLAN, "cache-only", store, *program)
    for source, found in (("tuned", searched), ("stored", served)):
        assert rounded(found["answers"]) == rounded(plain["answers"])
        assert found["decisions"], "pointless unless something was decided"
        assert all(one == ["set-well", source, True] for one in found["decisions"])
        shapes = len(found["decisions"])
        assert found["calls_by_plans"] >= 2 * shapes, "every call but the first of each shape"


@pytest.mark.deep
@pytest.mark.parametrize("name", LIGHT)
def test_a_client_gives_the_same_answers_where_plans_were_searched(
    name: str, tmp_path: Path
) -> None:
    skip_unless_installed((name,))
    plain = told(str(PROGRAM), name)["answers"]
    store = ("--store", str(tmp_path / "store.sqlite"))
    searched = ortsel_exec((name,), *store, "--mode", "blocking", "--budget", "5s")
    served = ortsel_exec((name,), *store, "--mode", "cache-only")
    for found in (searched, served):
        assert "ortsel.session" in found["sessions"]
        assert rounded(found["answers"]) == rounded(plain)
    if not (tmp_path / "store.sqlite").exists():
        pytest.skip("the machine was too busy to decide anything within the budget")


@pytest.mark.deep
def test_a_search_among_all_candidates_finds_what_a_program_set_badly(tmp_path: Path) -> None:
    name, store = "akiki", ("--store", str(tmp_path / "store.sqlite"))
    skip_unless_installed((name,))
    plain = told(str(PROGRAM), "--badly-set", name)
    badly = (name, "--badly-set")
    searched = ortsel_exec(badly, *store, "--mode", "blocking", "--budget", "60s")
    served = ortsel_exec(badly, *store, "--mode", "cache-only")
    for source, found in (("tuned", searched), ("stored", served)):
        assert rounded(found["answers"]) == rounded(plain["answers"])
        [[plan, from_where, verified]] = found["decisions"]
        assert (from_where, verified) == (source, True)
        assert plan.startswith(("cpu:", "openvino:"))
        assert found["calls_by_plans"] > 100


def rounded(value: Any) -> Any:
    """Return a value with its floats as two digits: so much a plan may differ."""
    if isinstance(value, float):
        return round(value, 2)
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value
