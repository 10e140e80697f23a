"""Hostile files, as many as time allows: `python -m tests.ortsel.store.fuzz [--seconds N]`.

Each input is a store's file in which bytes, rows or tables were changed at random. It is used as a
session uses a store. Whatever is in it, nothing may be raised, hang or run; a record that is given
is whole and belongs to its key; what is saved afterwards is found. The count of inputs is printed.
"""

import argparse
import json
import logging
import os
import random
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from ortsel.store import FallbackStore, SqliteStore, open_store
from ortsel.store.codec import decode, encode
from ortsel.store.errors import CorruptRecordError, NewerRecordError
from spec.record import Record
from tests.ortsel.store.sample_records import record

KEYS: Final = tuple(f"k{number}" for number in range(16))
LONGEST_S: Final = 20.0
COLUMNS: Final = ("key", "model", "created_s", "body", "body", "key_text", "sequence")
SQL: Final = ("'; DROP TABLE record; --", '"', "x'00'", "%s", "?1", "\0", "../../etc/passwd")


def make_sound(folder: Path) -> Path:
    """Make a store whose last records are still in its log, as after a kill."""
    path = folder / "sound"
    with closing(SqliteStore(path)) as store:
        for key in KEYS[:10]:
            store.save(record(key), json.dumps({"model": "m", "workload": "w" * 300}))
    with closing(SqliteStore(path)) as store:
        for key in KEYS[10:]:
            store.save(record(key), '{"model":"n"}')
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", folder / f"open{suffix}")
    return folder / "open"


def changed_bytes(source: random.Random, data: bytes) -> bytes:
    """Overwrite, cut, insert, repeat or exchange parts."""
    made = bytearray(data)
    for _ in range(source.choice((1, 1, 2, 8, 64))):
        place = source.randrange(len(made) + 1) if source.random() < 0.6 else source.randrange(120)
        length = source.choice((1, 1, 2, 4, 16, 512, 4096))
        match source.randrange(6):
            case 0:
                made[place : place + length] = source.randbytes(length)
            case 1:
                made[place : place + length] = (
                    bytes([source.choice((0, 1, 127, 128, 255))]) * length
                )
            case 2:
                del made[place : place + length]
            case 3:
                made[place:place] = source.randbytes(length)
            case 4:
                other = source.randrange(len(made) + 1)
                made[place : place + length] = made[other : other + length]
            case _:
                if place < len(made):
                    made[place] ^= 1 << source.randrange(8)
    return bytes(made)


def damage_file(source: random.Random, path: Path) -> None:
    """Change the file, or its log, or cut it."""
    suffix = source.choice(("", "", "-wal"))
    place = Path(f"{path}{suffix}")
    data = place.read_bytes()
    if source.random() < 0.1:
        place.write_bytes(data[: source.randrange(len(data))])
    else:
        place.write_bytes(changed_bytes(source, data))


def hostile_value(source: random.Random) -> object:
    """Return something that is no integer, or a strange one."""
    return source.choice(
        (
            None, True, -1, 0, 2**63, 2**64, 10**400, 1.5, float("nan"), float("inf"), "", "1",
            "NaN", [], {}, [1], [1, 0], [0, 1], [2, 4], [-1, 2], [1, 2**1100], [True, 1],
            [[1], 2], *SQL,
        )
    )  # fmt: skip


def hostile_text(source: random.Random) -> str | bytes:
    """Return what a body may be instead of a record."""
    text = encode(record(source.choice(KEYS)))
    document: Any = json.loads(text)
    fields: Any = document["record"]
    name = source.choice(sorted(fields))
    match source.randrange(10):
        case 0:
            fields[name] = hostile_value(source)
        case 1:
            del fields[name]
        case 2:
            fields[source.choice((*SQL, "__class__", "py/object", "winner "))] = 1
        case 3:
            document["schema"] = hostile_value(source)
        case 4:
            return source.choice(("[", '{"a":', "[{", '"\\u0000')) * source.choice((1, 900, 90_000))
        case 5:
            return changed_bytes(source, text.encode())
        case 6:
            return text.replace(
                source.choice((":", ",", "1", "8")), source.choice(("NaN", "1e9", "'"))
            )
        case 7:
            return b"\x80\x04cos\nsystem\n(S'touch sprung'\ntR."
        case 8:
            return source.randbytes(source.choice((1, 100, 5000)))
        case _:
            fields["winner"] = "w" * source.choice((10**4, 10**6, 2 * 10**6))
    return json.dumps(document)


def damage_rows(source: random.Random, path: Path) -> None:
    """Change rows by SQL, as somebody who can write the file may."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        for _ in range(source.choice((1, 3))):
            column = source.choice(COLUMNS)
            value: object = source.choice(
                (
                    hostile_text(source),
                    source.choice(SQL),
                    source.choice((-(2**63), 2**63 - 1, 0, -1)),
                    source.choice((1e308, float("inf"), float("-inf"))),
                    source.randbytes(20),
                )
            )
            row = source.choice(KEYS)
            statement = f"UPDATE OR REPLACE record SET {column} = ? WHERE key = ?"
            if source.random() < 0.1:
                statement = f"UPDATE OR REPLACE record SET {column} = zeroblob(?) WHERE key = ?"
                value = source.choice((0, 1, 5 * 2**20))
            with suppress(sqlite3.Error, UnicodeError):
                database.execute(statement, (value, row))


SCHEMAS: Final = (
    "CREATE TRIGGER t AFTER {when} ON record BEGIN INSERT INTO sprung VALUES (1); END",
    "CREATE TRIGGER t BEFORE {when} ON record BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT * FROM n",
    "ALTER TABLE record ADD COLUMN more AS (abs(-9223372036854775808))",
    "ALTER TABLE record RENAME COLUMN body TO bodies",
    "ALTER TABLE record RENAME TO other",
    "CREATE INDEX i ON record (lower(body))",
    "DROP INDEX record_by_model",
    "DROP TABLE record",
    "PRAGMA user_version = {number}",
    "PRAGMA application_id = {number}",
    "{open}; UPDATE sqlite_master SET rootpage = {small} WHERE name = '{name}'",
    "{open}; UPDATE sqlite_master SET sql = sql || ' {word}' WHERE name = '{name}'",
    "{open}; UPDATE sqlite_master SET type = 'view' WHERE name = '{name}'",
    "{open}; DELETE FROM sqlite_master WHERE name = '{name}'",
    "PRAGMA journal_mode = DELETE; PRAGMA page_size = {page}; VACUUM",
)


def damage_schema(source: random.Random, path: Path) -> None:
    """Change tables, or put in what runs by itself."""
    words = {
        "open": "PRAGMA writable_schema = ON",
        "when": source.choice(("INSERT", "UPDATE", "DELETE")),
        "number": source.choice((0, 1, 2, 99, -1, 2**31 - 1)),
        "small": source.choice((0, 1, 2, 3, 5, 9, 4000)),
        "name": source.choice(("record", "record_by_model", "sqlite_autoindex_record_1")),
        "word": source.choice(("WITHOUT ROWID", "STRICT", "-- x", "(", "\x01")),
        "page": source.choice((512, 1024, 8192, 65536)),
    }
    with closing(sqlite3.connect(path, isolation_level=None)) as database, suppress(sqlite3.Error):
        database.execute("CREATE TABLE IF NOT EXISTS sprung (x)") if source.random() < 0.5 else None
        for statement in source.choice(SCHEMAS).format(**words).split("; "):
            database.execute(statement).fetchall() if "TRIGGER" not in statement else None
            if "TRIGGER" in statement:
                database.executescript(statement)


def use(path: Path) -> tuple[int, int]:
    """Use a file as a session does; return how many records were found and how many troubles."""
    begun_s = time.monotonic()
    store = open_store(path)
    assert isinstance(store, FallbackStore)
    found = [store.load(key) for key in KEYS]
    for key, one in zip(KEYS, found, strict=True):
        assert one is None or (type(one) is Record and one.key == key), key
        assert one is None or decode(encode(one)) == one, key
    for listed in store.records():
        assert decode(encode(listed.record)) == listed.record
    assert isinstance(store.has_records(), bool)
    store.nearest({"model": "m", "workload": "w"})
    store.save(record("new"), '{"model":"m"}')
    assert store.load("new") == record("new")
    store.remove("new")
    assert store.load("new") is None
    troubles = len(store.troubles)
    store.close()
    assert time.monotonic() - begun_s < LONGEST_S, "it took too long"
    return sum(one is not None for one in found), troubles


def check_nothing_ran(folder: Path, path: Path) -> None:
    """Look for what a trigger or an unpickled body would have left behind."""
    assert not (folder / "sprung").exists()
    assert not Path("sprung").exists()
    with suppress(sqlite3.Error, UnicodeError), closing(sqlite3.connect(path)) as database:
        assert not database.execute("SELECT * FROM sprung").fetchall(), "a trigger ran"


DAMAGE: Final[dict[str, Callable[[random.Random, Path], None]]] = {
    "bytes": damage_file,
    "rows": damage_rows,
    "schema": damage_schema,
}


def run(seconds: float, seed: int, where: Path | None = None) -> Counter[str]:
    """Fuzz in a new folder under `where`; return counts.

    An input that fails is left in the folder that the error names.
    """
    source = random.Random(seed)
    counts: Counter[str] = Counter()
    memory = Path("/dev/shm")  # a disk would spend most of the time
    where = memory if where is None and memory.is_dir() else where
    folder = Path(tempfile.mkdtemp(prefix="ortsel-fuzz-", dir=where))
    sound = make_sound(folder)
    path = folder / "input"
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        kind = source.choice(("bytes", "bytes", "rows", "schema", "text"))
        counts[kind] += 1
        if kind == "text":
            for _ in range(50):
                text = hostile_text(source)
                counts["texts"] += 1
                with suppress(CorruptRecordError, NewerRecordError):
                    decode(text)
            continue
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        for suffix in ("", "-wal"):
            shutil.copy(f"{sound}{suffix}", f"{path}{suffix}")
        DAMAGE[kind](source, path)
        shutil.copy(path, folder / "last")
        try:
            found, troubles = use(path)
            check_nothing_ran(folder, path)
        except BaseException as error:
            error.add_note(f"seed {seed}, input {sum(counts.values())} ({kind}), kept in {folder}")
            raise
        counts["records found"] += found
        counts["inputs with a warning"] += troubles > 0
        counts["inputs that lost a record"] += found < len(KEYS)
    shutil.rmtree(folder)
    return counts


def main() -> None:
    """Read the arguments, run, and print the counts."""
    parser = argparse.ArgumentParser(prog="tests.ortsel.store.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    arguments = parser.parse_args()
    logging.getLogger("ortsel").setLevel(logging.CRITICAL)
    counts = run(arguments.seconds, arguments.seed)
    files = sum(counts[kind] for kind in DAMAGE)
    assert files > 0, "pointless without inputs"
    print(f"{files} files and {counts['texts']} texts, seed {arguments.seed}: no failure")
    print(", ".join(f"{name}: {count}" for name, count in sorted(counts.items())))


if __name__ == "__main__":
    main()
