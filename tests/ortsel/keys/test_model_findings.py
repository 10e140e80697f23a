"""What is known of a model is recalled by a second process instead of being looked for again."""

import json
import subprocess
import sys
import time
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from ortsel.candidates.model_traits import read_model_traits
from ortsel.content_memory import ContentMemory
from ortsel.loaded_model import LoadedModel
from ortsel.model_findings import findings_of
from ortsel.random_operators import random_operators


@pytest.fixture
def model(tmp_path: Path) -> Path:
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["noise"]),
        helper.make_node("Add", ["x", "noise"], ["y"]),
    ]
    shape = ["n", None, 3]
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, shape)],
        [value("y", TensorProto.FLOAT, shape)],
    )
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def loaded(model: Path, folder: Path) -> LoadedModel:
    return LoadedModel.of(model, time.time_ns(), ContentMemory(folder))


def test_what_is_recalled_is_what_was_seen(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    first = findings_of(loaded(model, folder))
    assert first.traits == read_model_traits(model)
    assert first.random_operators == random_operators(model) == ("RandomNormalLike",)
    assert list(folder.iterdir()), "pointless unless something was kept"
    assert findings_of(loaded(model, folder)) == first


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("RandomNormalLike", "NothingAtAllHere"),
        lambda text: json.dumps({"check": "", "findings": []}),
        lambda text: "[" * 100_000,
    ],
)
def test_what_is_damaged_is_looked_for_again(model: Path, tmp_path: Path, damage: "object") -> None:
    assert callable(damage)
    folder = tmp_path / "memory"
    first = findings_of(loaded(model, folder))
    files = [path for path in folder.iterdir() if "findings" in path.read_text()]
    assert len(files) == 1
    files[0].write_text(damage(files[0].read_text()))
    assert findings_of(loaded(model, folder)) == first


SECOND = """
import sys, time
from pathlib import Path
from ortsel.content_memory import ContentMemory
from ortsel.loaded_model import LoadedModel
from ortsel.model_findings import findings_of
memory = ContentMemory(Path(sys.argv[2]))
found = findings_of(LoadedModel.of(Path(sys.argv[1]), time.time_ns(), memory))
print(*found.random_operators, "onnx" in sys.modules)
"""


def test_a_second_process_needs_no_parser(model: Path, tmp_path: Path) -> None:
    time.sleep(2.1)  # hashes of files that were just written are not kept

    def run() -> list[str]:
        command = [sys.executable, "-c", SECOND, str(model), str(tmp_path / "memory")]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    assert run() == ["RandomNormalLike", "True"]
    assert run() == ["RandomNormalLike", "False"]
