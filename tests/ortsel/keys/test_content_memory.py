"""A model is hashed once, on this machine, until a file of it changes; counted in bytes read."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto

from ortsel import model_content
from ortsel.content_memory import MOST_BYTES, MOST_FILES, ContentMemory, content_memory
from ortsel.model_content import ModelContent, content_hash, forget_all
from spec.canonical_json import digest
from tests.ortsel.keys.sample_models import model, save_with_external_weights

ROOT = Path(__file__).parents[3]
MEBIBYTE = 2**20


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as settled at once: the two seconds have a test of their own."""
    monkeypatch.setattr(model_content, "_SETTLED_NS", -(10**12))


@pytest.fixture
def memory(tmp_path: Path) -> ContentMemory:
    return content_memory(str(tmp_path / "cache" / "decisions.sqlite3"))


def _large_model(path: Path, size: int) -> None:
    """Save a model of one weight of `size` bytes, all zero, in a file with a hole."""
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[3, size // 12])
    weight.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "weights.bin"), ("length", str(size // 12 * 12))):
        weight.external_data.add(key=key, value=value)
    made = model()
    made.graph.initializer[0].CopyFrom(weight)
    path.parent.mkdir(parents=True)
    path.write_bytes(made.SerializeToString())
    with (path.parent / "weights.bin").open("wb") as file:
        file.truncate(size)


HASH = """
import sys
from pathlib import Path
from ortsel.content_memory import content_memory
from ortsel.model_content import content_hash

def bytes_read():
    return int(Path("/proc/self/io").read_text().split()[1])

path, store = sys.argv[1:]
content_hash(b"what is imported late is imported now")
before = bytes_read()
found = content_hash(path, memory=content_memory(store))
print(found.digest, bytes_read() - before)
"""


def _hash_in_new_process(path: Path, store: Path) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", HASH, str(path), str(store)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    digest, count = done.stdout.split()
    return digest, int(count)


def _check_hashed_once(tmp_path: Path, size: int) -> None:
    path, store = tmp_path / "model" / "m.onnx", tmp_path / "cache" / "s"
    _large_model(path, size)
    time.sleep(2.1)
    first, read = _hash_in_new_process(path, store)
    assert read > size * 9 // 10, "pointless unless the whole file is read at first"
    again, read = _hash_in_new_process(path, store)
    assert again == first
    assert read < 64 * 1024
    with (path.parent / "weights.bin").open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\x01")
    other, read = _hash_in_new_process(path, store)
    assert other != first
    assert read > size * 9 // 10


@pytest.mark.slow
def test_another_process_reads_no_weights_again(tmp_path: Path) -> None:
    _check_hashed_once(tmp_path, 64 * MEBIBYTE)


@pytest.mark.deep
def test_two_gibibytes_are_hashed_once(tmp_path: Path) -> None:
    _check_hashed_once(tmp_path, 2048 * MEBIBYTE)


def _new_process(path: Path, memory: ContentMemory) -> ModelContent:
    """Hash as a process does that remembers nothing itself."""
    forget_all()
    return content_hash(path, memory=memory)


def _files(memory: ContentMemory) -> list[Path]:
    assert memory.folder is not None
    return sorted(memory.folder.iterdir()) if memory.folder.exists() else []


def _forged(memory: ContentMemory) -> str:
    """Make the one thing that is remembered say another digest, and return that."""
    [file] = _files(memory)
    found = json.loads(file.read_bytes())
    del found["check"]
    found["digest"] = "f" * 64
    found["check"] = digest(json.dumps(found, sort_keys=True))
    file.write_text(json.dumps(found, sort_keys=True))
    return "f" * 64


def test_what_was_written_just_now_is_not_remembered(tmp_path: Path, memory: ContentMemory) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    for each in (path, tmp_path / "weights.bin"):
        os.utime(each, ns=(10**18, 10**18))
    first = content_hash(path, memory=memory)
    assert content_hash(path, memory=memory) is not first
    assert _files(memory) == []
    time.sleep(2.1)
    settled = content_hash(path, memory=memory)
    assert content_hash(path, memory=memory) is settled
    [kept] = _files(memory)
    before = kept.read_bytes()
    (tmp_path / "weights.bin").touch()
    assert content_hash(path, memory=memory) == settled
    assert kept.read_bytes() == before


def test_what_another_process_remembered_is_what_serves(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    first = _new_process(path, memory)
    assert _new_process(path, memory) == first
    forged = _forged(memory)
    assert _new_process(path, memory).digest == forged, "pointless unless memory is asked"
    assert _new_process(path, memory).external == ("weights.bin",)
    assert _new_process(path, ContentMemory(None)) == first


def _rewritten(path: Path) -> None:
    """Change a byte, and set the time of modification back."""
    before = path.stat()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    with path.open("r+b") as file:
        file.write(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino, after.st_dev) == (
        before.st_size,
        before.st_mtime_ns,
        before.st_ino,
        before.st_dev,
    )


def _replaced(path: Path) -> None:
    before = path.stat()
    shutil.copy(path, path.with_name("copy"))
    os.utime(path.with_name("copy"), ns=(before.st_atime_ns, before.st_mtime_ns))
    path.with_name("copy").rename(path)


def _longer(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"\n\0")


@pytest.mark.parametrize("change", [_rewritten, _replaced, _longer, Path.touch])
@pytest.mark.parametrize("name", ["m.onnx", "weights.bin"])
def test_every_change_of_any_file_forgets(
    tmp_path: Path,
    memory: ContentMemory,
    no_waiting: None,
    change: Callable[[Path], None],
    name: str,
) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    content_hash(path, memory=memory)
    forged = _forged(memory)
    assert _new_process(path, memory).digest == forged, "pointless unless it is remembered"
    change(tmp_path / name)
    assert content_hash(path, memory=memory).digest != forged, "in this process"
    forget_all()
    assert content_hash(path, memory=memory).digest != forged, "in another"


def test_another_file_of_weights_under_the_same_model_forgets(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    content_hash(path, memory=memory)
    forged = _forged(memory)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(model_content.UnknownContentError):
        _new_process(path, memory)
    save_with_external_weights(model(), path, "weights.bin")
    assert _new_process(path, memory).digest != forged


def test_the_way_of_asking_is_part_of_what_is_remembered(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    plain = content_hash(path, memory=memory)
    named = content_hash(path, node_names=True, memory=memory)
    elsewhere = content_hash(path, tmp_path / "other", memory=memory)
    assert plain.digest != named.digest
    assert plain == elsewhere
    assert len(_files(memory)) == 3
    forget_all()
    assert content_hash(path, node_names=True, memory=memory) == named
    assert content_hash(path, memory=memory) == plain


def test_damage_of_any_kind_costs_one_more_hash(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    first = content_hash(path, memory=memory)
    [file] = _files(memory)
    sound = file.read_bytes()
    source = random.Random(3)
    damaged = [sound[:cut] for cut in range(0, len(sound), 7)]
    for _ in range(300):
        changed = bytearray(sound)
        changed[source.randrange(len(sound))] = source.randrange(256)
        damaged.append(bytes(changed))
    damaged += [b"[" * 100_000, b"1" * 10_000, b"null", b"{}", b"\xff\xfe", b"x" * (MOST_BYTES + 9)]
    for data in damaged:
        file.write_bytes(data)
        assert _new_process(path, memory) == first
        assert data == sound or file.read_bytes() == sound, "it is written anew"


def test_what_is_no_file_is_not_read(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    first = content_hash(path, memory=memory)
    [file] = _files(memory)
    (tmp_path / "elsewhere").write_bytes(file.read_bytes())
    makers: list[Callable[[], object]] = [
        lambda: os.mkfifo(file),
        lambda: file.symlink_to(tmp_path / "elsewhere"),
        lambda: file.symlink_to("/dev/zero"),
    ]
    for make in makers:
        file.unlink()
        make()
        assert _new_process(path, memory) == first
        assert file.is_file()
        assert not file.is_symlink(), "it is replaced"
    file.unlink()
    file.mkdir()
    assert _new_process(path, memory) == first


def test_where_nothing_can_be_kept_nothing_is_remembered(tmp_path: Path, no_waiting: None) -> None:
    (tmp_path / "file").write_text("mine")
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    memory = content_memory(str(tmp_path / "file" / "s"))
    assert _new_process(path, memory) == _new_process(path, memory)
    assert (tmp_path / "file").read_text() == "mine"


def test_only_so_many_models_are_remembered(
    tmp_path: Path, memory: ContentMemory, no_waiting: None
) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(model(), path)
    for number in range(MOST_FILES + 3):
        content_hash(path, tmp_path / str(number), memory=memory)
    assert len(_files(memory)) == MOST_FILES
    assert {file.suffix for file in _files(memory)} == {".json"}
    assert {file.stat().st_mode & 0o777 for file in _files(memory)} == {0o600}


def test_a_store_in_memory_leaves_nothing_behind_and_a_server_s_is_local() -> None:
    assert content_memory(None).folder is None
    folder = content_memory("postgresql://u:hidden@host/d").folder
    assert folder == content_memory("default").folder
    assert folder is not None
    assert "hidden" not in str(folder)


@pytest.mark.usefixtures("no_waiting")
def test_what_was_hashed_without_a_memory_is_remembered_by_the_next_who_has_one(
    tmp_path: Path, memory: ContentMemory
) -> None:
    path = tmp_path / "model.onnx"
    save_with_external_weights(model(), path, "weights.bin")
    content = content_hash(path)
    assert memory.folder is not None
    assert not memory.folder.exists()
    assert content_hash(path, memory=memory) == content
    [file] = memory.folder.iterdir()
    file.unlink()
    assert content_hash(path, memory=memory) == content
    assert list(memory.folder.iterdir()) == [], "once is enough"
