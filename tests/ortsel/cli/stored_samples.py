"""Stores with decisions of this machine, as tune would have left them."""

import json
import time
from fractions import Fraction
from pathlib import Path

from ortsel.cli.feeds import make_feeds
from ortsel.cli.lookup import Lookup, look_up
from ortsel.cli.model_inputs import read_inputs
from ortsel.cli.search import SearchOptions, open_session
from ortsel.cli.store_argument import StorePlace
from ortsel.selection_config import SelectionMode
from ortsel.store import direct_store
from spec.canonical_json import canonical
from spec.problem import Scope
from spec.record import Record

WINNER = "cpu:level=basic"


def look(model: Path, store: StorePlace, rows: int = 1) -> Lookup:
    """Ask a store about a model whose input x has open rows of 64 numbers."""
    options = SearchOptions(store=store)
    session = open_session(model, options, SelectionMode.DISABLED)
    inputs = read_inputs(session.get_inputs())
    feeds = make_feeds(inputs, {"x": (rows, 64)}, [], 0)
    return look_up(session, model, feeds, options)


def decide(
    model: Path, store: StorePlace, rows: int = 1, winner: str = WINNER, age_s: int = 60
) -> Record:
    """Store a decision for a shape under the key that a session asks for."""
    found = look(model, store, rows)
    assert winner in json.dumps(found.parts["candidates"]), "pointless unless it is a candidate"
    kept = winner == "reference"
    record = Record(
        found.key,
        Scope.PIPELINE,
        winner,
        "reference",
        int(time.time()) - age_s,
        reference_ns=2_000_000,
        winner_ns=2_000_000 if kept else 1_000_000,
        ratio=Fraction(1) if kept else Fraction(1, 2),
        dispersion=Fraction(0) if kept else Fraction(1, 100),
        blocks=0 if kept else 9,
        verified=True,
        feeds=2,
    )
    place = direct_store(store)
    place.save(record, canonical(json.loads(json.dumps(dict(found.parts)))))
    place.close()
    return record
