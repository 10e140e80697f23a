"""Attention is found in the forms that exporters write, and only there."""

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.graph_variants import UnreadableModelError, find_attention
from tests.ortsel.graph_variants.attention_models import (
    Attention,
    multi_head_attention,
    onnx_attention,
)

ZOO = Path(__file__).parents[3].parent / "shared" / "zoo"

Nodes: TypeAlias = list[onnx.NodeProto]
node = helper.make_node


def searched(
    nodes: Nodes, tmp_path: Path, functions: list[onnx.FunctionProto] | None = None
) -> Any:
    """Find attention in a model of these nodes from q, k, v, mask and weights w to y."""
    value = helper.make_tensor_value_info
    shapes: dict[str, list[int | str]] = {
        "q": ["batch", 2, "queries", 8],
        "k": ["batch", 2, "keys", 8],
        "v": ["batch", 2, "keys", 8],
        "mask": ["batch", 1, "queries", "keys"],
    }
    constants = {
        "w": np.ones((8, 8), np.float32),
        "c": np.array(0.5, np.float32),
        "b": np.array(False),
        "kt": np.array([0, 1, 3, 2]),
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [value(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    path = tmp_path / "model.onnx"
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9, functions=functions)
    onnx.save(model, path)
    return find_attention(path)


def product(a: str, b: str, y: str, name: str = "") -> onnx.NodeProto:
    return node("MatMul", [a, b], [y], name)


TRANSPOSED = node("Transpose", ["k"], ["kt_"], perm=[0, 1, 3, 2])
SCORES = product("q", "kt_", "s", "scores")
END = [node("Softmax", ["p"], ["a"], "softmax", axis=-1), product("a", "v", "y", "values")]

FORMS: dict[str, tuple[Nodes, bool]] = {
    "scale after, by Div": ([TRANSPOSED, SCORES, node("Div", ["s", "c"], ["p"]), *END], False),
    "scale after, by Mul from the left": (
        [TRANSPOSED, SCORES, node("Mul", ["c", "s"], ["p"]), *END],
        False,
    ),
    "scale on the query": (
        [TRANSPOSED, node("Mul", ["q", "c"], ["qs"]), product("qs", "kt_", "p"), *END],
        False,
    ),
    "scale on both sides": (
        [
            node("Mul", ["q", "c"], ["qs"]),
            TRANSPOSED,
            node("Mul", ["kt_", "c"], ["ks"]),
            product("qs", "ks", "p"),
            *END,
        ],
        False,
    ),
    "added mask": ([TRANSPOSED, SCORES, node("Add", ["mask", "s"], ["p"]), *END], True),
    "chosen mask": (
        [
            TRANSPOSED,
            SCORES,
            node("Cast", ["mask"], ["m"], to=TensorProto.BOOL),
            node("Where", ["m", "s", "c"], ["p"]),
            *END,
        ],
        True,
    ),
    "soft cap": (
        [
            TRANSPOSED,
            SCORES,
            node("Div", ["s", "c"], ["d"]),
            node("Tanh", ["d"], ["t"]),
            node("Mul", ["t", "c"], ["p"]),
            *END,
        ],
        False,
    ),
    "NaN rows replaced": (
        [
            TRANSPOSED,
            product("q", "kt_", "p"),
            node("Softmax", ["p"], ["a0"], axis=-1),
            node("IsNaN", ["a0"], ["n"]),
            node("Where", ["n", "c", "a0"], ["a"]),
            product("a", "v", "y"),
        ],
        False,
    ),
    "equations": (
        [
            node("Einsum", ["q", "k"], ["p"], equation="bhid,bhjd->bhij"),
            node("Softmax", ["p"], ["a"], axis=3),
            node("Einsum", ["a", "v"], ["y"], equation="bhij,bhjd->bhid"),
        ],
        False,
    ),
    "half precision softmax": (
        [
            TRANSPOSED,
            SCORES,
            node("Cast", ["s"], ["p"], to=TensorProto.DOUBLE),
            node("Softmax", ["p"], ["a0"], axis=-1),
            node("Cast", ["a0"], ["a"], to=TensorProto.FLOAT),
            node("Dropout", ["a"], ["a1"]),
            product("a1", "v", "y"),
        ],
        False,
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_exported_form_is_found_once(form: str, tmp_path: Path) -> None:
    nodes, masked = FORMS[form]
    (site,) = searched(nodes, tmp_path)
    assert site.operator == "unfused"
    assert site.masked is masked
    assert site.query.shape == ("batch", 2, "queries", 8)
    assert site.value.name == "v"


def test_a_site_names_its_nodes_and_operands(tmp_path: Path) -> None:
    (site,) = searched([TRANSPOSED, SCORES, node("Div", ["s", "c"], ["p"]), *END], tmp_path)
    assert site.nodes == ("scores", "softmax", "values")
    assert (site.query.name, site.key.name, site.value.name) == ("q", "kt_", "v")
    assert site.key.shape == ("batch", 2, 8, "keys")


NOT_ATTENTION: dict[str, Nodes] = {
    "a classifier": [product("q", "w", "p"), node("Softmax", ["p"], ["y"], axis=-1)],
    "scores of weights": [product("q", "w", "p"), *END],
    "scores of weights behind a cast": [
        node("Cast", ["w"], ["wc"], to=TensorProto.FLOAT),
        product("q", "wc", "p"),
        *END,
    ],
    "a projection of probabilities": [
        TRANSPOSED,
        product("q", "kt_", "p"),
        node("Softmax", ["p"], ["a"], axis=-1),
        product("w", "a", "y"),
    ],
    "another axis": [
        TRANSPOSED,
        product("q", "kt_", "p"),
        node("Softmax", ["p"], ["a"], axis=1),
        product("a", "v", "y"),
    ],
    "pooling": [
        TRANSPOSED,
        product("q", "kt_", "p"),
        node("Softmax", ["p"], ["a"], axis=-1),
        node("ReduceSum", ["a"], ["y"]),
    ],
}


@pytest.mark.parametrize("form", NOT_ATTENTION)
def test_what_only_resembles_attention_is_not_found(form: str, tmp_path: Path) -> None:
    assert "Softmax" in {one.op_type for one in NOT_ATTENTION[form]}, "pointless without one"
    assert searched(NOT_ATTENTION[form], tmp_path) == ()


def test_attention_in_a_branch_and_in_a_function_is_found(tmp_path: Path) -> None:
    chain = [TRANSPOSED, product("q", "kt_", "p"), *END]
    outside = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    branch = helper.make_graph(chain, "branch", [], [outside])
    assert (
        len(searched([node("If", ["b"], ["y"], then_branch=branch, else_branch=branch)], tmp_path))
        == 2
    )
    body = helper.make_function(
        "local", "F", ["q", "k", "v"], ["y"], chain, [helper.make_opsetid("", 17)]
    )
    assert len(searched([node("F", ["q", "k", "v"], ["y"], domain="local")], tmp_path, [body])) == 1


@pytest.mark.parametrize(
    ("build", "operator"),
    [
        (multi_head_attention, "com.microsoft::MultiHeadAttention"),
        (onnx_attention, "Attention"),
    ],
)
def test_fused_operators_are_found(
    build: Callable[..., onnx.ModelProto], operator: str, tmp_path: Path
) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(build(Attention(heads=2, head_size=8), opset=23), path)
    (site,) = find_attention(path)
    assert site.operator == operator
    assert site.nodes == ("attention",)
    assert site.key is not None
    assert site.key.shape == ("k_batch", "k_length", 16)
    assert not site.masked


def test_the_runtimes_own_format_and_rubbish_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x18\0\0\0ORTM" + bytes(64))
    with pytest.raises(UnreadableModelError, match="in ONNX Runtime's own format"):
        find_attention(path)
    path.write_bytes(b"\xff\xffno model\xff")
    with pytest.raises(UnreadableModelError, match="can't be read: DecodeError"):
        find_attention(path)


@pytest.mark.zoo
def test_every_attention_of_the_zoo_is_found_and_nothing_else() -> None:
    """The catalogue counts them by hand: "unfused, 6x", "FUSED ms:Attention, 3x", "none"."""
    if not (ZOO / "zoo.py").exists():
        pytest.skip(f"no model zoo at {ZOO}")
    sys.path.insert(0, str(ZOO))
    try:
        zoo: Any = importlib.import_module("zoo")
    finally:
        sys.path.remove(str(ZOO))
    counted = found = models = 0
    for entry in zoo.entries():
        path = Path(zoo.model_path(entry)) if entry.get("relpath") else None
        if path is None or path.suffix == ".ort" or not path.exists():
            continue
        attention = entry["attention"]
        expected = 0
        if "fused" in attention.lower():
            expected = int(attention.partition("x")[0].rpartition(" ")[2])
        try:
            sites = find_attention(path)
        except UnreadableModelError:
            assert expected == 0, path
            continue
        assert len(sites) == expected, (path, attention)
        models, counted, found = models + 1, counted + expected, found + len(sites)
    if not counted:
        pytest.skip("no model with attention is installed")
    assert found == counted
    assert models > 1, "pointless unless models without attention are among them"
