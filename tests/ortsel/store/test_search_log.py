"""The log of searches: what went in comes out, and nothing in the file can hurt."""

import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ortsel.store.errors import (
    CorruptRecordError,
    ForeignStoreError,
    NewerRecordError,
    NewerStoreError,
    UnreadableStoreError,
    UnwritableStoreError,
)
from ortsel.store.search_log import (
    LoggedEntry,
    Searched,
    SearchLog,
    Withdrawn,
    decode,
    encode,
    search_log,
)
from spec.problem import Scope
from spec.report import CandidateReport, Outcome, TrialReport

FRACTIONS = st.builds(Fraction, st.integers(0, 2**200), st.integers(1, 2**200))
CANDIDATES = st.builds(
    CandidateReport,
    name=st.text(max_size=20),
    outcome=st.sampled_from(Outcome),
    blocks=st.integers(0, 2**31),
    ratio=st.none() | FRACTIONS,
    dispersion=st.none() | FRACTIONS,
    verified=st.booleans(),
    first_ns=st.none() | st.integers(0, 2**63 - 1),
    median_ns=st.none() | st.integers(0, 2**63 - 1),
    reason=st.text(max_size=20),
)
REPORTS = st.builds(
    TrialReport,
    key=st.text(max_size=8),
    scope=st.sampled_from(Scope),
    operation=st.text(max_size=8),
    winner=st.text(max_size=8),
    elapsed_ns=st.integers(0, 2**63 - 1),
    budget_exhausted=st.booleans(),
    candidates=st.lists(CANDIDATES, max_size=3).map(tuple),
)
ENTRIES = st.builds(Searched, st.integers(0, 2**40), REPORTS) | st.builds(
    Withdrawn, st.integers(0, 2**40), st.text(), st.text(), st.text()
)
PLAIN = Searched(
    5,
    TrialReport(
        "k", Scope.PIPELINE, "op", "a", 7, False,
        (CandidateReport("a", Outcome.PROMOTED, 2, Fraction(1, 2), Fraction(0), True, 3, 4),),
    ),
)  # fmt: skip


@given(ENTRIES)
def test_what_is_encoded_decodes_to_the_same(entry: Searched | Withdrawn) -> None:
    assert decode(encode(entry)) == entry


@given(st.binary(max_size=40), st.integers(0, 400), st.integers(0, 20))
def test_damage_is_an_error_of_ours_or_still_an_entry(noise: bytes, at: int, cut: int) -> None:
    text = encode(PLAIN)
    damaged = text[:at] + noise.decode("latin-1") + text[at + cut :]
    try:
        entry = decode(damaged)
    except (CorruptRecordError, NewerRecordError):
        return
    assert isinstance(entry, Searched)


@pytest.mark.parametrize(
    "change",
    [
        ("true", "1"),
        ("[1,2]", "0.5"),
        ("[1,2]", "[1,0]"),
        ("[1,2]", f"[1,{2**1100}]"),
        ('"name"', '"nme"'),
        ('"promoted"', '"best"'),
        ('"elapsed_ns":7', '"elapsed_ns":-7'),
        ('"elapsed_ns":7', '"elapsed_ns":7.0'),
        ('"elapsed_ns":7', '"elapsed_ns":NaN'),
        ('"schema":1', '"schema":true'),
        ('"schema":1', '"schema":1,"more":1'),
        ('"reason":""', f'"reason":"{"x" * 5000}"'),
        ("{", "[" * 100_000),
    ],
)
def test_what_no_search_writes_is_refused(change: tuple[str, str]) -> None:
    text = encode(PLAIN)
    assert change[0] in text, "pointless unless something changes"
    with pytest.raises(CorruptRecordError):
        decode(text.replace(*change))


def test_a_later_schema_is_said_to_be_later() -> None:
    with pytest.raises(NewerRecordError):
        decode(encode(PLAIN).replace('"schema":1', '"schema":2'))


def test_the_oldest_leave_beyond_the_capacity(tmp_path: Path) -> None:
    log = SearchLog(tmp_path / "log", capacity=3)
    for created_s in range(5):
        log.save(Withdrawn(created_s, "k", "p", "r"), "{}")
    kept = [one.entry.created_s for one in log.entries() if isinstance(one, LoggedEntry)]
    assert kept == [2, 3, 4]


def test_one_damaged_entry_costs_itself_alone(tmp_path: Path) -> None:
    log = SearchLog(tmp_path / "log")
    log.save(PLAIN, "{}")
    log.save(PLAIN, "{}")
    with sqlite3.connect(log.path) as database:
        database.execute("UPDATE entry SET body = x'ff00' WHERE sequence = 1")
    database.close()
    first, second = log.entries()
    assert isinstance(first, CorruptRecordError)
    assert second == LoggedEntry(PLAIN, "{}")


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE entry (a)")
    database.close()
    before = path.read_bytes()
    log = SearchLog(path)
    with pytest.raises(ForeignStoreError):
        log.save(PLAIN, "{}")
    with pytest.raises(ForeignStoreError):
        list(log.entries())
    assert path.read_bytes() == before


def test_a_file_of_a_later_version_is_left_alone(tmp_path: Path) -> None:
    log = SearchLog(tmp_path / "log")
    log.save(PLAIN, "{}")
    with sqlite3.connect(log.path) as database:
        database.execute("PRAGMA user_version = 2")
    database.close()
    with pytest.raises(NewerStoreError):
        list(log.entries())


def test_what_is_no_database_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(os.urandom(8192))
    with pytest.raises(UnreadableStoreError):
        list(SearchLog(path).entries())
    path.unlink()
    path.mkdir()
    with pytest.raises(UnwritableStoreError):
        SearchLog(path).save(PLAIN, "{}")


def test_nothing_is_read_where_no_file_is(tmp_path: Path) -> None:
    assert list(SearchLog(tmp_path / "log").entries()) == []
    assert not (tmp_path / "log").exists()


def test_a_store_that_is_no_file_has_no_log() -> None:
    assert search_log(None) is None
    assert search_log("postgresql://host/decisions") is None
    found = search_log("/somewhere/decisions.sqlite3")
    assert found is not None
    assert found.path == Path("/somewhere/decisions.sqlite3.searches")


def test_many_may_write_at_once_from_the_first_entry_on(tmp_path: Path) -> None:
    path = tmp_path / "log"

    def write(number: int) -> None:
        SearchLog(path).save(Withdrawn(number, "k", "p", "r"), "{}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    kept = [
        one.entry.created_s for one in SearchLog(path).entries() if isinstance(one, LoggedEntry)
    ]
    assert sorted(kept) == list(range(40))


def test_an_entry_from_before_a_field_was_added_still_reads() -> None:
    text = encode(PLAIN)
    assert '"reason":"",' in text, "pointless unless a field is taken away"
    assert decode(text.replace('"reason":"",', "")) == PLAIN
