"""Small real models, and ways of running the command on them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path

import click.testing
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.cli.app import app
from ortsel.store import SqliteStore
from spec.problem import Scope
from spec.record import Record
from tests.ortsel.store.conftest import database, postgres

ROOT = Path(__file__).parents[3]

Invoke = Callable[..., click.testing.Result]
Start = Callable[..., "subprocess.Popen[str]"]


__all__ = ["database", "postgres"]


def hold_something(store: Path) -> None:
    """Put some other model's decision into a store: of an empty one no session asks for its key."""
    place = SqliteStore(store)
    place.save(
        Record(
            "0" * 64, Scope.PIPELINE, "reference", "reference", int(time.time()),
            reference_ns=1, winner_ns=1, ratio=Fraction(1), dispersion=Fraction(0), blocks=0,
            verified=True,
        ),
        "",
    )  # fmt: skip
    place.close()


def save_model(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    weights: Sequence[onnx.TensorProto] = (),
) -> Path:
    """Save a checked model."""
    graph = helper.make_graph(list(nodes), "graph", list(inputs), list(outputs), list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


@pytest.fixture
def dense(tmp_path: Path) -> Path:
    """A few matrix products on rows of 64 numbers; the number of rows is open."""
    generator = np.random.default_rng(0)
    weights, nodes, name = [], [], "x"
    for layer in range(3):
        values = generator.standard_normal((64, 64)).astype(np.float32) / 8
        weights.append(numpy_helper.from_array(values, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [name, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Tanh", [f"m{layer}"], [f"y{layer}"]))
        name = f"y{layer}"
    row: list[str | int | None] = ["batch", 64]
    return save_model(
        tmp_path / "dense.onnx",
        nodes,
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, row)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, row)],
        weights,
    )


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    """Two integer inputs that share open sizes, and a scalar."""
    shape = ["batch", "sequence"]
    integers = TensorProto.INT64
    return save_model(
        tmp_path / "tokens.onnx",
        [
            helper.make_node("Mul", ["ids", "mask"], ["kept"]),
            helper.make_node("Add", ["kept", "offset"], ["out"]),
        ],
        [
            helper.make_tensor_value_info("ids", integers, shape),
            helper.make_tensor_value_info("mask", integers, shape),
            helper.make_tensor_value_info("offset", integers, []),
        ],
        [helper.make_tensor_value_info("out", integers, shape)],
    )


@pytest.fixture
def random_model(tmp_path: Path) -> Path:
    """A model whose outputs differ from run to run."""
    shape = [4, 4]
    return save_model(
        tmp_path / "random.onnx",
        [
            helper.make_node("RandomNormalLike", ["x"], ["noise"]),
            helper.make_node("Add", ["x", "noise"], ["y"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )


@pytest.fixture
def invoke() -> Invoke:
    """Run the command in this process."""

    def run(*arguments: object) -> click.testing.Result:
        return click.testing.CliRunner().invoke(app, [str(one) for one in arguments])

    return run


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start the command in a process of its own."""

    def run(*arguments: object, **variables: str) -> "subprocess.Popen[str]":
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
        return subprocess.Popen(
            [sys.executable, "-m", "ortsel.cli", *(str(one) for one in arguments)],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return run
