"""Vectors are written the same way every time, and never forget what an id means."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from attrs import evolve

from conformance.vectors import AREAS, Question, Script, Vector, load
from conformance.vectors.__main__ import main
from conformance.vectors.authoring.all_vectors import all_vectors
from conformance.vectors.disk import read_index, write, written
from conformance.vectors.index import from_text, to_text
from conformance.vectors.layout import files, meaning, vectors_of

ROOT = Path(__file__).parents[3]
SUITE = ROOT / "conformance"


@pytest.fixture(scope="session")
def vectors() -> tuple[Vector, ...]:
    return all_vectors()


def some(vectors: tuple[Vector, ...]) -> tuple[Vector, ...]:
    return tuple(one for one in vectors if one.id.startswith(("evidence/block/", "cache/bans/")))


def test_the_vectors_on_disk_are_those_that_would_be_written(vectors: tuple[Vector, ...]) -> None:
    assert len(vectors) >= 400
    assert sorted(load(), key=_id) == sorted(vectors, key=_id)


def _id(vector: Vector) -> str:
    return vector.id


@pytest.mark.slow
def test_another_hash_seed_writes_the_same_bytes(vectors: tuple[Vector, ...]) -> None:
    here = {path: text.encode() for path, text in written(vectors).items()}
    program = (
        "import sys;from conformance.vectors.disk import written;"
        "from conformance.vectors.authoring.all_vectors import all_vectors;"
        "sys.stdout.buffer.write('\\0'.join(part for pair in sorted(written(all_vectors())"
        ".items()) for part in pair).encode())"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    there = subprocess.run(
        [sys.executable, "-c", program], env=environment, check=True, capture_output=True
    ).stdout
    parts = there.split(b"\0")
    assert dict(zip([part.decode() for part in parts[::2]], parts[1::2], strict=True)) == here


def test_every_area_has_vectors_and_both_kinds_of_body(vectors: tuple[Vector, ...]) -> None:
    counts = Counter(vector.area for vector in vectors)
    assert set(counts) == set(AREAS)
    assert min(counts.values()) >= 20
    bodies = Counter(type(vector.body) for vector in vectors)
    assert bodies[Question] >= 200
    assert bodies[Script] >= 150


def test_most_scripts_can_be_driven_by_calls_and_those_with_two_requests_at_once_cannot(
    vectors: tuple[Vector, ...],
) -> None:
    scripts = {vector.id: vector.body for vector in vectors if isinstance(vector.body, Script)}
    calling = [one for one in scripts.values() if "calling" in one.styles]
    assert len(calling) > len(scripts) // 2
    assert scripts["selection/busy/same-key"].styles == ("stepping",)
    assert scripts["selection/search/in-full"].styles == ("stepping", "calling")


def test_a_file_reads_back_as_what_was_written(vectors: tuple[Vector, ...]) -> None:
    for path, text in files(vectors).items():
        assert files(vectors_of(path, text)) == {path: text}


def test_writing_twice_changes_nothing(tmp_path: Path, vectors: tuple[Vector, ...]) -> None:
    few = some(vectors)
    assert write(tmp_path, few) == ()
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert len(first) > 2
    assert write(tmp_path, few) == ()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == first


def test_a_vanished_id_is_refused_and_nothing_is_written(
    tmp_path: Path, vectors: tuple[Vector, ...]
) -> None:
    few = some(vectors)
    write(tmp_path, few)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    assert write(tmp_path, few[1:]) == (f"{few[0].id}: the id has vanished",)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.json")} == before


def test_a_changed_meaning_is_refused_and_a_changed_comment_is_not(
    tmp_path: Path, vectors: tuple[Vector, ...]
) -> None:
    few = some(vectors)
    write(tmp_path, few)
    reworded = (evolve(few[0], comment="In other words."), *few[1:])
    assert write(tmp_path, reworded) == ()
    moved = (evolve(few[0], holds=("S1",), breaks=()), *few[1:])
    assert meaning(moved[0]) != meaning(few[0])
    (complaint,) = write(tmp_path, moved)
    assert complaint.startswith(few[0].id)


def test_a_file_that_nothing_writes_any_more_is_taken_away(
    tmp_path: Path, vectors: tuple[Vector, ...]
) -> None:
    few = some(vectors)
    write(tmp_path, few)
    stray = tmp_path / "vectors" / "cache" / "stray.json"
    stray.write_text("{}")
    write(tmp_path, few)
    assert not stray.exists()


def test_the_index_reads_back_and_knows_every_vector(vectors: tuple[Vector, ...]) -> None:
    index = read_index(SUITE)
    assert from_text(to_text(index)) == index
    assert {vector.id for vector in vectors} == set(index)


def test_an_unknown_command_says_how_to_use_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["polish"]) == 2
    assert "usage: python -m conformance.vectors write | lint" in capsys.readouterr().err
