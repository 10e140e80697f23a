"""Attention written anew gives what it gave, by the reference evaluator in double precision."""

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ortsel.graph_variants import (
    VariantRefusedError,
    build_variant,
    flash_decode,
    memory_efficient,
)
from tests.ortsel.graph_variants.attention_models import (
    Array,
    Attention,
    attention_problems,
    feed_for,
    in_double_precision,
    multi_head_attention,
    onnx_attention,
)
from tests.ortsel.graph_variants.chain_models import Chain, chain_feed, chain_model, chains

CPU = ["CPUExecutionProvider"]
REWRITES = (
    "math",
    "memory-efficient",
    "flash-decode",
    "multi-head-attention",
    "multi-head-attention-4d",
    "group-query-attention",
    "prescaled-query",
)
KEEPS_OPERATORS = (
    "attention-24",
    "group-query-attention",
    "multi-head-attention",
    "multi-head-attention-4d",
    "prescaled-query",
)
OF_CHAINS = tuple(name for name in REWRITES if name not in {"math", "group-query-attention"})


@pytest.fixture(autouse=True)
def few_scores_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that small problems take several turns, the last of which overlaps."""
    monkeypatch.setattr(memory_efficient, "SCORES_AT_ONCE", 24)
    monkeypatch.setattr(memory_efficient, "FEWEST_ROWS", 2)


def built(name: str, model: onnx.ModelProto) -> onnx.ModelProto | None:
    """Return the variant, None where it is refused; the original is untouched."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "model.onnx", Path(folder) / "variant.onnx"
        onnx.save(model, source)
        before = source.read_bytes()
        try:
            build_variant(name, source, target)
        except VariantRefusedError as error:
            return None if error.reason else model
        finally:
            assert source.read_bytes() == before
        return onnx.load(target)


def run(model: onnx.ModelProto, feed: dict[str, Array]) -> list[Any]:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=CPU)
    return list(session.run(None, feed))


def in_doubles(model: onnx.ModelProto, feed: dict[str, Array]) -> list[Any]:
    """Evaluate a model of ONNX's own operators with all its floating-point values in float64."""
    doubled = onnx.ModelProto()
    doubled.CopyFrom(model)
    for value in (*doubled.graph.input, *doubled.graph.output):
        if value.type.tensor_type.elem_type == TensorProto.FLOAT:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for tensor in doubled.graph.initializer:
        if tensor.data_type == TensorProto.FLOAT:
            array = onnx.numpy_helper.to_array(tensor).astype(np.float64)
            tensor.CopyFrom(onnx.numpy_helper.from_array(array, tensor.name))
    wide = {
        name: array.astype(np.float64) if array.dtype == np.float32 else array
        for name, array in feed.items()
    }
    return list(ReferenceEvaluator(doubled).run(None, wide))


def assert_close(got: Any, expected: Any) -> None:
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@given(attention_problems(), st.sampled_from(REWRITES), st.booleans())
def test_operators_keep_their_outputs(problem: Attention, name: str, onnx_operator: bool) -> None:
    if onnx_operator:
        model = onnx_attention(problem)
    else:
        if problem.with_heads and problem.past is not None:
            return  # a cache grows from 3-D keys only
        model = multi_head_attention(problem)
    variant = built(name, model)
    if variant is None:
        return
    feed = feed_for(model, problem)
    for got, exact in zip(run(variant, feed), in_double_precision(problem, feed), strict=True):
        assert_close(got, exact)


@given(chains(), st.sampled_from(OF_CHAINS))
def test_chains_keep_their_outputs(chain: Chain, name: str) -> None:
    model, feed = chain_model(chain), chain_feed(chain)
    variant = built(name, model)
    if variant is None:
        return
    expected = run(model, feed) if chain.fused_product else in_doubles(model, feed)
    assert_close(run(variant, feed)[0], expected[0])


@given(chains().filter(lambda chain: chain.mask.startswith("added")), st.sampled_from(OF_CHAINS))
def test_rows_that_additions_hide_whole_keep_what_float32_keeps_of_them(
    chain: Chain, name: str
) -> None:
    """Scores near -10000 lie 2**-10 apart: an exponent is a few of these off, however summed."""
    model, feed = chain_model(chain), chain_feed(chain)
    feed["mask"][...] = -10000.0
    variant = built(name, model)
    if variant is None:
        return
    expected = run(model, feed) if chain.fused_product else in_doubles(model, feed)
    few_spacings = 4 * 2.0**-10
    np.testing.assert_allclose(run(variant, feed)[0], expected[0], few_spacings, few_spacings)


def test_chains_of_common_forms_are_taken() -> None:
    for scale, mask, flat in itertools.product(
        ("after by Mul", "after by Div", "both"), ("none", "added", "chosen"), (True, False)
    ):
        chain = Chain(1, 2, 3, 8, 4, scale, mask, flat, merged_batch=False, fused_product=False)
        for name in ("memory-efficient", "flash-decode", "prescaled-query"):
            assert built(name, chain_model(chain)) is not None, (name, chain)
        assert built("multi-head-attention", chain_model(chain)) is not None, chain


@st.composite
def masked_attention(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Draw ONNX Attention with masks, causality, caps, groups and caches; rows may see nothing."""
    heads, group = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    batch, tokens, size = draw(st.integers(1, 2)), draw(st.integers(0, 6)), 4
    past = draw(st.none() | st.integers(0, 5))
    causal, lengths = draw(st.booleans()), past is None and draw(st.booleans())
    same = tokens > 0 and (past is not None or draw(st.booleans()))
    keys = tokens if same else draw(st.integers(1, 9))
    total = keys + (past or 0)
    mask = draw(st.sampled_from((None, "bool", "float")))
    mask_rank = draw(st.integers(2, 4))
    generator = np.random.default_rng(draw(st.integers(0, 9)))

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    feed: dict[str, Array] = {
        "q": normal(batch, heads * group, tokens, size),
        "k": normal(batch, heads, keys, size),
        "v": normal(batch, heads, keys, size + 1),
    }
    inputs = ["q", "k", "v", "", "", "", ""]
    if mask is not None:
        shape = ((batch, 1), (1,), ())[4 - mask_rank] + (tokens, total)
        visible = generator.random(shape) < 0.5
        floats = np.where(visible, normal(*shape), np.float32(-np.inf)).astype(np.float32)
        feed["mask"] = visible if mask == "bool" else floats
        inputs[3] = "mask"
    if past is not None:
        feed |= {"pk": normal(batch, heads, past, size), "pv": normal(batch, heads, past, size + 1)}
        inputs[4:6] = ["pk", "pv"]
    if lengths:
        feed["n"] = generator.integers(0, total + 1, batch)
        inputs[6] = "n"
    outputs = ["y", "present_k", "present_v"] if past is not None else ["y"]
    while not inputs[-1]:
        inputs.pop()
    node = helper.make_node(
        "Attention",
        inputs,
        outputs,
        is_causal=int(causal),
        softcap=draw(st.sampled_from((0.0, 1.5))),
    )
    kinds = {"float32": TensorProto.FLOAT, "bool": TensorProto.BOOL, "int64": TensorProto.INT64}
    value = helper.make_tensor_value_info

    def sizes(name: str, array: Array) -> list[int | str]:
        axis = array.ndim - 2
        named = {"q": "new", "k": "new" if keys == tokens else "keys"}.get(name, f"{name}_tokens")
        return [named if index == axis else one for index, one in enumerate(array.shape)]

    graph = helper.make_graph(
        [node],
        "attention",
        [value(name, kinds[array.dtype.name], sizes(name, array)) for name, array in feed.items()],
        [value(name, TensorProto.FLOAT, None) for name in outputs],
    )
    opset = [helper.make_opsetid("", 24)]
    return helper.make_model(graph, opset_imports=opset, ir_version=10), feed


@given(masked_attention(), st.sampled_from((*REWRITES, "attention-24")))
def test_masks_caps_groups_caches_and_lengths_keep_their_meaning(
    problem: tuple[onnx.ModelProto, dict[str, Array]], name: str
) -> None:
    model, feed = problem
    # Operators that stay take no empty queries, before and after.
    assume(feed["q"].size or name not in KEEPS_OPERATORS)
    if name == "attention-24":
        model.opset_import[0].version = 25
    variant = built(name, model)
    if variant is None:
        return
    for got, exact in zip(run(variant, feed), in_doubles(model, feed), strict=True):
        assert_close(got, exact)


MASKS = {
    "none": (),
    "tokens": ("padding",),
    "rows": ("padding",),
    "added": ("addition",),
    "both": ("padding", "addition"),
}


@st.composite
def masked_multi_head(draw: st.DrawFn) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Draw MultiHeadAttention with biases, causality, and masks of tokens, rows and scores."""
    batch, heads, tokens = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 5))
    causal = draw(st.booleans())
    keys = tokens if causal else draw(st.integers(1, 6))
    kind = "none" if causal else draw(st.sampled_from(sorted(MASKS)))
    generator = np.random.default_rng(draw(st.integers(0, 9)))

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    hidden = 8 * heads
    feed = {"q": normal(batch, tokens, hidden)}
    feed |= {name: normal(batch, keys, hidden) for name in "kv"}
    inputs = ["q", "k", "v", "", "", ""]
    if draw(st.booleans()):
        inputs[3], feed["bias"] = "bias", normal(3 * hidden)
    if "padding" in MASKS[kind]:
        shape = (batch, tokens, keys) if kind == "rows" else (batch, keys)
        inputs[4], feed["padding"] = "padding", (generator.random(shape) < 0.6).astype(np.int32)
    if "addition" in MASKS[kind]:
        inputs[5], feed["addition"] = "addition", normal(1, heads, tokens, keys)
    node = helper.make_node(
        "MultiHeadAttention",
        inputs,
        ["y"],
        domain="com.microsoft",
        num_heads=heads,
        unidirectional=int(causal),
    )
    kinds = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32}
    named = {"q": "new", "k": "new" if causal else "keys", "v": "new" if causal else "keys"}
    value = helper.make_tensor_value_info

    def sizes(name: str, array: Array) -> list[int | str]:
        return [
            named[name] if axis == 1 and name in named else n for axis, n in enumerate(array.shape)
        ]

    graph = helper.make_graph(
        [node],
        "attention",
        [value(name, kinds[array.dtype.name], sizes(name, array)) for name, array in feed.items()],
        [value("y", TensorProto.FLOAT, None)],
    )
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10), feed


@pytest.mark.parametrize("name", ["math", "memory-efficient", "flash-decode"])
@pytest.mark.parametrize("rank", [2, 3])
def test_padding_masks_of_multi_head_attention_are_taken(name: str, rank: int) -> None:
    model = multi_head_attention(Attention(queries=3))
    model.graph.node[0].input.extend(["", "padding"])
    model.graph.input.append(
        helper.make_tensor_value_info("padding", TensorProto.INT32, ["b", "q", "k"][-rank:])
    )
    assert built(name, model) is not None


@pytest.mark.parametrize("name", ["math", "memory-efficient", "flash-decode"])
def test_a_row_that_sees_no_key_is_zero_where_it_was(name: str) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Attention", ["q", "k", "v", "m"], ["y"])],
        "g",
        [value(n, TensorProto.FLOAT, [1, 2, n, 4]) for n in "qkv"]
        + [value("m", TensorProto.BOOL, ["q", "k"])],
        [value("y", TensorProto.FLOAT, None)],
    )
    opset = [helper.make_opsetid("", 23)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=10)
    variant = built(name, model)
    assert variant is not None
    feed = {n: np.ones((1, 2, 3, 4), np.float32) for n in "qkv"}
    mask = np.array([[True, False, False], [False] * 3, [True] * 3])
    (got,) = run(variant, feed | {"m": mask})
    assert not got[:, :, 1].any()
    assert (got[:, :, [0, 2]] == 1).all()


@pytest.mark.parametrize("name", ["memory-efficient", "flash-decode"])
def test_a_row_of_a_chain_that_sees_no_key_stays_nan(name: str) -> None:
    chain = Chain(1, 1, 4, 5, 4, "none", "chosen", False, False, False)
    model, feed = chain_model(chain), chain_feed(chain)
    feed["mask"][..., 1, :] = False
    variant = built(name, model)
    assert variant is not None
    expected = run(model, feed)[0]
    assert np.isnan(expected[..., 1, :]).all(), "pointless unless ONNX Runtime gives NaN"
    np.testing.assert_allclose(run(variant, feed)[0], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["memory-efficient", "flash-decode"])
def test_a_chain_that_replaces_nan_by_zero_keeps_doing_so(name: str) -> None:
    chain = Chain(1, 1, 4, 5, 4, "after by Mul", "chosen", False, False, False)
    model, feed = chain_model(chain), chain_feed(chain)
    feed["mask"][..., 1, :] = False
    (product,) = (node for node in model.graph.node if node.input[0] == "p")
    product.input[0] = "guarded"
    model.graph.node.remove(product)
    model.graph.node.extend(
        [
            helper.make_node("IsNaN", ["p"], ["is_nan"]),
            helper.make_node("Where", ["is_nan", "zero", "p"], ["guarded"]),
            product,
        ]
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(0, np.float32), "zero"))
    variant = built(name, model)
    assert variant is not None
    assert "IsNaN" not in {node.op_type for node in variant.graph.node}
    expected = run(model, feed)[0]
    assert not expected[..., 1, :].any(), "pointless unless ONNX Runtime gives zeros"
    assert_close(run(variant, feed)[0], expected)


@pytest.mark.parametrize("name", ["memory-efficient", "flash-decode", "math"])
@pytest.mark.parametrize(("queries", "keys"), [(0, 5), (3, 0), (1, 8), (16, 33), (7, 1)])
def test_lengths_may_differ_from_call_to_call(name: str, queries: int, keys: int) -> None:
    model = onnx_attention(Attention(with_heads=True))
    variant = built(name, model)
    assert variant is not None
    problem = Attention(queries=queries, keys=keys, with_heads=True)
    feed = feed_for(model, problem)
    got = run(variant, feed)[0]
    expected = in_double_precision(problem, feed)[0] if keys else np.zeros(feed["q"].shape)
    assert_close(got, expected)


REFUSED: dict[str, dict[str, Any]] = {
    "its scores are an output too": {"outputs": ["y", "", "", "qk"]},
    "its softmax has a precision of its own": {"softmax_precision": TensorProto.DOUBLE},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_a_rewrite_can_not_keep_is_refused_with_the_reason(
    reason: str, tmp_path: Path
) -> None:
    details = dict(REFUSED[reason])
    outputs = details.pop("outputs", ["y"])
    model = onnx_attention(Attention(with_heads=True), **details)
    del model.graph.node[0].output[:], model.graph.output[:]
    model.graph.node[0].output.extend(outputs)
    model.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs if name
    )
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match=reason):
        build_variant("memory-efficient", tmp_path / "model.onnx", tmp_path / "v.onnx")


def test_a_mask_of_fewer_keys_is_refused(tmp_path: Path) -> None:
    model = onnx_attention(Attention(with_heads=True, keys=5), dynamic=False)
    model.graph.node[0].input.append("mask")
    model.graph.input.append(helper.make_tensor_value_info("mask", TensorProto.BOOL, [1, 4]))
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match="got a mask of 4 keys, need 5"):
        build_variant("math", tmp_path / "model.onnx", tmp_path / "v.onnx")


def test_scores_that_are_an_output_are_not_left_to_another_kernel(tmp_path: Path) -> None:
    model = onnx_attention(Attention(with_heads=True), opset=25)
    model.graph.node[0].output.extend(["", "", "qk"])
    model.graph.output.append(helper.make_tensor_value_info("qk", TensorProto.FLOAT, None))
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match="the scores of Attention attention are an out"):
        build_variant("attention-24", tmp_path / "model.onnx", tmp_path / "v.onnx")


def test_a_head_that_the_kernel_does_not_take_is_refused(tmp_path: Path) -> None:
    problem = Attention(queries=5, head_size=4, with_heads=True)
    onnx.save(onnx_attention(problem, dynamic=False, is_causal=1), tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match="got a head size of 4, need a multiple of 8"):
        build_variant("group-query-attention", tmp_path / "model.onnx", tmp_path / "v.onnx")


def test_a_long_query_is_not_split_over_keys(tmp_path: Path) -> None:
    problem = Attention(queries=flash_decode.MOST_QUERIES + 1, with_heads=True)
    onnx.save(onnx_attention(problem, dynamic=False), tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match="got a query of 17 tokens, need at most 16"):
        build_variant("flash-decode", tmp_path / "model.onnx", tmp_path / "v.onnx")
