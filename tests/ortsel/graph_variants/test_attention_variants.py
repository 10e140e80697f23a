"""Variants of fused attention against attention in double precision, in ONNX Runtime."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from ortsel.graph_variants import VariantRefusedError, build_variant
from ortsel.graph_variants.attention_24 import ensures_lowered
from ortsel.graph_variants.onnx_attention import ensures_replaced
from ortsel.graph_variants.prescaled_query import ensures_prescaled
from ortsel.graph_variants.variant import Census
from tests.ortsel.graph_variants.attention_models import (
    Array,
    Attention,
    attention_problems,
    feed_for,
    in_double_precision,
    multi_head_attention,
    onnx_attention,
)

CPU = ["CPUExecutionProvider"]


def assert_close(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def variant_of(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "variant.onnx"
        onnx.save(model, source)
        build_variant(name, source, target)
        return onnx.load(target)


def run(model: onnx.ModelProto, feed: dict[str, Array]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=CPU)
    return list(session.run(None, feed))


def assert_equal_to_double_precision(
    problem: Attention, original: onnx.ModelProto, variant: onnx.ModelProto
) -> None:
    feed = feed_for(original, problem)
    expected = in_double_precision(problem, feed)
    for outputs in (run(original, feed), run(variant, feed)):
        for got, exact in zip(outputs, expected, strict=True):
            assert got.shape == exact.shape
            assert_close(got, exact)


def only(model: onnx.ModelProto, operator: str) -> onnx.NodeProto:
    found: list[onnx.NodeProto] = [node for node in model.graph.node if node.op_type == operator]
    assert len(found) == 1
    return found[0]


@given(attention_problems())
def test_a_prescaled_query_gives_multi_head_attention_the_same_outputs(problem: Attention) -> None:
    if problem.factor == 1.0:
        problem = evolve(problem, scale=0.25)
    if problem.with_heads:  # a cache grows from 3-D keys only
        problem = evolve(problem, past=None)
    original = multi_head_attention(problem)
    variant = variant_of("prescaled-query", original)
    attention = only(variant, "MultiHeadAttention")
    assert helper.get_node_attr_value(attention, "scale") == 1.0
    assert attention.input[0] == only(variant, "Mul").output[0]
    assert_equal_to_double_precision(problem, original, variant)


@given(attention_problems())
def test_a_prescaled_query_gives_onnx_attention_the_same_outputs(problem: Attention) -> None:
    if problem.factor == 1.0:
        problem = evolve(problem, scale=0.25)
    original = onnx_attention(problem)
    variant = variant_of("prescaled-query", original)
    assert helper.get_node_attr_value(only(variant, "Attention"), "scale") == 1.0
    assert_equal_to_double_precision(problem, original, variant)


@given(attention_problems(with_heads=False))
def test_onnx_attention_gives_the_outputs_of_multi_head_attention(problem: Attention) -> None:
    original = multi_head_attention(problem, opset=23)
    variant = variant_of("onnx-attention", original)
    assert not [node for node in variant.graph.node if node.op_type == "MultiHeadAttention"]
    assert len([node for node in variant.graph.node if node.op_type == "Attention"]) == 1
    assert_equal_to_double_precision(problem, original, variant)


@given(attention_problems(with_heads=True), st.sampled_from((25, 26)))
def test_attention_of_a_newer_operator_set_is_that_of_24(problem: Attention, opset: int) -> None:
    variant = variant_of("attention-24", onnx_attention(problem, opset=opset, left_window_size=-1))
    original = onnx_attention(problem, opset=24)  # ONNX Runtime 1.24 knows no window
    assert {entry.domain: entry.version for entry in variant.opset_import}[""] == 24
    assert [node.op_type for node in variant.graph.node] == ["Attention"]
    assert_equal_to_double_precision(problem, original, variant)


@given(attention_problems(with_heads=True))
def test_joined_rewrites_are_done_in_order(problem: Attention) -> None:
    if problem.factor == 1.0:
        problem = evolve(problem, scale=0.25)
    original = onnx_attention(problem, opset=25)
    variant = variant_of("attention-24+prescaled-query", original)
    assert {entry.domain: entry.version for entry in variant.opset_import}[""] == 24
    assert helper.get_node_attr_value(only(variant, "Attention"), "scale") == 1.0
    assert_equal_to_double_precision(problem, original, variant)


def test_operator_set_25_changes_only_attention_and_element_types() -> None:
    """What the lowering rests on, asked of the schemas of the installed onnx."""

    def form(schema: Any) -> tuple[object, ...]:
        operands = [
            (one.name, one.option, one.is_homogeneous, one.min_arity, one.type_str)
            for one in (*schema.inputs, *schema.outputs)
        ]
        attributes = {
            name: (one.type, one.required, str(one.default_value))
            for name, one in schema.attributes.items()
        }
        return operands, attributes

    def types(schema: Any) -> set[tuple[str, str]]:
        return {
            (one.type_param_str, name)
            for one in schema.type_constraints
            for name in one.allowed_type_strs
        }

    changed = [
        schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if schema.domain == "" and schema.since_version == 25
    ]
    assert len(changed) > 10, "pointless unless onnx knows operator set 25"
    for new in changed:
        if new.name == "Attention":
            continue
        old = onnx.defs.get_schema(new.name, 24, "")
        assert form(old) == form(new), new.name
        assert types(old) < types(new), new.name
        assert all("int2)" in name for _, name in types(new) - types(old)), new.name


@pytest.mark.parametrize("attributes", [{"is_causal": 1}, {"softcap": 2.0}])
def test_what_comes_after_the_scale_is_not_touched(attributes: dict[str, Any]) -> None:
    problem = Attention(keys=4, queries=3, with_heads=True)
    original = onnx_attention(problem, **attributes)
    feed = feed_for(original, problem)
    plain = run(onnx_attention(problem), feed)[0]
    expected = run(original, feed)[0]
    assert np.abs(plain - expected).max() > 1e-3, "pointless unless the attribute matters"
    got = run(variant_of("prescaled-query", original), feed)[0]
    assert_close(got, expected)


def layers(count: int) -> onnx.ModelProto:
    """Residual attention layers, so that shapes are known to ONNX up to the first one only."""
    nodes, last = [], "x"
    for index in range(count):
        nodes += [
            helper.make_node(
                "MultiHeadAttention",
                [last] * 3,
                [f"a{index}"],
                f"attention{index}",
                domain="com.microsoft",
                num_heads=2,
            ),
            helper.make_node("Add", [last, f"a{index}"], [f"h{index}"]),
        ]
        last = f"h{index}"
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "layers",
        [value("x", TensorProto.FLOAT, ["batch", "length", 16])],
        [value(last, TensorProto.FLOAT, ["batch", "length", 16])],
    )
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("name", ["prescaled-query", "onnx-attention"])
def test_every_layer_is_rewritten(name: str) -> None:
    original = layers(3)
    variant = variant_of(name, original)
    operators = [node.op_type for node in variant.graph.node]
    assert operators.count("Mul") == 3
    assert operators.count("Attention") == (3 if name == "onnx-attention" else 0)
    feed = {"x": np.random.default_rng(0).standard_normal((2, 1, 16)).astype(np.float32)}
    assert_close(run(variant, feed)[0], run(original, feed)[0])


def branch_model() -> onnx.ModelProto:
    """The same attention in both branches of an If, on a value of the graph around."""
    value = helper.make_tensor_value_info
    branches = {
        name: helper.make_graph(
            [
                helper.make_node(
                    "Attention", ["q"] * 3, [f"{name}_y"], q_num_heads=2, kv_num_heads=2
                )
            ],
            name,
            [],
            [value(f"{name}_y", TensorProto.FLOAT, None)],
        )
        for name in ("then_branch", "else_branch")
    }
    graph = helper.make_graph(
        [helper.make_node("If", ["c"], ["y"], "if", **branches)],
        "g",
        [
            value("c", TensorProto.BOOL, []),
            value("q", TensorProto.FLOAT, ["batch", "length", 16]),
        ],
        [value("y", TensorProto.FLOAT, ["batch", "length", 16])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def test_attention_in_subgraphs_is_rewritten_too() -> None:
    original = branch_model()
    variant = variant_of("prescaled-query", original)
    for attribute in variant.graph.node[0].attribute:
        assert "Mul" in {node.op_type for node in attribute.g.node}
    query = np.random.default_rng(0).standard_normal((1, 2, 16)).astype(np.float32)
    for branch in (True, False):
        feed = {"c": np.array(branch), "q": query}
        assert_close(run(variant, feed)[0], run(original, feed)[0])


def half_precision() -> onnx.ModelProto:
    model = onnx_attention(Attention())
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model


def with_bias() -> onnx.ModelProto:
    model = multi_head_attention(Attention(), opset=23)
    model.graph.node[0].input.append("bias")
    model.graph.input.append(helper.make_tensor_value_info("bias", TensorProto.FLOAT, [48]))
    return model


def beside(operator: str, opset: int) -> onnx.ModelProto:
    """Attention with another operator behind it."""
    model = onnx_attention(Attention(with_heads=True), opset=opset)
    model.graph.node[0].output[0] = "a"
    model.graph.node.append(helper.make_node(operator, ["a"], ["y"]))
    return model


def beside_two_bits() -> onnx.ModelProto:
    model = beside("Identity", 25)
    model.graph.node.append(helper.make_node("Identity", ["small"], ["small_too"]))
    small = helper.make_tensor("small", TensorProto.UINT2, [4], [0, 1, 2, 3])
    model.graph.initializer.append(small)
    return model


NO_SITE = "prescaled-query: no attention operator"
NOT_SAME = "onnx-attention: no MultiHeadAttention over 3-D"


@pytest.mark.parametrize(
    ("name", "model", "message"),
    [
        ("prescaled-query", onnx_attention(Attention(scale=1.0)), NO_SITE),
        ("prescaled-query", onnx_attention(Attention(queries=2), dynamic=False), NO_SITE),
        ("prescaled-query", half_precision(), NO_SITE),
        ("prescaled-query", with_bias(), NO_SITE),
        ("onnx-attention", multi_head_attention(Attention()), "got operator set 17, need 23 or 24"),
        ("onnx-attention", onnx_attention(Attention()), NOT_SAME),
        ("onnx-attention", multi_head_attention(Attention(with_heads=True), opset=23), NOT_SAME),
        ("onnx-attention", multi_head_attention(Attention(), opset=23, unidirectional=1), NOT_SAME),
        ("onnx-attention", with_bias(), NOT_SAME),
        ("attention-24", onnx_attention(Attention()), "got operator set 23, need a newer one"),
        (
            "attention-24",
            onnx_attention(Attention(with_heads=True), opset=25, left_window_size=2),
            "Attention attention has a window",
        ),
        ("attention-24", beside("Celu", 28), "Celu means something else in operator set 28"),
        ("attention-24", beside_two_bits(), "Identity uses an element type of 2 bits"),
    ],
)
def test_what_would_change_the_meaning_or_gain_nothing_is_refused(
    name: str, model: onnx.ModelProto, message: str
) -> None:
    with pytest.raises(VariantRefusedError, match=message):
        variant_of(name, model)


def test_the_checks_of_the_variants_can_fail() -> None:
    attention = "com.microsoft::MultiHeadAttention"
    before = Census({attention: 2, "Mul": 1})
    assert ensures_prescaled(before, before) == "no query was scaled"
    assert "became 1" in ensures_prescaled(before, Census({attention: 1, "Mul": 2}))
    assert ensures_prescaled(before, Census({attention: 2, "Mul": 3})) == ""
    assert ensures_replaced(before, Census({"Attention": 2})) == ""
    assert "2 MultiHeadAttention went, 1" in ensures_replaced(before, Census({"Attention": 1}))
    assert "0 MultiHeadAttention went" in ensures_replaced(before, before)
    assert ensures_lowered(Census({"Attention": 1}), Census({"Attention": 1})) == ""
    assert ensures_lowered(Census({"Attention": 1}), Census({"Add": 1})) != ""
    assert ensures_lowered(before, before) != ""
