"""Saves records under its own keys and under one that all writers share. Arguments: file, name,
count. Waits for a line on its standard input, so that all writers begin together."""

import sys
from contextlib import closing
from pathlib import Path

from ortsel.store import SqliteStore
from tests.ortsel.store.sample_records import record


def main(path: Path, name: str, count: int) -> None:
    """Save."""
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    with closing(SqliteStore(path, busy_timeout_ms=60_000)) as store:
        for number in range(count):
            store.save(record(f"{name}-{number}"), f'{{"model":"{name}"}}')
            store.save(record("shared", blocks=number * 8 + int(name), winner=name), "{}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
