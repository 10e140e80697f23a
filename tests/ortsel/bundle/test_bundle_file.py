"""A bundle is what was written, or it is refused."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from ortsel.bundle import (
    Bundle,
    BundleError,
    PublicKey,
    SigningKey,
    generate_key,
    read_bundle,
    write_bundle,
)
from ortsel.bundle import bundle as bundle_module
from ortsel.bundle.errors import (
    CorruptBundleError,
    DamagedBundleError,
    NewerBundleError,
    OversizedBundleError,
    UnsignedBundleError,
    UntrustedBundleError,
    UnusableKeyError,
    WrongSignatureError,
)
from spec.canonical_json import Json, canonical, digest
from tests.ortsel.bundle.bundle_samples import bundle, parts, rewritten, sealed, shapes, stored

KEY = SigningKey(bytes(range(32)))
OTHER = SigningKey(bytes(range(1, 33)))
SIGNED = bundle(2).write(KEY)
PLAIN = bundle(2).write()


def test_what_is_read_is_what_was_written() -> None:
    read = Bundle.read(bundle().write())
    assert read == bundle()
    assert len(read.records) == 3
    assert Bundle.read(SIGNED, [KEY.public]) == evolve(bundle(2), signer=KEY.public)


def test_equal_content_is_equal_bytes_in_whatever_order_it_came() -> None:
    backwards = Bundle.of(shapes(5)[::-1], {"ortsel": "1"})
    assert backwards.write(KEY) == bundle(5).write(KEY)
    assert backwards.write() != bundle(4).write()


def test_an_environment_that_records_share_is_held_once() -> None:
    content = json.loads(bundle(5).write().split(b"\n")[0])
    assert len(content["environments"]) == 1
    assert len(content["records"]) == 5


@given(st.data())
def test_any_byte_that_changes_makes_a_signed_bundle_refused(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(SIGNED) - 1))
    changed = bytearray(SIGNED)
    changed[position] ^= data.draw(st.integers(1, 255))
    with pytest.raises(BundleError):
        Bundle.read(bytes(changed), [KEY.public])


@given(st.integers(0, len(SIGNED) - 1))
def test_a_file_that_ends_early_is_refused(length: int) -> None:
    with pytest.raises(BundleError):
        Bundle.read(SIGNED[:length])


@given(st.binary(max_size=300))
def test_bytes_of_any_kind_are_refused_in_words(data: bytes) -> None:
    with pytest.raises(BundleError):
        Bundle.read(data)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
PLACES = (
    ("format",), ("schema",), ("models",), ("environments",), ("records",),
    ("records", 0), ("records", 0, "parts"), ("records", 0, "environment"),
    ("records", 0, "record"), ("records", 1, "parts", "model"), ("records", 1, "parts", "scope"),
    ("records", 1, "parts", "candidates"), ("records", 1, "parts", "schema"),
)  # fmt: skip


@given(st.sampled_from(PLACES), JSON)
def test_a_value_of_any_type_in_any_place_is_refused_in_words(
    place: tuple[str | int, ...], value: Any
) -> None:
    content = json.loads(PLAIN.split(b"\n")[0])
    inner = content
    for name in place[:-1]:
        inner = inner[name]
    if inner[place[-1]] == value and type(inner[place[-1]]) is type(value):
        return
    inner[place[-1]] = value
    with pytest.raises(BundleError):
        Bundle.read(sealed(canonical(content).encode()))


def test_an_unsigned_bundle_is_refused_where_a_signature_is_required() -> None:
    assert Bundle.read(PLAIN).signer is None
    with pytest.raises(UnsignedBundleError, match=KEY.public.text):
        Bundle.read(PLAIN, [KEY.public])


def test_a_bundle_that_another_key_signed_is_refused_and_both_keys_are_named() -> None:
    assert Bundle.read(SIGNED, [OTHER.public, KEY.public]).signer == KEY.public
    with pytest.raises(UntrustedBundleError) as caught:
        Bundle.read(SIGNED, [OTHER.public])
    assert KEY.public.text in str(caught.value)
    assert OTHER.public.text in str(caught.value)


def test_a_wrong_signature_is_refused_even_where_none_is_required() -> None:
    value = KEY.sign(SIGNED.split(b"\n")[0])
    forged = SIGNED.replace(value.encode(), OTHER.sign(SIGNED.split(b"\n")[0]).encode())
    assert forged != SIGNED
    with pytest.raises(WrongSignatureError):
        Bundle.read(forged)


def test_a_signature_of_other_content_does_not_count() -> None:
    first, _ = SIGNED.split(b"\n")[:2]
    other = bundle(3).write(KEY)
    mixed = first + b"\n" + other.split(b"\n")[1] + b"\n"
    with pytest.raises(DamagedBundleError):
        Bundle.read(mixed)


def _set(place: str, value: Json) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        *outer, last = place.split(".")
        inner: Any = content
        for name in outer:
            inner = inner[int(name)] if name.isdecimal() else inner[name]
        inner[last] = value

    return change


def _record(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        row = content["records"][0]
        body = json.loads(row["record"])
        body["record"] |= changes
        row["record"] = json.dumps(body, sort_keys=True, separators=(",", ":"))

    return change


CASES: dict[str, tuple[Callable[[dict[str, Any]], None], type[BundleError], str]] = {
    "a later version": (_set("schema", 2), NewerBundleError, "schema 2, this version knows up to"),
    "a version that never was": (_set("schema", 0), CorruptBundleError, "schema: got 0"),
    "another format": (_set("format", "zip"), CorruptBundleError, "format: got 'zip'"),
    "an unknown name": (_set("run", "rm"), CorruptBundleError, "content.'run': got an unknown"),
    "tools without versions": (_set("tools.ortsel", 1), CorruptBundleError, "'ortsel': got 1"),
    "no records": (_set("records", []), OversizedBundleError, "got 0 records"),
    "an environment of another name": (
        lambda content: content["environments"].update({"../../etc": {}}),
        CorruptBundleError,
        "environments.../../etc: got another name, need its SHA-256",
    ),
    "an environment that nothing uses": (
        lambda content: content["environments"].update({digest(canonical({})): {}}),
        CorruptBundleError,
        "what the records use, no more",
    ),
    "a record twice": (
        lambda content: content["records"].append(content["records"][0]),
        CorruptBundleError,
        "records[2]: got a key out of order",
    ),
    "another model's evidence": (
        _set("records.0.parts.model", "cd" * 32),
        CorruptBundleError,
        "records[0].record.key",
    ),
    "a model that is not listed": (_set("models", []), CorruptBundleError, "models: got others"),
    "a winner that is no candidate": (
        _record(winner="own"), CorruptBundleError, "records[0].record.winner: got 'own'",
    ),
    "another reference": (
        _record(reference="threads=2"), CorruptBundleError, "need the reference of its key",
    ),
    "another scope": (_record(scope="operator"), CorruptBundleError, "need the scope of its key"),
    "a record of a later schema": (
        lambda content: content["records"][0].update({"record": '{"record":{},"schema":9}'}),
        NewerBundleError,
        "records[0].record.schema 9",
    ),
    "a ratio of nothing": (_record(ratio=[0, 1]), CorruptBundleError, "records[0].record.ratio"),
    "an unknown name in a record": (_record(path="/"), CorruptBundleError, "record.path"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_bundle_is_refused_for(name: str) -> None:
    change, kind, words = CASES[name]
    with pytest.raises(kind) as caught:
        Bundle.read(rewritten(PLAIN, change))
    assert words in str(caught.value)


def test_deep_nesting_duplicate_names_floats_and_white_space_are_refused() -> None:
    for payload in (
        b"[" * 200_000,
        b'{"format":"ortsel bundle","format":"ortsel bundle"}',
        b'{"schema":1.0}',
        b'{ "schema":1}',
        b'{"schema":' + b"9" * 5000 + b"}",
        b'{"schema":NaN}',
    ):
        with pytest.raises(CorruptBundleError, match=r"content: got .* canonical JSON"):
            Bundle.read(sealed(payload))


def test_a_larger_file_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle_module, "MAX_BUNDLE_BYTES", 100)
    with pytest.raises(OversizedBundleError):
        Bundle.read(PLAIN)
    with pytest.raises(OversizedBundleError):
        bundle().write()
    monkeypatch.undo()
    with open(tmp_path / "large", "wb") as file:
        file.truncate(bundle_module.MAX_BUNDLE_BYTES + 1)
    with pytest.raises(OversizedBundleError, match="a larger file"):
        read_bundle(tmp_path / "large")


def test_what_no_reader_would_take_is_not_written() -> None:
    with pytest.raises(CorruptBundleError, match="no parts of its key"):
        Bundle.of([evolve(stored(), key_text="")], {})
    with pytest.raises(CorruptBundleError, match="unknown: "):
        Bundle.of([stored(environment={"unknown": ["driver"]})], {})
    without = {name: value for name, value in parts().items() if name != "workload"}
    with pytest.raises(CorruptBundleError, match=r"parts\.workload: got nothing"):
        Bundle.of([evolve(stored(), key_text=canonical(without))], {})
    with pytest.raises(OversizedBundleError, match="0 records"):
        Bundle.of([], {})


def test_a_file_appears_whole_and_replaces_another(tmp_path: Path) -> None:
    path = tmp_path / "shipped.bundle"
    path.write_bytes(b"old")
    data = write_bundle(path, bundle(), KEY)
    assert path.read_bytes() == data == bundle().write(KEY)
    assert [one.name for one in tmp_path.iterdir()] == ["shipped.bundle"]
    assert read_bundle(path, [KEY.public]).signer == KEY.public
    with pytest.raises(OSError, match="No such file"):
        write_bundle(tmp_path / "none" / "a", bundle())


def test_keys_survive_their_files_and_openssl_reads_them(tmp_path: Path) -> None:
    key = generate_key()
    assert SigningKey.read(key.pem()).public == key.public
    assert PublicKey.read(key.public.pem()) == PublicKey.read(key.public.text.encode())
    assert "seed" not in repr(key)
    assert key.pem().decode().split("\n")[1] not in repr(key)
    (tmp_path / "key.pem").write_bytes(key.pem())
    asked = ["openssl", "pkey", "-in", str(tmp_path / "key.pem"), "-pubout"]
    try:
        shown = subprocess.run(asked, check=True, capture_output=True).stdout
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert shown == key.public.pem()


@pytest.mark.parametrize("data", [b"", b"key", b"-----BEGIN PRIVATE KEY-----\n", KEY.public.pem()])
def test_what_is_no_private_key_is_refused(data: bytes) -> None:
    with pytest.raises(UnusableKeyError, match="Ed25519 private key"):
        SigningKey.read(data)


@pytest.mark.parametrize("data", [b"", b"ab" * 31, b"zz" * 32, KEY.pem()])
def test_what_is_no_public_key_is_refused(data: bytes) -> None:
    with pytest.raises(UnusableKeyError, match="Ed25519 public key"):
        PublicKey.read(data)
