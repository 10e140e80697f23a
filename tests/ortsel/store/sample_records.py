"""Records for the tests of the store."""

from fractions import Fraction
from typing import Any

from attrs import evolve
from hypothesis import strategies as st

from spec.problem import Scope
from spec.record import Origin, Record

NOW_S = 1_800_000_000

PLAIN = Record(
    key="k",
    scope=Scope.PIPELINE,
    winner="threads=2",
    reference="reference",
    created_s=NOW_S,
    reference_ns=3_000,
    winner_ns=2_000,
    ratio=Fraction(2, 3),
    dispersion=Fraction(1, 100),
    blocks=8,
    verified=True,
    feeds=2,
)


def record(key: str = "k", **changes: Any) -> Record:
    """Return a plausible record, with changes."""
    return evolve(PLAIN, key=key, **changes)


def records(keys: st.SearchStrategy[str] | None = None) -> st.SearchStrategy[Record]:
    """Draw records of all kinds, with ties in every field that ranks them."""
    large = st.integers(1, 2**200)
    return st.builds(
        Record,
        key=st.text(min_size=1, max_size=8) if keys is None else keys,
        scope=st.sampled_from(Scope),
        winner=st.text(min_size=1, max_size=20),
        reference=st.text(min_size=1, max_size=20),
        created_s=st.one_of(
            st.integers(NOW_S - 700, NOW_S + 700), st.integers(0, 2**40), st.just(NOW_S)
        ),
        reference_ns=st.integers(1, 2**63 - 1),
        winner_ns=st.integers(1, 2**63 - 1),
        ratio=st.builds(Fraction, large, large),
        dispersion=st.builds(Fraction, st.integers(0, 2**200), large),
        blocks=st.integers(0, 3),
        verified=st.booleans(),
        feeds=st.integers(0, 2),
        provisional=st.booleans(),
        complete=st.booleans(),
        origin=st.sampled_from(Origin),
    )
