"""Canonical JSON: one text for one value (K2)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from immutables import Map

from spec import InvalidValue
from spec.canonical_json import LARGEST_INTEGER, MAX_DEPTH, Json, canonical, freeze, text_array

texts = st.text(st.characters(codec="utf-8"), max_size=8)
integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)


def values() -> SearchStrategy[Json]:
    leaves: SearchStrategy[Json] = st.one_of(st.none(), st.booleans(), integers, texts)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    )


@given(values())
def test_a_value_is_read_back_as_it_was(value: Json) -> None:
    assert json.loads(canonical(value)) == value


@given(values())
def test_freezing_changes_nothing_of_the_text(value: Json) -> None:
    assert canonical(freeze(value)) == canonical(value)


@given(st.lists(texts))
def test_an_array_of_texts_is_written_like_any_array(names: list[str]) -> None:
    assert text_array(names) == canonical(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"\uffff": 1, "\U0001f600": 2}, '{"\U0001f600":2,"\uffff":1}'),
        ('\x00\x1f\b\t\n\f\r"\\/\x7f\u2028', '"\\u0000\\u001f\\b\\t\\n\\f\\r\\"\\\\/\x7f\u2028"'),
        (-0, "0"),
        (LARGEST_INTEGER, "9007199254740991"),
        (Map(), "{}"),
        ((), "[]"),
    ],
)
def test_texts_are_those_of_rfc_8785(value: Json, text: str) -> None:
    assert canonical(value) == text


@pytest.mark.parametrize(
    "value",
    [
        0.5,
        float("nan"),
        LARGEST_INTEGER + 1,
        -LARGEST_INTEGER - 1,
        "\ud800",
        {"\ud800": 1},
        {1: 2},
        b"bytes",
        bytearray(b"bytes"),
        object(),
        {"deep": [0.1]},
    ],
)
def test_what_two_languages_may_write_differently_is_refused(value: Json) -> None:
    with pytest.raises(InvalidValue, match="need"):
        canonical(freeze(value))


def test_nesting_is_bounded_and_the_bound_itself_is_allowed() -> None:
    def nested(levels: int) -> Json:
        value: Json = 1
        for _ in range(levels):
            value = [value]
        return value

    assert canonical(freeze(nested(MAX_DEPTH))).startswith("[[")
    with pytest.raises(InvalidValue, match="depth"):
        canonical(freeze(nested(MAX_DEPTH + 1)))
    with pytest.raises(InvalidValue, match="depth"):
        canonical(freeze(nested(500)))


def test_a_frozen_value_no_longer_follows_its_source() -> None:
    source: dict[str, Json] = {"list": [1]}
    frozen = freeze(source)
    source["list"] = [2]
    assert canonical(frozen) == '{"list":[1]}'
