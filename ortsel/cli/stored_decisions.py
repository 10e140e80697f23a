"""What a store holds, as values that filter, sort and print."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Final

import attrs

from ortsel.cli.json_output import model_digest
from ortsel.cli.one_line import one_line
from ortsel.cli.store_argument import StorePlace, store_place
from ortsel.errors import UsageError
from ortsel.operator_scope.operators_part import OPERATORS
from ortsel.store import DirectStore, StoredRecord, direct_store
from ortsel.store.errors import CorruptRecordError, NewerRecordError
from ortsel.store.explanation import differing_parts, parse_key_text
from spec.record import Record

SHORT: Final = 12
"""Digits of a key or digest that a table shows."""
_LEAST_PREFIX: Final = 4


@attrs.frozen(slots=False)
class StoredDecision:
    """One record with the named parts of its key."""

    record: Record
    key_text: str

    @cached_property
    def parts(self) -> Mapping[str, object]:
        """The named parts; empty where the store was not told them."""
        return parse_key_text(self.key_text)

    @property
    def model(self) -> str:
        """Digest of the model's content; empty where it is not known."""
        model = self.parts.get("model")
        return model if isinstance(model, str) else ""

    @property
    def rests_on(self) -> frozenset[str]:
        """Keys of the decisions about attention alone that narrowed what it was chosen from."""
        options = self.parts.get("options")
        keys = options.get(OPERATORS) if isinstance(options, dict) else None
        return frozenset(key for key in keys if isinstance(key, str)) if keys else frozenset()

    @property
    def workload(self) -> str:
        """Inputs and way of calling, in words."""
        return workload_words(self.parts.get("workload"))

    def differs_from(self, environment: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names of the parts in which its environment is not this one."""
        there = self.parts.get("environment")
        return differing_parts(environment, there if isinstance(there, dict) else {})

    def document(self, environment: Mapping[str, object]) -> dict[str, object]:
        """Return it as plain values."""
        return {
            "key": self.record.key,
            "model": self.model or None,
            "workload": self.workload or None,
            **record_document(self.record),
            "environment_differs": list(self.differs_from(environment)),
        }


def record_document(record: Record) -> dict[str, object]:
    """Return a record's decision and evidence as plain values."""
    return {
        "winner": record.winner,
        "reference": record.reference,
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


def workload_words(workload: object) -> str:
    """Return a workload part of a key in words; empty where it is not understood."""
    inputs = workload.get("inputs") if isinstance(workload, dict) else None
    if not isinstance(workload, dict) or not isinstance(inputs, dict):
        return ""
    words = []
    for name, one in inputs.items():
        if not isinstance(one, dict) or not isinstance(one.get("shape"), list):
            return ""
        element = str(one.get("type", "")).removeprefix("tensor(").removesuffix(")")
        strided = "" if one.get("layout") == "contiguous" else " strided"
        words.append(f"{name} {element}[{','.join(map(str, one['shape']))}]{strided}")
    calling = workload.get("calling")
    return f"{', '.join(words) or 'no input'} ({calling})"


@contextmanager
def opened(store: StorePlace | None) -> Iterator[DirectStore]:
    """Give the store itself, which raises what is wrong with it."""
    found = direct_store(store_place(store))
    try:
        yield found
    finally:
        found.close()


def read_all(
    store: DirectStore,
) -> Iterator[StoredDecision | CorruptRecordError | NewerRecordError]:
    """Give every record, or what is wrong with it."""
    for found in store.examine():
        if isinstance(found, StoredRecord):
            yield StoredDecision(found.record, found.key_text)
        else:
            yield found


def find_key(store: DirectStore, prefix: str) -> StoredDecision:
    """Return the one decision whose key begins so. Raises `UsageError`."""
    wanted = prefix.lower()
    readable = len(wanted) >= _LEAST_PREFIX and not set(wanted) - set("0123456789abcdef")
    if not readable:
        need = f"at least {_LEAST_PREFIX} hexadecimal digits of a key (see ortsel cache list)"
        raise UsageError("KEY", repr(prefix)[:80], need)
    found = [
        one
        for one in read_all(store)
        if isinstance(one, StoredDecision) and one.record.key.startswith(wanted)
    ]
    match found:
        case []:
            raise UsageError("KEY", repr(prefix)[:80], f"the key of a decision in {store.address}")
        case [only]:
            return only
        case _:
            keys = ", ".join(one.record.key[:SHORT] for one in found[:3])
            raise UsageError("KEY", repr(prefix)[:80], f"more digits: {len(found)} match ({keys})")


def wanted_model(text: str | None, store: StorePlace | None) -> str | None:
    """Return the digest that `--model` names: that of a file, or its first digits themselves.

    Raises `UsageError`.
    """
    if text is None:
        return None
    digits = text.lower()
    if len(digits) >= _LEAST_PREFIX and not set(digits) - set("0123456789abcdef"):
        return digits
    found = model_digest(Path(text), store) if Path(text).is_file() else None
    if found is None:
        need = "a model file, or the first digits of a model's digest (see ortsel cache list)"
        raise UsageError("--model", repr(text)[:200], need)
    return found


def this_environment() -> Mapping[str, object]:
    """Return the environment of this process as it is in keys."""
    import json

    from ortsel.environment import read_environment
    from spec.canonical_json import canonical

    parts: object = json.loads(canonical(read_environment().parts()))
    return parts if isinstance(parts, dict) else {}


def age_words(seconds: int) -> str:
    """Return an age for people: "just now", "5 min", "3 h", "12 d"; "ahead" for the future."""
    if seconds < -_SKEW_S:
        return "ahead"
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return "just now"


_SKEW_S: Final = 300


def names(found: Sequence[str], limit: int = 3) -> str:
    """Return a few names on one line, and how many more there are."""
    shown = ", ".join(one_line(name, 60) for name in found[:limit])
    more = len(found) - limit
    return f"{shown} and {more} more" if more > 0 else shown
