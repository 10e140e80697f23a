"""Kills children while they save, and checks after each what they had been told was saved.

Arguments: a directory and how often. A child writes a byte to a pipe after each save that returned;
the parent kills it at a random moment, counts the bytes, and looks for each of these records.
"""

import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path

from ortsel.store import SqliteStore
from tests.ortsel.store.sample_records import record


def save_until_killed(path: Path, run: int, pipe: int) -> None:
    """Save one record after another."""
    store = SqliteStore(path)
    for number in range(1_000_000):
        store.save(record(f"{run}-{number}"), "x" * (number % 7 * 1000))
        os.write(pipe, b".")


def main(folder: Path, times: int) -> None:
    """Kill, look, and print how many records survived."""
    source = random.Random(11)
    path = folder / "s"
    told: dict[int, int] = {}
    for run in range(times):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            save_until_killed(path, run, writing)
        os.close(writing)
        told[run] = 0
        if run % 5:  # the others are killed while they start
            told[run] += len(os.read(reading, 1))
        time.sleep(source.uniform(0.0, 0.04))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while data := os.read(reading, 65536):
            told[run] += len(data)
        os.close(reading)
        with closing(SqliteStore(path)) as store:
            for number in range(told[run]):
                assert store.load(f"{run}-{number}") == record(f"{run}-{number}"), (run, number)
    with closing(SqliteStore(path)) as store:
        for run, count in told.items():
            for number in range(0, count, 5):
                assert store.load(f"{run}-{number}") is not None, (run, number)
        assert not [one for one in store.examine() if isinstance(one, Exception)]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    sys.stdout.write(f"{sum(told.values())} {sum(count > 0 for count in told.values())}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
