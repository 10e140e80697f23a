from ortsel.store.explanation import differing_parts, nearest_of, parse_key_text, plain_parts
from ortsel.store.store import StoredRecord
from spec.canonical_json import Json, canonical
from tests.ortsel.store.sample_records import record

PARTS: dict[str, Json] = {
    "environment": {"cpu": "a", "threads": 2, "gpus": []},
    "model": "m",
    "workload": {"x": [1, 2]},
}


def test_the_same_parts_differ_in_nothing() -> None:
    assert differing_parts(plain_parts(PARTS), parse_key_text(canonical(PARTS))) == ()


def test_parts_of_parts_are_named() -> None:
    other = plain_parts(PARTS | {"environment": {"cpu": "b", "threads": 2, "memory": 1}})
    names = differing_parts(plain_parts(PARTS), other)
    assert names == ("environment.cpu", "environment.gpus", "environment.memory")


def test_true_is_not_one_and_missing_is_not_null() -> None:
    assert differing_parts({"a": 1}, {"a": True}) == ("a",)
    assert differing_parts({"a": None}, {}) == ("a",)


def test_the_nearest_record_has_the_fewest_differing_parts() -> None:
    far = StoredRecord(record("far"), canonical(PARTS | {"model": "n", "workload": {"x": [3, 2]}}))
    near = StoredRecord(record("near"), canonical(PARTS | {"workload": {"x": [1, 3]}}))
    found = nearest_of(PARTS, [far, near])
    assert found is not None
    assert (found.stored.record.key, found.differing) == ("near", ("workload.x",))


def test_one_part_that_differs_in_two_places_is_nearer_than_two_parts() -> None:
    one = StoredRecord(
        record("one"), canonical(PARTS | {"environment": {"cpu": "b", "threads": 3}})
    )
    two = StoredRecord(record("two"), canonical(PARTS | {"model": "n", "workload": 1}))
    found = nearest_of(PARTS, [two, one])
    assert found is not None
    assert found.stored.record.key == "one"


def test_a_record_without_a_key_text_is_never_the_nearest() -> None:
    assert (
        nearest_of(PARTS, [StoredRecord(record(), text) for text in ("", "[]", "{", "1")]) is None
    )
