"""Simulate the evidence rules and print two tables; write the same figures as JSON if asked.

    python -m benchmarks.evidence [--experiments 800] [--json PATH]

Timings are simulated, each experiment from its own seed, so the tables are the same on every
machine. Only the cost of an answer, printed last, is this machine's.
"""

import argparse
import json
import platform
from collections.abc import Iterable
from pathlib import Path

import attrs

from benchmarks.evidence.experiments import NullRow, PowerRow, cost_rows, null_rows, power_rows


def main() -> None:
    """Run both experiments."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    parser.add_argument("--experiments", type=int, default=800, help="per row (default 800)")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    arguments = parser.parse_args()
    nulls = null_rows(arguments.experiments)
    powers = power_rows(max(1, arguments.experiments // 5))
    costs = cost_rows(repeats=200)
    print(null_table(nulls))
    print()
    print(power_table(powers))
    print()
    for cost in costs:
        print(f"{cost.rule}, {cost.blocks} blocks: {cost.median_us:.0f} us an answer")
    if arguments.json:
        figures = {
            "python": platform.python_version(),
            "machine": platform.machine(),
            "null": [attrs.asdict(row) for row in nulls],
            "power": [attrs.asdict(row) for row in powers],
            "cost": [attrs.asdict(row) for row in costs],
        }
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n")


def null_table(rows: Iterable[NullRow]) -> str:
    """Return the promotion rates of identical plans as a Markdown table."""
    return _table(
        (
            "noise",
            "premise",
            "order of runs",
            "anytime-valid, no minimum",
            "anytime-valid, default",
            "median-MAD, default",
            "median-MAD, peeking",
            "sign test, peeking",
        ),
        [
            (
                row.noise,
                "holds" if row.premise_holds else "broken",
                row.order,
                f"{row.anytime_valid:.2%}",
                f"{row.anytime_valid_as_shipped:.2%}",
                f"{row.median_mad:.2%}",
                f"{row.peeking_median_mad:.2%}",
                f"{row.peeking_sign_test:.2%}",
            )
            for row in rows
        ],
    )


def power_table(rows: Iterable[PowerRow]) -> str:
    """Return what becomes of faster plans as a Markdown table."""
    return _table(
        (
            "noise",
            "true speed-up",
            "minimum",
            "anytime-valid: promoted",
            "rejected",
            "mean blocks",
            "median-MAD: promoted",
            "blocks",
            "clipped bet: promoted",
            "mean blocks",
        ),
        [
            (
                row.noise,
                f"{row.speedup - 1:.0%}",
                row.min_speedup,
                f"{row.anytime_valid_promoted:.1%}",
                f"{row.anytime_valid_rejected:.1%}",
                f"{row.anytime_valid_blocks:.1f}",
                f"{row.median_mad_promoted:.1%}",
                f"{row.median_mad_blocks:.0f}",
                f"{row.clipped_bet_promoted:.1%}",
                f"{row.clipped_bet_blocks:.1f}",
            )
            for row in rows
        ],
    )


def _table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [heads, tuple("---" for _ in heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main()
