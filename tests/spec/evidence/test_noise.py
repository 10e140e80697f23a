"""The simulated machines are seeded, disturb something, and leave a true speed-up in the ratios."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from benchmarks.evidence.noise import EXCHANGEABLE, PREMISE_BROKEN, block_ratios
from spec.evidence.order_statistics import median

ALL = {**EXCHANGEABLE, **PREMISE_BROKEN}
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ALL)
def test_a_machine_is_a_function_of_its_seed(name: str) -> None:
    ratios = block_ratios(ALL[name], 1, 1.0, 16)
    assert block_ratios(ALL[name], 1, 1.0, 16) == ratios
    assert block_ratios(ALL[name], 2, 1.0, 16) != ratios
    assert len(set(ratios)) > 1, "a machine that disturbs nothing shows nothing"


@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_identical_plans_win_about_every_other_block(name: str) -> None:
    ratios = [
        ratio for seed in range(40) for ratio in block_ratios(EXCHANGEABLE[name], seed, 1, 16)
    ]
    assert len(ratios) == 640
    wins = sum(ratio < 1 for ratio in ratios)
    assert abs(wins - 320) < 80, "over 6 standard deviations of independent blocks"


@pytest.mark.parametrize("name", EXCHANGEABLE)
def test_a_true_speed_up_is_in_the_ratios(name: str) -> None:
    slow = block_ratios(EXCHANGEABLE[name], 3, 1.0, 64)
    fast = block_ratios(EXCHANGEABLE[name], 3, 2.0, 64)
    for one, other in zip(slow, fast, strict=True):
        assert abs(other / one - Fraction(1, 2)) < Fraction(1, 10**5)
    assert median(fast) < 1


@pytest.mark.slow
def test_the_benchmark_prints_its_tables_and_writes_the_same_figures(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    command = [sys.executable, "-m", "benchmarks.evidence", "--experiments", "5"]
    finished = subprocess.run(
        [*command, "--json", str(figures)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    written = json.loads(figures.read_text())
    assert {row["noise"] for row in written["null"]} == set(ALL)
    assert {row["speedup"] for row in written["power"]} == {1.02, 1.03, 1.10, 1.50}
    for row in written["null"]:
        assert f"| {row['noise']} | " in finished.stdout
