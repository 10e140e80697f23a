"""Records whose keys are the hashes of real parts, for the tests of bundles."""

import json
from collections.abc import Callable
from typing import Any

from attrs import evolve

from ortsel.bundle import Bundle
from ortsel.store import StoredRecord
from spec.canonical_json import Json, canonical, digest
from tests.ortsel.store.sample_records import NOW_S, PLAIN

MODEL = "ab" * 32
ENVIRONMENT: dict[str, Json] = {"cpu": "one", "unknown": [], "variables": {}}


def parts(**changes: Json) -> dict[str, Json]:
    """Return the named parts of a key."""
    named: dict[str, Json] = {
        "candidates": ["reference", "threads=2"],
        "environment": ENVIRONMENT,
        "lower_level": "",
        "model": MODEL,
        "operation": "onnx-model",
        "options": {"candidates": "", "reference": {}},
        "policy": {"ttl_s": 1},
        "reference": "reference",
        "schema": 1,
        "scope": "pipeline",
        "workload": {"inputs": {"x": {"shape": [1, 3], "type": "tensor(float)"}}},
    }
    return named | changes


def stored(**changes: Json) -> StoredRecord:
    """Return a record whose key is the hash of `parts`."""
    text = canonical(parts(**changes))
    record = evolve(PLAIN, key=digest(text), created_s=NOW_S)
    return StoredRecord(record, text)


def shapes(count: int) -> list[StoredRecord]:
    """Return records of one model for several shapes."""
    return [stored(workload={"rows": rows}) for rows in range(count)]


def bundle(count: int = 3) -> Bundle:
    """Return a bundle."""
    return Bundle.of(shapes(count), {"ortsel": "1"})


def rewritten(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Return an unsigned file whose content was changed, and whose seal holds."""
    content = json.loads(data.split(b"\n")[0])
    change(content)
    return sealed(canonical(content).encode())


def sealed(payload: bytes) -> bytes:
    """Return an unsigned file with this first line."""
    import hashlib

    seal: Json = {"sha256": hashlib.sha256(payload).hexdigest(), "signature": None}
    return payload + b"\n" + canonical(seal).encode() + b"\n"
