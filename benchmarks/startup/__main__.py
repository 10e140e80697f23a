"""What ortsel adds to a start: `python -m benchmarks.startup [--quick] [--json PATH]`.

Every figure is from processes of their own, plain and ortsel in turn. *Import* is `import ortsel`
after `import onnxruntime`. *Start* is the constructor and the first run, with a store that holds
the decision for a plan. *Peak* is the most memory that was resident until the plan served (or,
plain, over as many calls), *steady* what is resident then; with *tuning*, the store is empty, so a
search runs in child processes, whose memory is theirs. Weights are what decides: a plan holds them
once more. The exit code is 1 when a target is missed.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from benchmarks.measuring.machine import load_average, machine
from benchmarks.measuring.results import table
from benchmarks.measuring.sample_models import layers

IMPORT_MS: Final = 50.0
TIMES: Final = 1.3

_IMPORT: Final = """
import time, json
before = time.perf_counter()
import onnxruntime
middle = time.perf_counter()
import ortsel
after = time.perf_counter()
print(json.dumps({"onnxruntime": middle - before, "ortsel": after - middle}))
"""

_START: Final = """
import json, sys, time
import numpy as np
import onnxruntime
path, store, side, wait_s = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
feed = {"i0": np.ones((4, 1024), np.float32)}
if side == "plain":
    onnxruntime.InferenceSession  # what is imported lazily is there before the clock starts
else:  # a plain process holds nothing of ortsel
    import ortsel
    from benchmarks.measuring.folded import folding, unoptimized
    ortsel.InferenceSession, ortsel.SelectionConfig

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024

def make():
    if side == "plain":
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        return onnxruntime.InferenceSession(path, options)
    mode = "blocking" if side == "warm-up" else "background"
    config = ortsel.SelectionConfig(
        mode=mode, store=store, candidates=folding, idle_s=0.1, budget_s=60
    )
    return ortsel.InferenceSession(path, unoptimized(), selection=config)

began = time.perf_counter()
session = make()
session.run(None, feed)
start_s = time.perf_counter() - began
until, served = time.monotonic() + wait_s, ""
while time.monotonic() < until and served != "folding":
    session.run(None, feed)
    time.sleep(0.3)
    if side != "plain" and session.explain().workloads:
        served = session.explain().workloads[0].plan
for _ in range(3):
    session.run(None, feed)
print(json.dumps({
    "start_s": start_s, "peak_mib": status("VmHWM:"), "steady_mib": status("VmRSS:"),
    "served": served,
}))
"""


def _run(program: str, *arguments: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _median(rows: list[dict[str, Any]], name: str) -> float:
    return statistics.median(float(row[name]) for row in rows)


def _imports(repeats: int) -> tuple[list[str], bool, dict[str, Any]]:
    found = [_run(_IMPORT) for _ in range(repeats)]
    plain, ours = _median(found, "onnxruntime") * 1000, _median(found, "ortsel") * 1000
    row = ["import, ms", f"{plain:.0f}", f"+{ours:.1f}", f"+{IMPORT_MS:.0f}"]
    return row, ours <= IMPORT_MS, {"name": "import", "plain_ms": plain, "ortsel_ms": ours}


def _starts(folder: Path, count: int, repeats: int) -> list[tuple[list[str], bool, dict[str, Any]]]:
    mib = count * 4
    path = folder / f"{count}.onnx"
    path.write_bytes(layers(count, wasteful=True))
    warm, cold = folder / f"{count}.sqlite", folder / f"{count}-cold.sqlite"
    first = _run(_START, str(path), str(warm), "warm-up", "1")
    plain, ours, tuning = [], [], []
    for place in range(repeats):
        plain.append(_run(_START, str(path), str(warm), "plain", "2"))
        ours.append(_run(_START, str(path), str(warm), "ortsel", "20"))
        if place == 0:
            tuning.append(_run(_START, str(path), str(cold), "ortsel", "60"))
    rows = []
    for what, name, found in (
        ("constructor and first run, s", "start_s", ours),
        ("peak, MiB", "peak_mib", ours),
        ("steady, MiB", "steady_mib", ours),
        ("peak with tuning, MiB", "peak_mib", tuning),
    ):
        before, after = _median(plain, name), _median(found, name)
        served = sorted({str(row["served"]) for row in found})
        figure = {
            "name": f"{mib} MiB of weights, {what}",
            "plain": before,
            "ortsel": after,
            "ratio": after / before,
            "served": served,
            "warm_store_holds": first["served"],
        }
        is_met = after / before <= TIMES
        limit = f"{TIMES:.1f}" + ("" if is_met else "  missed")
        label = f"{figure['name']} ({', '.join(served)} serves)"
        rows.append(([label, f"{before:.2f}", f"{after / before:.2f}", limit], is_met, figure))
    return rows


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, about a minute")
    parser.add_argument("--json", type=Path, metavar="PATH")
    options = parser.parse_args()
    repeats = 3 if options.quick else 9
    with tempfile.TemporaryDirectory() as folder:
        found = [_imports(repeats)]
        for count in (1, 24) if options.quick else (1, 6, 24):
            found += _starts(Path(folder), count, repeats)
    table(["", "plain", "ortsel", "target"], [row for row, _, _ in found])
    document = {
        "machine": machine(),
        "load_average": load_average(),
        "repeats": repeats,
        "figures": [figure for _, _, figure in found],
    }
    print(json.dumps(document["machine"]))
    if options.json:
        options.json.write_text(json.dumps(document, indent=1))
    return 0 if all(is_met for _, is_met, _ in found) else 1


if __name__ == "__main__":
    sys.exit(main())
