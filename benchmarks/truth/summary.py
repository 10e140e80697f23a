"""Figures over all cases: how far the choices stay behind the truth."""

import math
from typing import Any

from benchmarks.measuring.results import Row, table

TARGET_MEAN, TARGET_95TH, TARGET_WORST = 1.01, 1.03, 1.02


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return regret's geometric mean and 95th percentile, and the worst case."""
    if not rows:
        return {}
    worst = max(rows, key=lambda row: float(row["against_reference"]))
    gains = [1 / row["against_reference"] for row in rows]
    return {
        "regret_geometric_mean": geometric_mean([row["regret"] for row in rows]),
        "regret_95th_percentile": percentile([row["regret"] for row in rows], 0.95),
        "held_out_regret_geometric_mean": geometric_mean([row["regret_held_out"] for row in rows]),
        "held_out_regret_95th_percentile": percentile(
            [row["regret_held_out"] for row in rows], 0.95
        ),
        "worst_against_reference": worst["against_reference"],
        "worst_case": worst["case"],
        "speedup_geometric_mean": geometric_mean(gains),
        "targets": f"mean {TARGET_MEAN}, 95th percentile {TARGET_95TH}, worst {TARGET_WORST}",
    }


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean of at least one ratio."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios))


def percentile(values: list[float], share: float) -> float:
    """Return the least of the values that at least such a share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def print_rows(rows: list[Row]) -> None:
    """Print one line a case."""
    header = ["case", "reference ms", "chosen ms", "best ms", "regret", "held out", "vs reference"]
    header += ["plans", "rounds", "chosen", "best"]
    lines = [
        [
            row["case"],
            f"{row['reference_ms']:.3f}",
            f"{row['chosen_ms']:.3f}",
            f"{row['best_ms']:.3f}",
            f"{row['regret']:.3f}",
            f"{row['regret_held_out']:.3f}",
            f"{row['against_reference']:.3f}",
            str(row["plans"]),
            str(row["rounds"]),
            row["chosen"],
            row["best"],
        ]
        for row in rows
    ]
    table(header, lines)


def words(row: Row) -> str:
    """Return one line about a case, for whoever waits."""
    return f"{row['chosen']} (best {row['best']}), regret {row['regret']:.3f}"
