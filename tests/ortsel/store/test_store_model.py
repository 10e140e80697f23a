"""The store on disk, the store in memory and a plain list of rows, one operation at a time."""

import shutil
import tempfile
from pathlib import Path

import pytest
from attrs import define, evolve
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ortsel.store import MemoryStore, SqliteStore, StoreLimits
from ortsel.store.preference import supersedes
from spec.canonical_json import Json, canonical
from spec.record import Record
from tests.ortsel.store.sample_records import NOW_S, record, records

KEYS = [f"k{number}" for number in range(7)]
MODELS = st.sampled_from(["m", "n"])


@define
class _Row:
    sequence: int
    record: Record
    key_text: str


class StoreMachine(RuleBasedStateMachine):
    """Both stores give what the rows say."""

    @initialize(capacity=st.integers(1, 5), max_age_s=st.sampled_from([300, 10**11]))
    def start(self, capacity: int, max_age_s: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="store-model-"))
        self.limits = StoreLimits(capacity=capacity, max_age_s=max_age_s)
        self.now_s = NOW_S
        self.memory = MemoryStore(self.limits, lambda: self.now_s)
        self.rows: list[_Row] = []
        self.open()

    def open(self) -> None:
        self.disk = SqliteStore(
            self.folder / "s", self.limits, wall_clock_s=lambda: float(self.now_s)
        )

    def teardown(self) -> None:
        if hasattr(self, "disk"):
            self.disk.close()
            shutil.rmtree(self.folder)

    @rule(record=records(st.sampled_from(KEYS)), model=MODELS, workload=st.integers(0, 2))
    def save(self, record: Record, model: str, workload: int) -> None:
        text = canonical({"model": model, "workload": workload})
        self.memory.save(record, text)
        self.disk.save(record, text)
        row = next((row for row in self.rows if row.record.key == record.key), None)
        if row is None:
            sequence = self.rows[-1].sequence + 1 if self.rows else 1
            self.rows.append(_Row(sequence, record, text))
        elif supersedes(record, row.record, self.now_s):
            row.record, row.key_text = record, text
        else:
            return
        oldest_s = self.now_s - self.limits.max_age_s
        self.rows = [row for row in self.rows if row.record.created_s >= oldest_s]
        if self.rows:
            first = self.rows[-1].sequence - self.limits.capacity
            self.rows = [row for row in self.rows if row.sequence > first]

    @rule(key=st.sampled_from(KEYS))
    def remove(self, key: str) -> None:
        self.memory.remove(key)
        self.disk.remove(key)
        self.rows = [row for row in self.rows if row.record.key != key]

    @rule(seconds=st.integers(-400, 400))
    def let_the_clock_jump(self, seconds: int) -> None:
        self.now_s += seconds

    @rule()
    def reopen(self) -> None:
        self.disk.close()
        self.open()

    @rule(model=MODELS, workload=st.integers(0, 2))
    def ask_for_the_nearest(self, model: str, workload: int) -> None:
        parts: dict[str, Json] = {"model": model, "workload": workload}
        found = self.disk.nearest(parts)
        assert found == self.memory.nearest(parts)
        if not self.rows:
            assert found is None
            return
        assert found is not None
        texts = {row.record.key: row.key_text for row in self.rows}
        assert texts[found.stored.record.key] == found.stored.key_text
        if canonical(parts) in texts.values():
            assert found.differing == ()

    @invariant()
    def all_agree(self) -> None:
        if not hasattr(self, "rows"):
            return
        expected = [(row.record, row.key_text) for row in self.rows]
        assert [(one.record, one.key_text) for one in self.disk.records()] == expected
        assert [(one.record, one.key_text) for one in self.memory.records()] == expected
        assert self.disk.has_records() == self.memory.has_records() == bool(expected)
        by_key = {row.record.key: row.record for row in self.rows}
        for key in KEYS:
            assert self.disk.load(key) == self.memory.load(key) == by_key.get(key)


TestStoreMachine = StoreMachine.TestCase


def test_the_machine_would_notice_a_record_that_changed() -> None:
    machine = StoreMachine()
    machine.start(5, 10**11)
    try:
        one = record("k1")
        machine.save(one, "m", 1)
        machine.all_agree()
        machine.disk.save(evolve(one, blocks=one.blocks + 1), "{}")
        with pytest.raises(AssertionError):
            machine.all_agree()
    finally:
        machine.teardown()
