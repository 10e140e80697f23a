"""What attention written anew gains: `python -m benchmarks.attention [--quick] [--json PATH]`.

Every way to run a model is a process of its own. They are timed in turn, block by block, while the
others sleep, and a ratio is that of two neighbouring blocks: plain default session over variant, on
the same model and ONNX Runtime. Outputs are compared first; a way that differs by more than the
tolerance has no ratio. `tuned` is what `ortsel` chooses by itself, so that the two can be compared.
"""

import argparse
import json
import platform
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from attrs import define

from benchmarks.attention.models import CACHE, CHAIN, FLAT_KEYS, KEYS_WITH_HEADS, write_model
from benchmarks.attention.reading import reading_us
from benchmarks.attention.side import IN_PLACE, PLAIN, TUNED
from benchmarks.measuring.side_process import SideProcess
from ortsel.graph_variants import VariantRefusedError, build_variant

TARGETS = {
    (FLAT_KEYS, 1024): 3.0,
    (FLAT_KEYS, 4096): 3.0,
    (FLAT_KEYS, 8192): 1.9,
    (KEYS_WITH_HEADS, 1024): 1.6,
    (KEYS_WITH_HEADS, 4096): 2.0,
    (KEYS_WITH_HEADS, 8192): 2.4,
    (CHAIN, 1024): 1.7,
    (CHAIN, 4096): 1.7,
    (CHAIN, 8192): 1.7,
    (CACHE, 1024): 2.0,
    (CACHE, 4096): 2.0,
    (CACHE, 8192): 2.0,
}
"""Least speed-up of the best way for one token over so many keys."""
VARIANTS = ("onnx-attention", "prescaled-query", "math", "flash-decode", "memory-efficient")
PREFILL_VARIANTS = ("multi-head-attention", "memory-efficient")
RELATIVE, ABSOLUTE = 1e-4, 1e-5
BLOCK_NS, BLOCKS, QUICK_BLOCKS = 100_000_000, 15, 3
PREFILL, QUICK_PREFILL = 4096, 1024
BYTES_OF_SCORE = 4
HEADS = 8


@define
class Side:
    """A process, and what of it the table has."""

    process: SideProcess
    chosen: str
    outputs: Path
    peak_bytes: int = 0

    @classmethod
    def open(cls, name: str, way: str, kind: str, model: Path, tokens: int, keys: int) -> "Side":
        """Start it and wait for its first outputs."""
        arguments = [way, kind, str(model), str(tokens), str(keys)]
        process = SideProcess.open(name, "benchmarks.attention.side", arguments)
        return cls(process, str(process.said.get("chosen", "")), Path(f"{model}.{way}.npy"))

    def median_ns(self) -> float:
        """Time a block of calls."""
        median_ns = self.process.median_ns()
        self.peak_bytes = self.process.said["peak_bytes"]
        return median_ns


def compared(
    kind: str, ways: dict[str, tuple[str, Path]], tokens: int, keys: int, blocks: int
) -> dict[str, dict[str, Any]]:
    """Return by name what each way takes, and its ratio to `plain`."""
    sides: dict[str, Side] = {}
    found: dict[str, dict[str, Any]] = {}
    try:
        for name, (way, model) in ways.items():
            sides[name] = Side.open(name, way, kind, model, tokens, keys)
        expected = np.load(sides[PLAIN].outputs)
        for name, side in list(sides.items()):
            got = np.load(side.outputs)
            if not np.allclose(got, expected, RELATIVE, ABSOLUTE):
                found[name] = {"differs_by": float(np.abs(got - expected).max())}
                sides.pop(name).process.close()
        for side in sides.values():
            side.process.calls = max(1, min(200, round(BLOCK_NS / side.median_ns())))
        times: dict[str, list[float]] = {name: [] for name in sides}
        for block in range(blocks):
            order = list(sides.values())
            for side in order if block % 2 else reversed(order):
                times[side.process.name].append(side.median_ns())
        for name, side in sides.items():
            ratios = [a / b for a, b in zip(times[PLAIN], times[name], strict=True)]
            found[name] = {
                "median_us": statistics.median(times[name]) / 1000,
                "speedup": statistics.median(ratios),
                "peak_bytes": side.peak_bytes,
                "chosen": side.chosen,
            }
    finally:
        for side in sides.values():
            side.process.close()
    return found


def ways_of(
    kind: str, folder: Path, variants: tuple[str, ...], *, tune: bool
) -> dict[str, tuple[str, Path]]:
    """Write a model and its variants, and return the ways to run them."""
    model = folder / f"{kind}.onnx"
    write_model(kind, model)
    ways = {PLAIN: (PLAIN, model)}
    if kind == CACHE:
        ways["in-place cache"] = (IN_PLACE, model)
        return ways
    for variant in variants:
        target = folder / f"{kind}.{variant}.onnx"
        try:
            build_variant(variant, model, target)
        except VariantRefusedError:
            continue
        ways[variant] = (PLAIN, target)
    if tune:
        ways[TUNED] = (TUNED, model)
    return ways


def decode(folder: Path, *, quick: bool) -> list[dict[str, Any]]:
    """One token over 1024 to 8192 keys."""
    rows = []
    for (kind, keys), target in TARGETS.items():
        if quick and keys > min(length for _, length in TARGETS):
            continue
        ways = ways_of(kind, folder, VARIANTS, tune=not quick)
        found = compared(kind, ways, 1, keys, QUICK_BLOCKS if quick else BLOCKS)
        best = max(
            (one.get("speedup", 0.0) for name, one in found.items() if name not in {PLAIN, TUNED}),
            default=0.0,
        )
        row = {"model": kind, "keys": keys, "target": target, "best": best, "ways": found}
        row["reading_us"] = reading_us(keys)
        rows.append(row | {"reached": best >= target})
        _show(row)
    return rows


def prefill(folder: Path, *, quick: bool) -> dict[str, Any]:
    """As many query tokens as keys: time and memory beyond the loaded session."""
    length = QUICK_PREFILL if quick else PREFILL
    rows: dict[str, dict[str, Any]] = {}
    for kind in (FLAT_KEYS, KEYS_WITH_HEADS, CHAIN):
        ways = ways_of(kind, folder, PREFILL_VARIANTS, tune=False)
        rows[kind] = compared(kind, ways, length, length, QUICK_BLOCKS)
        _show({"model": kind, "keys": length, "target": 1.0, "ways": rows[kind]})
    own = min(
        one["median_us"]
        for row in rows.values()
        for name, one in row.items()
        if name != "memory-efficient"
    )
    ours = [row["memory-efficient"] for row in rows.values()]
    scores = HEADS * length * length * BYTES_OF_SCORE
    result = {
        "length": length,
        "fastest_own_us": own,
        "memory_efficient_us": min(one["median_us"] for one in ours),
        "peak_of_scores": max(one["peak_bytes"] for one in ours) / scores,
        "rows": rows,
    }
    sys.stdout.write(
        f"prefill {length}: ONNX Runtime's fastest {own / 1000:.0f} ms, memory-efficient "
        f"{result['memory_efficient_us'] / 1000:.0f} ms (target: no slower), most memory "
        f"{result['peak_of_scores']:.3f} of the score matrix (target: 0.25)\n"
    )
    return result


def _show(row: dict[str, Any]) -> None:
    sys.stdout.write(f"{row['model']}, {row['keys']} keys, target {row['target']}x\n")
    if "reading_us" in row:
        sys.stdout.write(f"  {'keys and values, read once':26} {row['reading_us']:10.0f} us\n")
    for name, one in row["ways"].items():
        if "differs_by" in one:
            sys.stdout.write(f"  {name:26} differs by {one['differs_by']:.2g}\n")
            continue
        sys.stdout.write(
            f"  {name:26} {one['median_us']:10.0f} us  {one['speedup']:5.2f}x  "
            f"{one['peak_bytes'] / 2**20:6.0f} MiB  {one['chosen'][:60]}\n"
        )
    sys.stdout.flush()


def main() -> None:
    """Run, and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.attention", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="shortest lengths, few blocks")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = {
            "onnxruntime": onnxruntime.__version__,
            "machine": platform.processor() or platform.machine(),
            "decode": decode(Path(folder), quick=options.quick),
            "prefill": prefill(Path(folder), quick=options.quick),
        }
    if options.json:
        options.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
