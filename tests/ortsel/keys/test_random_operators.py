"""Operators that draw random numbers are found wherever they are, and nothing else is."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from ortsel.random_operators import DRAWING, random_operators

ZOO = Path(__file__).parents[3].parent / "shared" / "zoo"
FALSE, TRUE = (np.asarray(value) for value in (False, True))


def floats(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])


def booleans(name: str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.BOOL, [])


def node(operator: str, *inputs: str, domain: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(operator, list(inputs), ["y"], None, None, domain, **attributes)


def constant(name: str, value: np.ndarray) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value))


def model_of(
    *nodes: onnx.NodeProto,
    constants: dict[str, np.ndarray] | None = None,
    inputs: tuple[onnx.ValueInfoProto, ...] = (),
    functions: tuple[onnx.FunctionProto, ...] = (),
    opset: int = 17,
) -> bytes:
    named = [numpy_helper.from_array(value, name) for name, value in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", [floats("x"), *inputs], [floats("y")], named)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    opsets.append(helper.make_opsetid("local", 1))
    made = helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)
    return bytes(made.SerializeToString())


def branch(*nodes: onnx.NodeProto, output: str = "y") -> onnx.GraphProto:
    return helper.make_graph(nodes, "branch", [], [floats(output)])


@pytest.mark.parametrize("operator", sorted(DRAWING))
@pytest.mark.parametrize("domain", ["", "com.microsoft", "local"])
def test_an_operator_that_draws_is_named_in_any_domain(operator: str, domain: str) -> None:
    assert random_operators(model_of(node(operator, "x", domain=domain))) == (operator,)


def test_operators_are_named_once_and_in_order() -> None:
    nodes = [node("RandomUniformLike", "x"), node("Bernoulli", "x"), node("Bernoulli", "x")]
    assert random_operators(model_of(*nodes)) == ("Bernoulli", "RandomUniformLike")


def test_a_model_that_draws_nothing_names_nothing() -> None:
    assert random_operators(model_of(node("Relu", "x"), node("If", "x"))) == ()


def test_a_branch_in_the_body_of_a_loop_counts() -> None:
    """A real model: it runs alike again and again, as long as the branch is not taken."""
    drawing = branch(helper.make_node("RandomNormalLike", ["carried"], ["drawn"]), output="drawn")
    still = branch(helper.make_node("Identity", ["carried"], ["same"]), output="same")
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go_on"]),
            helper.make_node(
                "If", ["flag"], ["carried_on"], then_branch=drawing, else_branch=still
            ),
        ],
        "body",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            booleans("go"),
            floats("carried"),
        ],
        [booleans("go_on"), floats("carried_on")],
    )
    data = model_of(
        helper.make_node("Loop", ["rounds", "", "x"], ["y"], body=body),
        constants={"rounds": np.asarray(2, np.int64)},
        inputs=(booleans("flag"),),
    )
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    feed = {"x": np.ones(3, np.float32), "flag": np.asarray(False)}
    assert np.array_equal(session.run(None, feed)[0], feed["x"]), "pointless unless it runs"
    assert random_operators(data) == ("RandomNormalLike",)


def test_a_local_function_counts() -> None:
    opsets = [helper.make_opsetid("", 17)]
    inner = helper.make_node("RandomUniformLike", ["a"], ["b"])
    function = helper.make_function("local", "Noise", ["a"], ["b"], [inner], opsets)
    data = model_of(node("Noise", "x", domain="local"), functions=(function,))
    onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert random_operators(data) == ("RandomUniformLike",)


CONSTANTS = {"ratio": np.asarray(0.5, np.float32), "on": TRUE, "off": FALSE}
POSITIONS = [
    ("Dropout", "", ("x", "ratio")),
    ("BitmaskDropout", "com.microsoft", ("x", "ratio")),
    ("BiasDropout", "com.microsoft", ("x", "x", "", "ratio")),
    ("BitmaskBiasDropout", "com.microsoft", ("x", "x", "", "ratio")),
]


@pytest.mark.parametrize(("operator", "domain", "inputs"), POSITIONS)
def test_dropout_draws_only_in_training(
    operator: str, domain: str, inputs: tuple[str, ...]
) -> None:
    for switch, draws in (("on", True), ("off", False), ("", False), ("flag", True)):
        data = model_of(
            node(operator, *inputs, switch, domain=domain),
            constants=CONSTANTS,
            inputs=(booleans("flag"),),
        )
        assert random_operators(data) == ((operator,) if draws else ()), switch
    data = model_of(node(operator, *inputs, domain=domain), constants=CONSTANTS)
    assert random_operators(data) == ()


@pytest.mark.parametrize(("value", "draws"), [(TRUE, True), (FALSE, False)])
def test_the_switch_of_dropout_may_be_a_constant_node_around_its_graph(
    value: np.ndarray, draws: bool
) -> None:
    inner = branch(node("Dropout", "x", "", "switch"))
    data = model_of(constant("switch", value), node("If", "c", then_branch=inner))
    assert random_operators(data) == (("Dropout",) if draws else ())


def test_a_default_that_a_caller_may_replace_is_no_constant() -> None:
    data = model_of(
        node("Dropout", "x", "", "off"), constants={"off": FALSE}, inputs=(booleans("off"),)
    )
    assert random_operators(data) == ("Dropout",)


@pytest.mark.parametrize(
    ("opset", "attributes", "draws"),
    [(6, {}, True), (6, {"is_test": 0}, True), (6, {"is_test": 1}, False), (7, {}, False)],
)
def test_an_old_dropout_has_an_attribute_or_no_training(
    opset: int, attributes: dict[str, Any], draws: bool
) -> None:
    data = model_of(node("Dropout", "x", **attributes), opset=opset)
    assert random_operators(data) == (("Dropout",) if draws else ())


def test_a_file_is_read_without_its_external_data(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = onnx.load_model_from_string(
        model_of(node("Bernoulli", "x"), constants={"w": np.ones(2000, np.float32)})
    )
    onnx.save(model, path, save_as_external_data=True, location="w.bin")
    (tmp_path / "w.bin").unlink()
    assert random_operators(path) == ("Bernoulli",)


@pytest.mark.parametrize("data", [b"", b"no model", b"\x00\x00\x00\x00ORTM" + bytes(20)])
def test_what_is_no_protobuf_names_nothing(data: bytes) -> None:
    assert random_operators(data) == ()


@pytest.mark.zoo
def test_real_models_draw_nothing() -> None:
    if not (ZOO / "zoo.py").exists():
        pytest.skip(f"no model zoo at {ZOO}")
    sys.path.insert(0, str(ZOO))
    try:
        zoo = importlib.import_module("zoo")
    finally:
        sys.path.remove(str(ZOO))
    files = [Path(zoo.model_path(entry)) for entry in zoo.entries() if entry.get("relpath")]
    there = [file for file in files if file.exists()]
    assert there, "pointless without a model"
    assert {file.name: random_operators(file) for file in there if random_operators(file)} == {}
