"""A search as one JSON document. Names stay; new ones may be added under the same `schema`."""

import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from ortsel.cli.feeds import Feeds
from ortsel.cli.model_inputs import ModelInput
from ortsel.cli.remembered_hashes import hashes_beside
from ortsel.cli.search import SearchResult
from ortsel.cli.store_argument import StorePlace
from ortsel.model_content import UnknownContentError, content_hash
from spec.record import Record

SCHEMA: Final = 1
_PACKAGES: Final = (
    "ortsel",
    "numpy",
    "onnx",
    "onnxscript",
    "onnxruntime",
    "onnxruntime-gpu",
    "onnxruntime-openvino",
)


def search_document(
    path: Path,
    inputs: Sequence[ModelInput],
    feeds: Feeds,
    result: SearchResult,
    store: StorePlace | None = None,
) -> dict[str, object]:
    """Return everything about a search as plain values."""
    explanation = result.explanation
    return {
        "schema": SCHEMA,
        "model": {
            "path": str(path.absolute()),
            "sha256": model_digest(path, store),
            "inputs": [
                {"name": one.name, "type": one.type, "shape": list(one.shape)} for one in inputs
            ],
        },
        "workload": {
            "text": explanation.workload,
            "key": explanation.key or None,
            "feeds": "synthetic" if feeds.synthetic else feeds.source,
            "shapes": {name: list(array.shape) for name, array in feeds.arrays.items()},
        },
        "decision": {
            "decided": result.decided,
            "plan": explanation.plan,
            "serves_reference": result.serves_reference,
            "source": explanation.source,
            "verified": explanation.verified,
            "ratio": _served_ratio(result),
            "reason": explanation.reason,
            "elapsed_s": explanation.elapsed_ns / 1e9,
            "exit_code": int(result.exit_code),
        },
        "counts": explanation.counts(),
        "candidates": [
            {name: value for name, value in row.items() if name != "workload"}
            for row in _rows(result)
        ],
        "left_out": [
            {name: value for name, value in row.items() if name != "workload"}
            for row in explanation.left_out_rows()
        ],
        "operators": [
            {name: value for name, value in row.items() if name != "workload"}
            for row in explanation.operator_rows()
        ],
        "store": {
            "path": result.place,
            "stored": result.record is not None,
            "record": None if result.record is None else _record(result.record),
        },
        "environment": environment_versions(),
    }


def to_text(document: Mapping[str, object]) -> str:
    """Return a document as JSON in ASCII, so that any pipe carries it."""
    return json.dumps(document, indent=2, ensure_ascii=True, allow_nan=False)


def environment_versions() -> dict[str, str]:
    """Return the versions that a decision belongs to; absent packages are left out."""
    versions = {"python": platform.python_version(), "platform": platform.platform()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def model_digest(path: Path, store: StorePlace | None = None) -> str | None:
    """Return the hash of what a model computes; None where it cannot be read.

    Hashes are remembered beside the store, unless that is a file which is not there: a mistyped
    path makes no folders.
    """
    try:
        return content_hash(path, memory=hashes_beside(store)).digest
    except (UnknownContentError, OSError):
        return None


def _served_ratio(result: SearchResult) -> float | None:
    """Return the ratio of what serves. The reference's own is not a measurement of a winner."""
    ratio = result.explanation.ratio
    return None if ratio is None or result.serves_reference else float(ratio)


def _rows(result: SearchResult) -> list[dict[str, object]]:
    return [dict(row) for row in result.explanation.candidate_rows()]


def _record(record: Record) -> dict[str, object]:
    return {
        "winner": record.winner,
        "created_s": record.created_s,
        "reference_ms": record.reference_ns / 1e6,
        "winner_ms": record.winner_ns / 1e6,
        "ratio": float(record.ratio),
        "noise": float(record.dispersion),
        "blocks": record.blocks,
        "verified": record.verified,
        "feeds": record.feeds,
        "provisional": record.provisional,
        "complete": record.complete,
        "origin": record.origin.value,
    }
