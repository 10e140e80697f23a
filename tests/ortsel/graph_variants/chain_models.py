"""Attention as chains of operators, in the forms that exporters write, with a feed."""

from typing import Any, Final

import numpy as np
import onnx
from attrs import frozen
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.ortsel.graph_variants.attention_models import Array

MASKS: Final = ("none", "added", "added row", "chosen", "hidden", "finite")
SCALES: Final = ("none", "after by Mul", "after by Div", "query", "both")


@frozen
class Chain:
    """How a chain is written, and its sizes."""

    batch: int
    heads: int
    queries: int
    keys: int
    head_size: int
    scale: str
    mask: str
    flat: bool
    """Whether Reshape and Transpose are around it."""
    merged_batch: bool
    """Whether batch and heads are one axis."""
    fused_product: bool
    """Whether the scores are a FusedMatMul with a factor."""


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    """Draw chains."""
    merged = draw(st.booleans())
    return Chain(
        draw(st.integers(1, 2)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 9)),
        draw(st.integers(1, 19)),
        draw(st.sampled_from((4, 8))),
        draw(st.sampled_from(SCALES)),
        draw(st.sampled_from(MASKS)),
        draw(st.booleans()) and not merged,
        merged,
        draw(st.booleans()),
    )


def chain_model(chain: Chain, opset: int = 17) -> onnx.ModelProto:
    """Return the chain over inputs q, k, v and, unless it has none, mask."""
    node = helper.make_node
    nodes: list[onnx.NodeProto] = []
    names = {"q": "q", "k": "k", "v": "v"}
    if chain.flat:
        for name in "qkv":
            nodes += [
                node("Reshape", [name, "split"], [f"{name}_split"]),
                node("Transpose", [f"{name}_split"], [f"{name}_heads"], perm=[0, 2, 1, 3]),
            ]
        nodes[2:4] = [nodes[2]]
        names = {"q": "q_heads", "k": "k_split", "v": "v_heads"}
        permutation = [0, 2, 3, 1]
    else:
        permutation = [0, 2, 1] if chain.merged_batch else [0, 1, 3, 2]
    query, key = names["q"], "kt"
    nodes.append(node("Transpose", [names["k"]], ["kt"], perm=permutation))
    if chain.scale in {"query", "both"}:
        nodes.append(node("Mul", [query, "root"], ["q_scaled"]))
        query = "q_scaled"
    if chain.scale == "both":
        nodes.append(node("Mul", ["kt", "root"], ["k_scaled"]))
        key = "k_scaled"
    if chain.fused_product:
        nodes.append(node("FusedMatMul", [query, key], ["s0"], domain="com.microsoft", alpha=0.5))
    else:
        nodes.append(node("MatMul", [query, key], ["s0"]))
    after = {"after by Mul": ("Mul", "root"), "after by Div": ("Div", "inverse")}.get(chain.scale)
    scores = "s0"
    if after:
        nodes.append(node(after[0], [scores, after[1]], ["s1"]))
        scores = "s1"
    masked = {
        "added": node("Add", [scores, "mask"], ["s2"]),
        "added row": node("Add", ["mask", scores], ["s2"]),
        "chosen": node("Where", ["mask", scores, "hidden"], ["s2"]),
        "hidden": node("Where", ["mask", "hidden", scores], ["s2"]),
        "finite": node("Where", ["mask", scores, "low"], ["s2"]),
    }.get(chain.mask)
    if masked is not None:
        nodes.append(masked)
        scores = "s2"
    nodes += [
        node("Softmax", [scores], ["p"], axis=-1),
        node("MatMul", ["p", names["v"]], ["y_heads" if chain.flat else "y"]),
    ]
    if chain.flat:
        nodes += [
            node("Transpose", ["y_heads"], ["y_tokens"], perm=[0, 2, 1, 3]),
            node("Reshape", ["y_tokens", "joined"], ["y"]),
        ]
    constants: dict[str, Array] = {
        "root": np.array(0.4, np.float32),
        "inverse": np.array([2.5], np.float32),
        "hidden": np.array(-np.inf, np.float32),
        "low": np.array(-1e9, np.float32),
        "split": np.array([0, 0, chain.heads, chain.head_size]),
        "joined": np.array([0, 0, chain.heads * chain.head_size]),
    }
    used = {name for one in nodes for name in one.input}
    value = helper.make_tensor_value_info
    shapes = {name: shape for name, shape in _shapes(chain).items() if name in used}
    graph = helper.make_graph(
        nodes,
        "chain",
        [
            value(
                name,
                TensorProto.BOOL
                if name == "mask" and not chain.mask.startswith("added")
                else TensorProto.FLOAT,
                _open(name, shape),
            )
            for name, shape in shapes.items()
        ],
        [value("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items() if name in used],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def chain_feed(chain: Chain, seed: int = 0) -> dict[str, Array]:
    """Return a seeded feed of the chain's shapes; masks leave the first key to every row."""
    generator = np.random.default_rng(seed)
    feed: dict[str, Any] = {}
    for name, shape in _shapes(chain).items():
        if name != "mask":
            feed[name] = generator.standard_normal(shape).astype(np.float32)
        elif chain.mask.startswith("added"):
            feed[name] = generator.choice([0.0, -10000.0, 0.5], shape).astype(np.float32)
            feed[name][..., 0] = 0.5  # of sums near -10000 alone, float32 keeps three digits
        elif chain.mask != "none":
            visible = generator.random(shape) < 0.6
            visible[..., 0] = True
            feed[name] = ~visible if chain.mask == "hidden" else visible
    return feed


def _shapes(chain: Chain) -> dict[str, tuple[int, ...]]:
    def operand(tokens: int) -> tuple[int, ...]:
        if chain.flat:
            return (chain.batch, tokens, chain.heads * chain.head_size)
        if chain.merged_batch:
            return (chain.batch * chain.heads, tokens, chain.head_size)
        return (chain.batch, chain.heads, tokens, chain.head_size)

    shapes = {
        "q": operand(chain.queries),
        "k": operand(chain.keys),
        "v": operand(chain.keys),
    }
    if chain.mask != "none":
        rows = 1 if chain.mask == "added row" else chain.queries
        leading = () if chain.merged_batch else (chain.batch, 1)
        shapes["mask"] = (*leading, rows, chain.keys)
    return shapes


def _open(name: str, shape: tuple[int, ...]) -> list[str | int]:
    """Leave every axis open but heads and head size, where a model would have numbers."""
    known = {len(shape) - 1} | ({1} if len(shape) == 4 else set())
    if name == "mask":
        known = set()
    return [size if axis in known else f"{name}_{axis}" for axis, size in enumerate(shape)]
