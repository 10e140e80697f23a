"""`Attention` and `GroupQueryAttention` of ONNX Runtime as sources of rewrites."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from attrs import evolve, frozen
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from ortsel.graph_variants import VariantRefusedError, build_variant, find_attention
from tests.ortsel.graph_variants.attention_models import Array
from tests.ortsel.graph_variants.test_attention_rewrites import (
    REWRITES,
    assert_close,
    built,
    masked_multi_head,
    run,
)

KINDS = {
    "float32": TensorProto.FLOAT,
    "int32": TensorProto.INT32,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}
OF_PACKED = ("math", "memory-efficient", "flash-decode", "multi-head-attention")
OF_GROUPED = ("math", "memory-efficient", "flash-decode")


@frozen
class Packed:
    """A projection with attention: batch, heads, head size, size of a value, tokens, and so on."""

    batch: int = 2
    heads: int = 2
    size: int = 4
    value_size: int = 4
    tokens: int = 3
    past: int | None = None
    mask: str = ""
    """Its rank, or empty for none."""
    bias: bool = True
    addition: bool = False
    causal: bool = False


def packed_model(problem: Packed, seed: int = 0) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return the model with a feed for it."""
    generator = np.random.default_rng(seed)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    hidden, width = problem.heads * problem.size, problem.heads * problem.value_size
    total = problem.tokens + (problem.past or 0)
    weights = {"w": normal(6, 2 * hidden + width)}
    if problem.bias:
        weights["b"] = normal(2 * hidden + width)
    feed: dict[str, Array] = {"x": normal(problem.batch, problem.tokens, 6)}
    inputs = ["x", "w", "b" if problem.bias else "", "", "", ""]
    if problem.mask:
        shapes = {
            "1": (problem.batch,),
            "2": (problem.batch, total),
            "3": (problem.batch, problem.tokens, total),
        }
        top = total + 1 if problem.mask == "1" else 2
        feed["mask"] = generator.integers(0, top, shapes[problem.mask]).astype(np.int32)
        inputs[3] = "mask"
    if problem.past is not None:
        feed["past"] = normal(2, problem.batch, problem.heads, problem.past, problem.size)
        inputs[4] = "past"
    if problem.addition:
        feed["addition"] = normal(1, problem.heads, problem.tokens, total)
        inputs[5] = "addition"
    outputs = ["y"] if problem.past is None else ["y", "present"]
    node = helper.make_node(
        "Attention",
        inputs,
        outputs,
        "attention",
        domain="com.microsoft",
        num_heads=problem.heads,
        qkv_hidden_sizes=[hidden, hidden, width],
        unidirectional=int(problem.causal),
    )
    return _model(node, feed, weights), feed


def _model(
    node: onnx.NodeProto, feed: dict[str, Array], weights: dict[str, Array]
) -> onnx.ModelProto:
    value = helper.make_tensor_value_info
    open_axes = {"x": 1, "q": 1, "past": 3, "past_k": 2, "past_v": 2}

    def sizes(name: str, array: Array) -> list[int | str]:
        axis = open_axes.get(name)
        named = "tokens" if axis == 1 else "cached"
        return [named if index == axis else size for index, size in enumerate(array.shape)]

    graph = helper.make_graph(
        [node],
        "g",
        [value(name, KINDS[array.dtype.name], sizes(name, array)) for name, array in feed.items()],
        [value(name, TensorProto.FLOAT, None) for name in node.output if name],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@st.composite
def packed_problems(draw: st.DrawFn) -> Packed:
    causal = draw(st.booleans())
    past = draw(st.none() | st.integers(0, 4))
    size = draw(st.sampled_from((4, 8)))
    return Packed(
        size=size,
        batch=draw(st.integers(1, 2)),
        tokens=draw(st.integers(1, 5)),
        value_size=size if past is not None else draw(st.sampled_from((size, 5))),
        past=past,
        mask="" if causal else draw(st.sampled_from(("", "1", "2", "3"))),
        bias=draw(st.booleans()),
        addition=not causal and past is None and draw(st.booleans()),
        causal=causal,
    )


@pytest.mark.parametrize("name", OF_PACKED)
@pytest.mark.parametrize("mask", ["", "1", "2", "3"])
def test_a_projection_with_attention_is_taken(name: str, mask: str) -> None:
    variant = built(name, packed_model(Packed(mask=mask))[0])
    assert variant is not None
    assert ("Attention", "com.microsoft") not in {
        (node.op_type, node.domain) for node in variant.graph.node
    }
    causal = built(
        "group-query-attention", packed_model(Packed(size=8, value_size=8, causal=True))[0]
    )
    assert causal is not None


ROTATION = {"cos": np.cos, "sin": np.sin}


@frozen
class Grouped:
    """One `GroupQueryAttention`: batch, heads, heads of keys, head size, new tokens, and so on."""

    lengths: tuple[int, ...] = (5, 3)
    """How many tokens of its cache each row of the batch has."""
    room: int | None = 6
    """Tokens that the cache has room for; None has no cache."""
    tokens: int = 1
    group: int = 2
    key_heads: int = 2
    size: int = 16
    packed: bool = False
    rotary: bool = False
    interleaved: bool = False
    softcap: float = 0.0


def grouped_model(
    problem: Grouped, seed: int = 0, **attributes: Any
) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Return the model with a feed for it."""
    generator = np.random.default_rng(seed)

    def normal(*shape: int) -> Array:
        return generator.standard_normal(shape).astype(np.float32)

    batch, heads = len(problem.lengths), problem.group * problem.key_heads
    hidden, narrow = heads * problem.size, problem.key_heads * problem.size
    feed: dict[str, Array] = {}
    inputs = ["q", "", "", "", "", "lengths", "total", "", ""]
    if problem.packed:
        feed["q"] = normal(batch, problem.tokens, hidden + 2 * narrow)
    else:
        feed["q"] = normal(batch, problem.tokens, hidden)
        feed |= {"k": normal(batch, problem.tokens, narrow)}
        feed |= {"v": normal(batch, problem.tokens, narrow)}
        inputs[1:3] = ["k", "v"]
    before = problem.lengths if problem.room is not None else (0,) * batch
    if problem.room is not None:
        cache = (batch, problem.key_heads, problem.room, problem.size)
        feed |= {"past_k": normal(*cache), "past_v": normal(*cache)}
        inputs[3:5] = ["past_k", "past_v"]
    total = np.array(before, np.int32) + np.int32(problem.tokens)
    feed |= {"lengths": total - np.int32(1), "total": np.array(total.max(), np.int32)}
    weights: dict[str, Array] = {}
    if problem.rotary:
        angles = np.arange(32)[:, None] / np.arange(1, problem.size // 2 + 1)  # in every model
        weights = {name: of(angles).astype(np.float32) for name, of in ROTATION.items()}
        inputs[7:9] = ["cos", "sin"]
    node = helper.make_node(
        "GroupQueryAttention",
        inputs,
        ["y", "present_k", "present_v"],
        "attention",
        domain="com.microsoft",
        num_heads=heads,
        kv_num_heads=problem.key_heads,
        do_rotary=int(problem.rotary),
        rotary_interleaved=int(problem.interleaved),
        softcap=problem.softcap,
        **attributes,
    )
    model = _model(node, feed, weights)
    for value in model.graph.input:
        if value.name in {"k", "v"}:
            value.type.tensor_type.shape.dim[1].dim_param = "tokens"
    return model, feed


@st.composite
def grouped_problems(draw: st.DrawFn) -> Grouped:
    tokens = draw(st.sampled_from((1, 1, 2, 4)))
    cached = draw(st.booleans())
    batch = draw(st.integers(1, 3)) if tokens == 1 or not cached else 1
    lengths = tuple(draw(st.integers(0, 6)) for _ in range(batch))
    # A cache grows by what is new, or has room for it already.
    spare = draw(st.sampled_from((0, tokens, tokens + 2)))
    room = max(lengths) + spare if cached else None
    return Grouped(
        lengths=lengths,
        room=room,
        tokens=tokens,
        group=draw(st.integers(1, 3)),
        key_heads=draw(st.integers(1, 2)),
        packed=draw(st.booleans()),
        rotary=draw(st.booleans()),
        interleaved=draw(st.booleans()),
        softcap=draw(st.sampled_from((0.0, 1.5))),
    )


@given(
    st.one_of(
        packed_problems().map(packed_model),
        grouped_problems().map(grouped_model),
        masked_multi_head(),
    ),
    st.sampled_from((*REWRITES, "onnx-attention")),
)
def test_operators_of_the_runtime_keep_their_outputs(
    problem: tuple[onnx.ModelProto, dict[str, Array]], name: str
) -> None:
    model, feed = problem
    variant = built(name, model)
    if variant is None:
        return
    for got, expected in zip(run(variant, feed), run(model, feed), strict=True):
        # Sums near -10000, where no key is visible, have three digits.
        np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", OF_GROUPED)
@pytest.mark.parametrize("rotary", [True, False])
def test_one_variant_serves_prompts_and_single_tokens(name: str, rotary: bool) -> None:
    problem = Grouped(lengths=(2,), room=5, tokens=3, rotary=rotary)
    variant = built(name, grouped_model(problem)[0])
    assert variant is not None
    assert "GroupQueryAttention" not in {node.op_type for node in variant.graph.node}
    for call in (problem, evolve(problem, tokens=1), evolve(problem, lengths=(0,), room=0)):
        model, feed = grouped_model(call)
        for got, expected in zip(run(variant, feed), run(model, feed), strict=True):
            assert_close(got, expected)


REFUSED: dict[str, dict[str, Any]] = {
    "it has a window": {"local_window_size": 2},
    "its softmax is smoothed": {"smooth_softmax": 1},
    "its scores are an output too": {"qk_output": 1},
    "it is not causal": {"causal": 0},
}


@pytest.mark.parametrize("reason", REFUSED)
def test_a_group_that_has_no_counterpart_is_refused_with_the_reason(
    reason: str, tmp_path: Path
) -> None:
    onnx.save(grouped_model(Grouped(), **REFUSED[reason])[0], tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match=reason):
        build_variant("math", tmp_path / "model.onnx", tmp_path / "v.onnx")


def test_both_are_found(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(packed_model(Packed(mask="2"))[0], path)
    (site,) = find_attention(path)
    assert (site.operator, site.masked) == ("com.microsoft::Attention", True)
    onnx.save(grouped_model(Grouped(packed=True))[0], path)
    (site,) = find_attention(path)
    assert site.operator == "com.microsoft::GroupQueryAttention"
