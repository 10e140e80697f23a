"""How much choosing gains over plain ONNX Runtime, over real models and shapes.

`python -m benchmarks.zoo --zoo FOLDER [--site FOLDER] [--quick] [--json PATH]`, with an interpreter
whose ONNX Runtime has OpenVINO. Every way is timed alone in a fresh process, in turns; ortsel's
choice as it serves after one search. Targets: a geometric mean of at least 1.15 over all models and
shapes, and none under 0.98.
"""

import argparse
import importlib
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnxruntime
from attrs import asdict, frozen

from benchmarks.zoo.alone import OPENVINO, WAYS

ROOT: Final = Path(__file__).resolve().parents[2]
TARGET_MEAN: Final = 1.15
TARGET_LEAST: Final = 0.98
QUICK_ENTRIES: Final = 2
LIMIT_S: Final = 600


@frozen
class Row:
    """One model and shape: times in seconds by way, and what ortsel served."""

    model: str
    shape: int
    seconds: dict[str, float]
    """Ways that could not run are missing."""
    plan: str

    def speedup(self, way: str) -> float | None:
        """Return the default's time over a way's; None where one of the two is not known."""
        if "default" not in self.seconds or way not in self.seconds:
            return None
        return self.seconds["default"] / self.seconds[way]

    @property
    def best_single(self) -> float | None:
        """Speed-up of the best of the plain ways, the default among them."""
        known = [one for way in WAYS if (one := self.speedup(way)) is not None]
        return max(known) if known else None


def geometric_mean(ratios: list[float]) -> float:
    """Return the geometric mean; 1 of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


def timed(model: str, feed: Path, way: str, seconds: float, budget_s: float) -> dict[str, Any]:
    """Return what one fresh process measured; empty where it could not."""
    command = [sys.executable, "-m", "benchmarks.zoo.alone", model, str(feed), way]
    done = subprocess.run(
        [*command, str(seconds), str(budget_s)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        print(f"  {way}: {last[:150]}", file=sys.stderr)
        return {}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measured(
    name: str, shape: int, model: str, feed: Path, *, rounds: int, seconds: float, budget_s: float
) -> Row:
    """Time every way in turns, and take each way's least: what disturbs only ever adds."""
    times: dict[str, list[float]] = {}
    plan = "reference"
    for _ in range(rounds):
        for way in (*WAYS, "ortsel"):
            found = timed(model, feed, way, seconds, budget_s)
            if found:
                times.setdefault(way, []).append(found["seconds"])
                plan = found["plan"] if way == "ortsel" else plan
    return Row(name, shape, {way: min(all_times) for way, all_times in times.items()}, plan)


def summary(rows: list[Row]) -> dict[str, Any]:
    """Return the figures that the targets are about."""
    ours = [one for row in rows if (one := row.speedup("ortsel")) is not None]
    single = [one for row in rows if (one := row.best_single) is not None]
    return {
        "onnxruntime": onnxruntime.__version__,
        "has_openvino": OPENVINO in onnxruntime.get_available_providers(),
        "cases": len(rows),
        "cases_measured": len(ours),
        "geometric_mean": geometric_mean(ours),
        "least": min(ours, default=1.0),
        "under_target": [
            f"{row.model}#{row.shape}"
            for row in rows
            if (one := row.speedup("ortsel")) is not None and one < TARGET_LEAST
        ],
        "best_single_geometric_mean": geometric_mean(single),
        "target_geometric_mean": TARGET_MEAN,
        "target_least": TARGET_LEAST,
    }


def print_table(rows: list[Row]) -> None:
    """Print one line a model and shape, then the figures."""
    ways = (*WAYS[1:], "ortsel")
    width = max((len(row.model) for row in rows), default=5)
    print(f"{'model':<{width}} shape  default ms  " + "  ".join(f"{way:>11}" for way in ways))
    for row in rows:
        cells = [row.speedup(way) for way in ways]
        text = "  ".join(f"{'-' if one is None else format(one, '.3f'):>11}" for one in cells)
        default = row.seconds.get("default")
        base = "-" if default is None else f"{default * 1e3:.3f}"
        print(f"{row.model:<{width}} {row.shape:>5}  {base:>10}  {text}  {row.plan}")
    for name, value in summary(rows).items():
        print(f"{name}: {format(value, '.3f') if isinstance(value, float) else value}")


def all_rows(zoo: Any, site: str | None, options: argparse.Namespace) -> list[Row]:
    """Measure every model that is installed, at every shape."""
    quick = bool(options.quick)
    rounds = 1 if quick else options.rounds
    seconds = 0.3 if quick else options.seconds
    budget_s = 6.0 if quick else options.budget
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="ortsel-zoo-") as folder:
        for entry in zoo.entries():
            name = Path(entry.get("relpath") or "minilm-l3-fused.onnx").name
            if options.only not in name:
                continue
            model = Path(zoo.model_path(entry, site=site))
            if not model.is_file():
                print(f"{name}: package {entry['package']} is not installed", file=sys.stderr)
                continue
            for shape, feed in enumerate(zoo.feeds(entry)):
                path = Path(folder) / "feed.npz"
                np.savez(path, **feed)
                row = measured(
                    name, shape, str(model), path, rounds=rounds, seconds=seconds, budget_s=budget_s
                )
                rows.append(row)
                print(f"{name}#{shape}: {row.plan}", file=sys.stderr, flush=True)
                if quick:
                    break
            if quick and len(rows) >= QUICK_ENTRIES:
                break
    return rows


def main() -> int:
    """Run; the exit status says nothing of the targets, since a figure is no test."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.zoo", description=__doc__)
    parser.add_argument("--zoo", type=Path, default=ROOT.parent / "shared" / "zoo")
    parser.add_argument("--site", type=Path, help="where the model packages are installed")
    parser.add_argument("--quick", action="store_true", help="a few models, one shape, under 1 min")
    parser.add_argument("--only", default="", help="models whose name contains this")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if not (options.zoo / "zoo.py").is_file():
        parser.error(f"--zoo: got {options.zoo}, need the folder of zoo.py")
    sys.path.insert(0, str(options.zoo))
    zoo = importlib.import_module("zoo")
    if OPENVINO not in onnxruntime.get_available_providers():
        print("this ONNX Runtime has no OpenVINO: its column stays empty", file=sys.stderr)
    site = None if options.site is None else os.fspath(options.site)
    rows = all_rows(zoo, site, options)
    print_table(rows)
    if options.json is not None:
        content = {"summary": summary(rows), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(content, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
