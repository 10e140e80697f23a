"""What a look-up costs in a full store: `python -m benchmarks.store [--quick] [--json PATH]`.

A file with a million records, each under the text of a real key, is made in bulk. Then each figure
is taken through `open_store`, as a session does it: opening (a new process each time, from making
the store to its first answer), looking up records that are there, and keys that are not. Processor
time is shown beside wall-clock time: the first is what the store costs, the second is what a caller
waits, on a machine that has nothing else to do.
"""

import argparse
import hashlib
import json
import os
import platform
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

from attrs import frozen

from ortsel.environment import read_environment
from ortsel.environment.cpu_model import read_cpu_model
from ortsel.store import Store, StoreLimits, open_store, sqlite_schema
from ortsel.store.codec import encode
from ortsel.store.connection import create_file
from ortsel.store.explanation import model_digest, parse_key_text
from spec import Candidate, Policy, Problem, Record, Scope
from spec.canonical_json import Json
from spec.keys import cache_key

MANY, QUICK = 1_000_000, 50_000
LOOK_UPS, OPENINGS = 20_000, 20
LOOK_UP_LIMIT_US, OPEN_LIMIT_US = 1_000.0, 50_000.0
WORKLOADS_PER_MODEL = 250
BULK = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -1000000")
"""Nothing here survives a crash, and each page is written once."""
UNLIMITED = StoreLimits(capacity=2**31, max_bytes=2**42)


@frozen
class Times:
    """Percentiles of one kind of operation, in microseconds."""

    name: str
    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @classmethod
    def of(cls, name: str, samples: Sequence[tuple[int, int]]) -> "Times":
        walls, cpus = zip(*samples, strict=True)
        return cls(name, _percentiles(walls), _percentiles(cpus))


PERCENTILES = (50.0, 90.0, 99.0, 99.9, 100.0)


def _percentiles(samples_ns: Sequence[int]) -> tuple[float, ...]:
    ordered = sorted(samples_ns)
    last = len(ordered) - 1
    return tuple(ordered[round(last * percent / 100)] / 1000 for percent in PERCENTILES)


def _texts(count: int) -> Iterator[tuple[str, str]]:
    """Give keys and their texts, as sessions on this machine make them."""
    environment = read_environment().parts()
    candidates = [Candidate("reference")] + [Candidate(f"threads={n}") for n in range(1, 25)]
    problem = Problem(
        scope=Scope.PIPELINE,
        operation="onnx-model",
        workload={"inputs": [], "number": "#number#"},
        environment=environment,
        model="#model#",
        options={"candidates": "0" * 64, "reference": {"threads": 0}},
    )
    template = cache_key(problem, candidates, 0, Policy()).text
    head, model, tail = template.partition("#model#")
    middle, number, tail = tail.partition("#number#")
    assert model, "pointless unless both parts are found"
    assert number, "pointless unless both parts are found"
    for index in range(count):
        of_model = hashlib.sha256(str(index // WORKLOADS_PER_MODEL).encode()).hexdigest()
        text = f"{head}{of_model}{middle}{index}{tail}"
        yield hashlib.sha256(text.encode()).hexdigest(), text


def _rows(count: int, now_s: int) -> Iterator[tuple[str, str, int, str, str]]:
    digests: dict[int, str] = {}
    one = Record(
        key="#key#",
        scope=Scope.PIPELINE,
        winner="threads=2",
        reference="reference",
        created_s=now_s,
        reference_ns=3_141_592,
        winner_ns=2_718_281,
        ratio=Fraction(2_718_281, 3_141_592),
        dispersion=Fraction(1_234, 100_003),
        blocks=48,
        verified=True,
        feeds=2,
    )
    head, _, tail = encode(one).partition("#key#")
    for index, (key, text) in enumerate(_texts(count)):
        model = index // WORKLOADS_PER_MODEL
        if model not in digests:
            digests = {model: model_digest(parse_key_text(text))}
        yield key, digests[model], now_s, f"{head}{key}{tail}", text


def build(path: Path, count: int) -> float:
    """Make a store of `count` records in bulk; return the seconds it took."""
    begun_s = time.perf_counter()
    create_file(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        sqlite_schema.create(database, path)
        for pragma in BULK:
            database.execute(f"PRAGMA {pragma}").fetchall()
        database.execute("BEGIN IMMEDIATE")
        database.executemany(
            "INSERT INTO record (key, model, created_s, body, key_text) VALUES (?, ?, ?, ?, ?)",
            _rows(count, int(time.time())),
        )
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = WAL").fetchall()
    return time.perf_counter() - begun_s


def _timed(store: Store, keys: Sequence[str], *, present: bool) -> list[tuple[int, int]]:
    samples = []
    for key in keys:
        cpu_ns, wall_ns = time.thread_time_ns(), time.perf_counter_ns()
        found = store.load(key)
        wall_ns, cpu_ns = time.perf_counter_ns() - wall_ns, time.thread_time_ns() - cpu_ns
        assert (found is not None) is present, key
        samples.append((wall_ns, cpu_ns))
    return samples


OPENING = """
import sys, time
from ortsel.store import open_store
path, key = sys.argv[1:]
cpu, wall = time.thread_time_ns(), time.perf_counter_ns()
found = open_store(path).load(key)
wall, cpu = time.perf_counter_ns() - wall, time.thread_time_ns() - cpu
assert found is not None
print(wall, cpu)
"""


def _openings(path: Path, keys: Sequence[str], *, cold: bool) -> list[tuple[int, int]]:
    samples = []
    for key in keys:
        if cold:
            _forget(path)
        command = [sys.executable, "-c", OPENING, str(path), key]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        wall, cpu = done.stdout.split()
        samples.append((int(wall), int(cpu)))
    return samples


def _forget(path: Path) -> None:
    """Drop the file from the system's page cache, where the system offers that."""
    if hasattr(os, "posix_fadvise"):
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _cold_look_ups(path: Path, keys: Sequence[str]) -> list[tuple[int, int]]:
    samples = []
    for key in keys:
        _forget(path)
        with closing(open_store(path)) as store:
            store.load("no such key")  # opens the file
            samples.extend(_timed(store, [key], present=True))
    return samples


def machine() -> dict[str, Json]:
    """Return what the figures are from."""
    cpu = read_cpu_model()
    names = [line for line in cpu.identity if line.startswith("model name")] if cpu else []
    return {
        "cpu": names[0].partition(": ")[2] if names else platform.processor(),
        "cpus": os.cpu_count() or 0,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }


def run(folder: Path, count: int) -> dict[str, object]:
    """Build, measure, print; return the figures."""
    path = folder / "decisions.sqlite3"
    build_s = build(path, count)
    size = path.stat().st_size
    source = random.Random(5)
    wanted = set(source.sample(range(count), min(count, LOOK_UPS)))
    keys = [key for index, (key, _) in enumerate(_texts(count)) if index in wanted]
    source.shuffle(keys)
    absent = [key[::-1] for key in keys[: LOOK_UPS // 4]]
    with closing(open_store(path, UNLIMITED)) as store:
        _timed(store, keys[:2000], present=True)
        tables = [
            Times.of("look-up, found", _timed(store, keys, present=True)),
            Times.of("look-up, absent", _timed(store, absent, present=False)),
        ]
    tables.append(Times.of("open and first look-up", _openings(path, keys[:OPENINGS], cold=False)))
    tables.append(Times.of("same, from disk", _openings(path, keys[:OPENINGS], cold=True)))
    tables.append(Times.of("look-up, from disk", _cold_look_ups(path, keys[:OPENINGS])))
    _print(tables, count, size, build_s)
    return {
        "build_s": round(build_s, 3),
        "bytes": size,
        "machine": machine(),
        "records": count,
        "times_us": {
            one.name: {
                "cpu": {f"p{p:g}": value for p, value in zip(PERCENTILES, one.cpu, strict=True)},
                "wall": {f"p{p:g}": value for p, value in zip(PERCENTILES, one.wall, strict=True)},
            }
            for one in tables
        },
    }


def _print(tables: Sequence[Times], count: int, size: int, build_s: float) -> None:
    print(
        f"{count} records, {size / 2**20:.0f} MiB, {size / count:.0f} bytes each, {build_s:.1f} s"
    )
    print("microseconds".ljust(34) + "".join(f"p{p:g}".rjust(11) for p in PERCENTILES))
    for one in tables:
        for kind, values in (("wall", one.wall), ("processor", one.cpu)):
            print(f"{one.name}, {kind}".ljust(34) + "".join(f"{v:11.1f}" for v in values))
    print(f"want: look-up p99 under {LOOK_UP_LIMIT_US:.0f}, opening under {OPEN_LIMIT_US:.0f}")
    print("  ".join(f"{name}: {value}" for name, value in machine().items()))


def main() -> None:
    """Read the arguments and run."""
    parser = argparse.ArgumentParser(prog="benchmarks.store", description=__doc__)
    parser.add_argument("--records", type=int, default=None, help=f"default {MANY}")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} records")
    parser.add_argument("--folder", type=Path, help="where the file is made; default: temporary")
    parser.add_argument("--json", type=Path, help="write the figures there")
    arguments = parser.parse_args()
    count = arguments.records or (QUICK if arguments.quick else MANY)
    folder = Path(tempfile.mkdtemp(prefix="ortsel-store-", dir=arguments.folder))
    try:
        figures = run(folder, count)
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
