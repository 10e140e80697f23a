"""Long texts and lists in a few characters, and back."""

from hypothesis import given
from hypothesis import strategies as st

from conformance.vectors.shorthand import expanded, shortened
from spec.canonical_json import Json

JSON: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON)
def test_what_is_short_stays_as_it_is(json: Json) -> None:
    assert shortened(json) == json
    assert expanded(json) == json


def test_a_long_text_of_one_character() -> None:
    assert shortened("x" * 5000) == {"$repeat": "x", "$times": 5000}
    assert expanded({"$repeat": "x", "$times": 5000}) == "x" * 5000
    mixed = "x" * 5000 + "y"
    assert shortened(mixed) == mixed


def test_a_long_list_of_numbered_items() -> None:
    items: Json = [{"name": f"k{place}", "size": 0} for place in range(4097)]
    short = shortened(items)
    assert short == {"$each": {"name": "k{n}", "size": 0}, "$times": 4097}
    assert expanded(short) == items


def test_a_long_list_that_is_not_numbered_stays() -> None:
    items: list[Json] = [f"k{place}" for place in range(4097)]
    items[7] = "odd"
    assert shortened(items) == items


def test_it_works_anywhere_inside() -> None:
    json: Json = {"a": [1, {"b": "y" * 300}]}
    assert expanded(shortened(json)) == json
    assert shortened(json) != json
