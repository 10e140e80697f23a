"""The demonstration on its real model."""

import json
import time
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import pytest

from ortsel.cli.demo import PACKAGE, demo_feeds, model_path
from ortsel.cli.search import SearchOptions, open_session
from ortsel.selection_config import SelectionMode
from ortsel.store.sqlite_store import SqliteStore
from spec.problem import Scope
from spec.record import Record
from tests.ortsel.cli.conftest import Start, hold_something

pytestmark = [
    pytest.mark.zoo,
    pytest.mark.skipif(find_spec(PACKAGE) is None, reason="the demo's model is not installed"),
]


def test_the_demos_inputs_are_a_sentence() -> None:
    feeds = demo_feeds()
    ids = feeds["input_ids"]
    assert {array.shape for array in feeds.values()} == {(1, 128)}
    assert (ids[0, 0], ids[0, -1]) == (101, 102)
    assert int(ids.max()) < 30_522
    assert set(feeds["attention_mask"].ravel().tolist()) == {1}


@pytest.mark.slow
@pytest.mark.parametrize(
    "winner", ["cpu:threads=1", pytest.param("reference", marks=pytest.mark.deep)]
)
def test_the_demo_serves_what_the_store_holds_and_compares(
    start: Start, tmp_path: Path, winner: str
) -> None:
    store = tmp_path / "decisions.sqlite3"
    hold_something(store)
    session = open_session(model_path(), SearchOptions(store=store), SelectionMode.CACHE_ONLY)
    session.run(None, demo_feeds())
    (explained,) = session.explain().workloads
    place = SqliteStore(store)
    place.save(
        Record(
            explained.key, Scope.PIPELINE, winner, "reference", int(time.time()),
            reference_ns=2000, winner_ns=1900, ratio=Fraction(19, 20), dispersion=Fraction(0),
            blocks=8, verified=True, feeds=1,
        ),
        "",
    )  # fmt: skip
    place.close()
    process = start("demo", "--store", store, "--json")
    out, err = process.communicate(timeout=200)
    assert process.returncode == 0, err
    document = json.loads(out)
    served = document["served"]
    assert document["decision"]["source"] == "stored"
    assert document["decision"]["plan"] == winner
    assert (served["plan"], served["source"]) == (winner, "stored")
    assert len(served["block_ratios"]) == 8
    assert served["largest_difference"] < 1e-4
    assert served["reference_ms"] > 0
    assert served["served_ms"] > 0
