"""What a bundle holds, and its two lines of text.

The first line is the canonical JSON of the content, the second that of a seal: the SHA-256 of the
first, and a signature or null. Both are canonical: equal content is equal bytes, and no byte can
change without the bundle being refused. Environments, which most records share, are held once.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from attrs import frozen

from ortsel.bundle.errors import (
    CorruptBundleError,
    DamagedBundleError,
    NewerBundleError,
    OversizedBundleError,
    UnsignedBundleError,
    UntrustedBundleError,
)
from ortsel.bundle.records import StrictObject, at, checked_record, parts_of
from ortsel.bundle.signing import ALGORITHM, PublicKey, SigningKey
from ortsel.store.codec import encode
from ortsel.store.store import StoredRecord
from spec.canonical_json import Json, canonical, digest
from spec.errors import InvalidValue

FORMAT: Final = "ortsel bundle"
SCHEMA: Final = 1
MAX_BUNDLE_BYTES: Final = 64 * 1024 * 1024
MAX_RECORDS: Final = 65_536
"""Far below what a store keeps: no bundle can push everything else out of one."""
MAX_TOOLS: Final = 64


@frozen
class Bundle:
    """Records with the parts of their keys, and what they were made with."""

    records: tuple[StoredRecord, ...]
    """Sorted by key, each once."""
    tools: tuple[tuple[str, str], ...] = ()
    """Versions of what wrote the bundle, by name."""
    signer: PublicKey | None = None
    """Whose signature was checked; None for an unsigned bundle."""

    @classmethod
    def of(cls, records: Sequence[StoredRecord], tools: Mapping[str, str]) -> "Bundle":
        """Return a bundle of records, each of which must be one that `read` accepts.

        Raises `CorruptBundleError`, `OversizedBundleError`.
        """
        _check_count(len(records))
        ordered = sorted(records, key=lambda one: one.record.key)
        for one in ordered:
            parts = parts_of(one.key_text, f"record {one.record.key[:12]}")
            checked_record(parts, encode(one.record), f"record {one.record.key[:12]}")
        return cls(tuple(ordered), tuple(sorted(tools.items())))

    @property
    def models(self) -> tuple[str, ...]:
        """Digests of the models' contents, sorted."""
        return tuple(sorted({str(_parts(one)["model"]) for one in self.records}))

    def write(self, key: SigningKey | None = None) -> bytes:
        """Return the file's bytes, signed if there is a key. Raises `OversizedBundleError`."""
        payload = canonical(self._content()).encode()
        signature: Json = None
        if key is not None:
            signature = {
                "algorithm": ALGORITHM,
                "public_key": key.public.text,
                "value": key.sign(payload),
            }
        seal: Json = {"sha256": hashlib.sha256(payload).hexdigest(), "signature": signature}
        data = payload + b"\n" + canonical(seal).encode() + b"\n"
        if len(data) > MAX_BUNDLE_BYTES:
            got = f"{len(data)} bytes"
            raise OversizedBundleError(got, f"at most {MAX_BUNDLE_BYTES}")
        return data

    @classmethod
    def read(cls, data: bytes, trusted: Sequence[PublicKey] = ()) -> "Bundle":
        """Return what a file holds after every check; nothing is looked into before its seal holds.

        With `trusted` keys, the bundle must be signed by one of them. A signature is checked in any
        case. Raises `BundleError`, and `MissingPackageError` where it cannot be checked.
        """
        if len(data) > MAX_BUNDLE_BYTES:
            raise OversizedBundleError("a larger file", f"at most {MAX_BUNDLE_BYTES} bytes")
        payload, seal = _lines(data)
        signer = _checked_seal(payload, seal, tuple(trusted))
        content = StrictObject.of(_parsed(payload, "content"), "content")
        found = content.text("format")
        if found != FORMAT:
            raise CorruptBundleError("format", repr(found)[:64], repr(FORMAT))
        schema = content.integer("schema")
        if schema > SCHEMA:
            raise NewerBundleError("schema", schema, SCHEMA)
        if schema != SCHEMA:
            raise CorruptBundleError("schema", str(schema), str(SCHEMA))
        content.closed({"environments", "format", "models", "records", "schema", "tools"})
        bundle = cls(_records(content), _tools(content), signer)
        if content.list("models") != list(bundle.models):
            raise CorruptBundleError("models", "others", "those of the records, sorted")
        if canonical(bundle._content()).encode() != payload:
            raise CorruptBundleError("content", "something more", "what the records use, no more")
        return bundle

    def _content(self) -> Json:
        environments: dict[str, Json] = {}
        records: list[Json] = []
        for one in self.records:
            parts = _parts(one)
            environment = parts.pop("environment")
            name = digest(canonical(environment))
            environments[name] = environment
            records.append({"environment": name, "parts": parts, "record": encode(one.record)})
        return {
            "environments": environments,
            "format": FORMAT,
            "models": list(self.models),
            "records": records,
            "schema": SCHEMA,
            "tools": dict(self.tools),
        }


def _parts(one: StoredRecord) -> dict[str, Json]:
    return parts_of(one.key_text, f"record {one.record.key[:12]}")


def _lines(data: bytes) -> tuple[bytes, bytes]:
    lines = data.split(b"\n", 3)
    if len(lines) != _LINES or lines[-1]:
        raise CorruptBundleError("file", "something else", "two lines of a bundle (all of it?)")
    return lines[0], lines[1]


_LINES: Final = 3
"""As split at line ends: content, seal, and nothing."""


def _parsed(line: bytes, place: str) -> dict[str, object]:
    """Return the object on a line, which must be written canonically: there is one way only."""
    need = "one object in canonical JSON"
    try:
        value = json.loads(line)
        same = isinstance(value, dict) and canonical(value).encode() == line
    except (ValueError, RecursionError, InvalidValue) as error:
        raise CorruptBundleError(place, str(error)[:120], need) from error
    if not same:
        raise CorruptBundleError(place, "another text", need)
    return dict(value)


def _checked_seal(payload: bytes, line: bytes, trusted: tuple[PublicKey, ...]) -> PublicKey | None:
    seal = StrictObject.of(_parsed(line, "seal"), "seal")
    seal.closed({"sha256", "signature"})
    got, need = hashlib.sha256(payload).hexdigest(), seal.text("sha256")
    if got != need:
        raise DamagedBundleError(got, need[:64])
    names = tuple(key.text for key in trusted)
    if seal.members["signature"] is None:
        if trusted:
            raise UnsignedBundleError(names)
        return None
    signature = seal.object("signature")
    signature.closed({"algorithm", "public_key", "value"})
    if signature.text("algorithm") != ALGORITHM:
        got = repr(signature.text("algorithm"))[:64]
        raise CorruptBundleError("seal.signature.algorithm", got, repr(ALGORITHM))
    signer = PublicKey(signature.text("public_key"))
    signer.check(payload, signature.text("value"))
    if trusted and signer not in trusted:
        raise UntrustedBundleError(signer.text, names)
    return signer


def _records(content: StrictObject) -> tuple[StoredRecord, ...]:
    environments = content.object("environments").members
    for name, environment in environments.items():
        if digest(canonical(_json(environment))) != name:
            raise CorruptBundleError(at("environments", name[:64]), "another name", "its SHA-256")
    entries = content.list("records")
    _check_count(len(entries))
    records: list[StoredRecord] = []
    for position, entry in enumerate(entries):
        place = f"records[{position}]"
        row = StrictObject.of(entry, place)
        row.closed({"environment", "parts", "record"})
        name = row.text("environment")
        if name not in environments:
            raise CorruptBundleError(
                at(place, "environment"), repr(name)[:70], "one of the bundle's"
            )
        parts = {**row.object("parts").members}
        if "environment" in parts:
            raise CorruptBundleError(at(place, "parts"), "an environment", "the other parts only")
        parts["environment"] = environments[name]
        stored = checked_record(_json_object(parts), row.text("record"), place)
        if records and records[-1].record.key >= stored.record.key:
            raise CorruptBundleError(place, "a key out of order", "keys in ascending order")
        records.append(stored)
    return tuple(records)


def _tools(content: StrictObject) -> tuple[tuple[str, str], ...]:
    tools = content.object("tools")
    if len(tools.members) > MAX_TOOLS:
        raise CorruptBundleError("tools", f"{len(tools.members)} names", f"at most {MAX_TOOLS}")
    return tuple(sorted((name, tools.text(name)) for name in tools.members))


def _json(value: object) -> Json:
    """Return a value that JSON was read from as what it is; `canonical` has been through it."""
    if isinstance(value, dict):
        return {str(name): _json(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_json(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    raise CorruptBundleError("content", type(value).__name__, "JSON")


def _json_object(members: Mapping[str, object]) -> dict[str, Json]:
    return {name: _json(member) for name, member in members.items()}


def _check_count(count: int) -> None:
    if not 1 <= count <= MAX_RECORDS:
        got = f"{count} records"
        raise OversizedBundleError(got, f"1 to {MAX_RECORDS}")
