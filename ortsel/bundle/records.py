"""One record of a bundle, checked against the parts of its own key."""

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Final

from attrs import frozen

from ortsel.bundle.errors import CorruptBundleError, NewerBundleError
from ortsel.store.codec import decode
from ortsel.store.errors import CorruptRecordError, NewerRecordError
from ortsel.store.store import StoredRecord
from spec.canonical_json import Json, canonical, digest
from spec.errors import InvalidValue
from spec.keys import KEY_SCHEMA, MAX_KEY_BYTES

PARTS: Final = frozenset(
    {
        "candidates",
        "environment",
        "lower_level",
        "model",
        "operation",
        "options",
        "policy",
        "reference",
        "schema",
        "scope",
        "workload",
    }
)
"""The named parts of every key (`spec.keys.key_parts`)."""
_SHOWN: Final = 64


@frozen
class StrictObject:
    """Members of a JSON object, read by type. Every mismatch is a `CorruptBundleError`."""

    members: Mapping[str, object]
    place: str

    @classmethod
    def of(cls, value: object, place: str) -> "StrictObject":
        """Return the members of what must be an object."""
        if not isinstance(value, dict):
            raise CorruptBundleError(place, _short(value), "an object")
        return cls(value, place)

    def closed(self, names: AbstractSet[str]) -> None:
        """Raise unless there are exactly these members."""
        for name in sorted(self.members.keys() - names):
            raise CorruptBundleError(at(self.place, _short(name)), "an unknown name", "no more")
        for name in sorted(names - self.members.keys()):
            raise CorruptBundleError(at(self.place, name), "nothing", "a value")

    def text(self, name: str) -> str:
        """Return a member that is a string."""
        value = self.members.get(name)
        if not isinstance(value, str):
            raise CorruptBundleError(at(self.place, _short(name)), _short(value), "a string")
        return value

    def integer(self, name: str) -> int:
        """Return a member that is an integer."""
        value = self.members.get(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise CorruptBundleError(at(self.place, name), _short(value), "an integer")
        return value

    def list(self, name: str) -> list[object]:
        """Return a member that is a list."""
        value = self.members.get(name)
        if not isinstance(value, list):
            raise CorruptBundleError(at(self.place, name), _short(value), "a list")
        return [*value]

    def object(self, name: str) -> "StrictObject":
        """Return a member that is an object."""
        return StrictObject.of(self.members.get(name), f"{self.place}.{name}")


def at(place: str, name: str) -> str:
    """Return where a member of something is."""
    return f"{place}.{name}"


def parts_of(key_text: str, place: str) -> dict[str, Json]:
    """Return the named parts of a key's text. Raises `CorruptBundleError` where there are none."""
    try:
        parts = json.loads(key_text)
    except (ValueError, RecursionError) as error:
        got = "no parts of its key" if not key_text else _short(key_text)
        raise CorruptBundleError(place, got, "the text that was hashed to its key") from error
    if not isinstance(parts, dict):
        raise CorruptBundleError(place, _short(parts), "the named parts of a key")
    return parts


def checked_record(parts: Mapping[str, Json], body: str, place: str) -> StoredRecord:
    """Return a record with the text of its key, after everything that can be checked without a run.

    The parts hash to the record's key, so that evidence for one model, shape or machine cannot pass
    for another's; winner and reference are candidates of that key. Raises `BundleError`.
    """
    closed = StrictObject.of(dict(parts), f"{place}.parts")
    closed.closed(PARTS)
    schema = closed.integer("schema")
    if schema > KEY_SCHEMA:
        raise NewerBundleError(at(place, "parts.schema"), schema, KEY_SCHEMA)
    if schema != KEY_SCHEMA:
        raise CorruptBundleError(at(place, "parts.schema"), str(schema), str(KEY_SCHEMA))
    for name in ("model", "operation", "reference", "scope"):
        closed.text(name)
    unknown = closed.object("environment").members.get("unknown")
    if unknown:
        got = f"unknown: {_short(unknown)}"
        raise CorruptBundleError(at(place, "environment"), got, "one that is known in full")
    try:
        text = canonical(parts)
        record = decode(body)
    except InvalidValue as error:
        raise CorruptBundleError(at(place, "parts"), error.got, error.need) from error
    except NewerRecordError as error:
        raise NewerBundleError(at(place, "record.schema"), error.got, error.need) from error
    except CorruptRecordError as error:
        raise CorruptBundleError(at(place, error.place), error.got, error.need) from error
    if len(text.encode()) > MAX_KEY_BYTES:
        got = f"{len(text.encode())} bytes"
        raise CorruptBundleError(at(place, "parts"), got, f"at most {MAX_KEY_BYTES}")
    _check_agreement(parts, StoredRecord(record, text), place)
    return StoredRecord(record, text)


def _check_agreement(parts: Mapping[str, Json], stored: StoredRecord, place: str) -> None:
    record = stored.record
    key = digest(stored.key_text)
    if record.key != key:
        raise CorruptBundleError(at(place, "record.key"), _short(record.key), f"{key}, its parts'")
    if record.scope.value != parts["scope"]:
        raise CorruptBundleError(
            at(place, "record.scope"), record.scope.value, "the scope of its key"
        )
    if record.reference != parts["reference"]:
        got = _short(record.reference)
        raise CorruptBundleError(at(place, "record.reference"), got, "the reference of its key")
    candidates = parts["candidates"]
    if not isinstance(candidates, list) or record.winner not in candidates:
        got = _short(record.winner)
        raise CorruptBundleError(at(place, "record.winner"), got, "a candidate of its key")


def _short(value: object) -> str:
    try:
        text = ascii(value)
    except ValueError:  # an integer with more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
