"""Real models, well behaved and not, for trials with real children."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.plan import Plan, SessionSettings

ROWS, WIDTH = 8, 16
REFERENCE = Plan("reference")
FEED = {"x": np.random.default_rng(7).standard_normal((ROWS, WIDTH)).astype(np.float32)}

SINGLE_THREADED = SessionSettings((("intra_op_num_threads", 1),))


def candidate(variant: str) -> Plan:
    return Plan(variant, settings=SINGLE_THREADED, variant=variant)


def save(
    path: Path,
    nodes: list[onnx.NodeProto],
    outputs: list[onnx.ValueInfoProto],
    constants: dict[str, np.ndarray] | None = None,
    inputs: list[onnx.ValueInfoProto] | None = None,
) -> Path:
    graph = helper.make_graph(
        nodes,
        "graph",
        inputs or [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", WIDTH])],
        outputs,
        [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def floats(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, list(shape))


def weights(width: int = WIDTH) -> np.ndarray:
    return np.random.default_rng(3).standard_normal((width, width)).astype(np.float32)


def linear(path: Path, *, factor: float = 1.0) -> Path:
    """y = x W, with weights off by a factor where one is given."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["y"])]
    constants = {"w": weights() * np.float32(factor)}
    return save(path, nodes, [floats("y", "n", WIDTH)], constants)


def linear_then(path: Path, extra: list[onnx.NodeProto], **constants: np.ndarray) -> Path:
    """x W as "z", then nodes that make "y" of it, whatever its shape and type are."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), *extra]
    return save(path, nodes, [onnx.ValueInfoProto(name="y")], {"w": weights()} | constants)


def transposed(path: Path) -> Path:
    return linear_then(path, [helper.make_node("Transpose", ["z"], ["y"], perm=[1, 0])])


def flattened(path: Path) -> Path:
    return linear_then(path, [helper.make_node("Flatten", ["z"], ["y"], axis=0)])


def doubles(path: Path) -> Path:
    return linear_then(path, [helper.make_node("Cast", ["z"], ["y"], to=TensorProto.DOUBLE)])


def one_nan(path: Path) -> Path:
    """y = x W, but NaN in the last column."""
    mask = np.zeros(WIDTH, np.float32)
    mask[-1] = np.nan
    return linear_then(path, [helper.make_node("Add", ["z", "m"], ["y"])], m=mask)


def replaying(path: Path, answer: np.ndarray) -> Path:
    """Whatever comes in, the same answer goes out."""
    nodes = [
        helper.make_node("Mul", ["x", "zero"], ["nothing"]),
        helper.make_node("Add", ["nothing", "answer"], ["y"]),
    ]
    constants = {"zero": np.zeros((), np.float32), "answer": answer}
    return save(path, nodes, [floats("y", "n", WIDTH)], constants)


def sometimes_wrong(path: Path, seed: float, limit: float = 0.5) -> Path:
    """y = x W, plus one wherever a random number of the session's own stream is above a limit."""
    return linear_then(
        path,
        [
            helper.make_node("RandomUniform", [], ["r"], shape=[1], seed=seed),
            helper.make_node("Greater", ["r", "limit"], ["above"]),
            helper.make_node("Cast", ["above"], ["one"], to=TensorProto.FLOAT),
            helper.make_node("Add", ["z", "one"], ["y"]),
        ],
        limit=np.asarray(limit, np.float32),
    )


def noisy(path: Path) -> Path:
    nodes = [
        helper.make_node("RandomNormalLike", ["x"], ["r"]),
        helper.make_node("Add", ["x", "r"], ["y"]),
    ]
    return save(path, nodes, [floats("y", "n", WIDTH)])


def endless(path: Path) -> Path:
    """A loop of 2**62 rounds before the answer."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_out"]),
            helper.make_node("Add", ["carried", "carried"], ["carried_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            floats("carried", "n", WIDTH),
        ],
        [
            helper.make_tensor_value_info("go_out", TensorProto.BOOL, []),
            floats("carried_out", "n", WIDTH),
        ],
    )
    return linear_then(
        path,
        [helper.make_node("Loop", ["rounds", "", "z"], ["y"], body=body)],
        rounds=np.asarray(2**62, np.int64),
    )


def hungry(path: Path, gigabytes: float) -> Path:
    """Takes so much memory for an intermediate tensor and fills it."""
    return linear_then(
        path,
        [
            helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
            helper.make_node("Expand", ["s", "huge"], ["big"]),
            helper.make_node("ReduceMax", ["big"], ["top"], keepdims=0),
            helper.make_node("Sub", ["top", "s"], ["nothing"]),
            helper.make_node("Add", ["z", "nothing"], ["y"]),
        ],
        huge=np.asarray([int(gigabytes * 2**30 / 4)], np.int64),
    )


def busy(path: Path, width: int = 384, layers: int = 6) -> Path:
    """Matrix products that are large enough for ONNX Runtime to use all its threads."""
    constants = {
        f"w{layer}": weights(width) / np.float32(np.sqrt(width)) for layer in range(layers)
    }
    names = ["x", *(f"h{layer}" for layer in range(layers - 1)), "y"]
    nodes = [
        helper.make_node("MatMul", [names[layer], f"w{layer}"], [names[layer + 1]])
        for layer in range(layers)
    ]
    return save(path, nodes, [floats("y", "n", width)], constants, [floats("x", "n", width)])


def custom_op_library(folder: Path, body: str) -> Path:
    """Compile a custom operator library whose registration does what `body` says."""
    compiler = shutil.which("gcc") or shutil.which("cc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler on this machine")
    source = folder / "library.c"
    source.write_text(
        "#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
        f"void *RegisterCustomOps(void *options, const void *api) {{ {body} return 0; }}\n"
    )
    library = folder / "library.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(library), str(source)], check=True, timeout=60
    )
    return library
