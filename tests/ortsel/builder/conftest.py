"""A tiny real model, specs for it, and the command in a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).parents[3]
NO_CANDIDATES = "[attention-variant]"
"""The model has no attention, so that the reference is the only candidate: nothing to wait for."""

WriteSpec = Callable[..., Path]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """y = w[x]: any number of rows of a table of four, and an error for any other."""
    table = np.arange(12, dtype=np.float32).reshape(4, 3)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["w", "x"], ["y"])],
        "rows",
        [helper.make_tensor_value_info("x", TensorProto.INT64, ["n"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 3])],
        [numpy_helper.from_array(table, "w")],
    )
    path = tmp_path / "rows.onnx"
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(made, path)
    return path


@pytest.fixture
def write_spec(tmp_path: Path, model: Path) -> WriteSpec:
    """Write a spec for the model with these sizes, in the folder of the test."""

    def write(sizes: object, **top: object) -> Path:
        path = tmp_path / "spec.yaml"
        values = {"candidates": NO_CANDIDATES, "budget": "3s", "output": "out"} | top
        lines = [f"{name}: {value}" for name, value in values.items()]
        lines += ["models:", f"  - path: {model.name}", f"    shapes: {{n: {sizes}}}"]
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start the command in a process of its own."""

    def run(*arguments: object) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "ortsel.cli", "build", *(str(one) for one in arguments)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run


def journal_entries(output: Path) -> list[dict[str, Any]]:
    """Return the journal's lines; none where there is no journal yet."""
    path = output / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]
