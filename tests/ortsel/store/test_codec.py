import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ortsel.store.codec import MAX_RECORD_BYTES, decode, encode
from ortsel.store.errors import CorruptRecordError, NewerRecordError
from spec.record import Record
from tests.ortsel.store.sample_records import record, records


@given(records())
def test_what_is_written_reads_back_equal(written: Record) -> None:
    assert decode(encode(written)) == written
    assert decode(encode(written).encode()) == written


def test_a_text_holds_every_field_of_a_record() -> None:
    fields = json.loads(encode(record()))["record"]
    assert fields.keys() == {attribute.name for attribute in attrs.fields(Record)}


def _changed(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads(encode(record()))
    change(document)
    return json.dumps(document)


def _field(name: str, value: object) -> str:
    return _changed(lambda document: document["record"].update({name: value}))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (_field("wins", 1), "record.wins"),
        (_changed(lambda document: document.update(extra=1)), "extra"),
        (_changed(lambda document: document["record"].pop("ratio")), "record.ratio"),
        (_changed(lambda document: document.pop("record")), "record"),
        (_changed(lambda document: document.pop("schema")), "schema"),
        (_changed(lambda document: document.update(schema=0)), "schema"),
        (_changed(lambda document: document.update(schema="1")), "schema"),
        (_changed(lambda document: document.update(schema=True)), "schema"),
        (_changed(lambda document: document.update(record=[])), "record"),
        (_field("blocks", "8"), "record.blocks"),
        (_field("blocks", True), "record.blocks"),
        (_field("blocks", -1), "record.blocks"),
        (_field("blocks", 2**63), "record.blocks"),
        (_field("blocks", None), "record.blocks"),
        (_field("winner_ns", 0), "record.winner_ns"),
        (_field("winner", ""), "record.winner"),
        (_field("winner", 1), "record.winner"),
        (_field("verified", 1), "record.verified"),
        (_field("scope", "planet"), "record.scope"),
        (_field("scope", 1), "record.scope"),
        (_field("origin", "LOCAL"), "record.origin"),
        (_field("ratio", [0, 1]), "record.ratio"),
        (_field("ratio", [-1, 2]), "record.ratio"),
        (_field("ratio", [1, 0]), "record.ratio"),
        (_field("ratio", [1, -2]), "record.ratio"),
        (_field("ratio", [2, 4]), "record.ratio"),
        (_field("ratio", [1]), "record.ratio"),
        (_field("ratio", [1, 2, 3]), "record.ratio"),
        (_field("ratio", [True, 2]), "record.ratio[0]"),
        (_field("ratio", [1, "2"]), "record.ratio[1]"),
        (_field("ratio", [1, 2**1024]), "record.ratio[1]"),
        (_field("ratio", "1/2"), "record.ratio"),
        (_field("dispersion", 0), "record.dispersion"),
        (_field("winner", "w" * MAX_RECORD_BYTES), "record"),
        (_field("blocks", 8.0), "record"),
        (encode(record()).replace("8", "NaN", 1), "record"),
        (encode(record()).replace("8", "Infinity", 1), "record"),
        (encode(record()).replace("8", "1e3", 1), "record"),
        (encode(record()).replace("{", '{"schema":1,', 1), "record"),
        (encode(record())[:-1], "record"),
        ("[" * 100_000, "record"),
        ("1" * 10_000, "record"),
        ("", "record"),
        ("null", "record"),
        ("[]", "record"),
    ],
)
def test_anything_else_is_corrupt_and_says_where(text: str, place: str) -> None:
    with pytest.raises(CorruptRecordError) as caught:
        decode(text)
    assert caught.value.place == place
    assert len(str(caught.value)) < 500
    with pytest.raises(CorruptRecordError):
        decode(text.encode())


def test_a_later_schema_is_told_apart_from_damage() -> None:
    with pytest.raises(NewerRecordError) as caught:
        decode('{"schema": 2, "tomorrow": []}')
    assert caught.value.got == 2


def test_bytes_that_are_not_text_are_corrupt() -> None:
    with pytest.raises(CorruptRecordError):
        decode(b"\xff\xfe" + encode(record()).encode())


@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with pytest.raises((CorruptRecordError, NewerRecordError)):
        decode(data)


@given(records(), st.data())
def test_a_cut_text_is_corrupt(written: Record, data: st.DataObject) -> None:
    text = encode(written)
    with pytest.raises(CorruptRecordError):
        decode(text[: data.draw(st.integers(0, len(text) - 1))])


def test_a_record_that_nobody_could_read_is_not_written() -> None:
    with pytest.raises(CorruptRecordError):
        encode(record(ratio=Fraction(1, 2**1025)))
    with pytest.raises(CorruptRecordError):
        encode(record(winner="w" * MAX_RECORD_BYTES))
