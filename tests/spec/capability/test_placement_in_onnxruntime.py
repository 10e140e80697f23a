"""The CPU provider of the installed ONNX Runtime takes the nodes that `place` says (C6)."""

import pytest
from attrs import evolve

from spec.capability import (
    CPU_WHEEL_1_32,
    PRESETS,
    AttentionInput,
    ElementType,
    Operator,
    Provider,
    place,
)
from tests.spec.capability.rule_examples import GQA, MASKED_MHA, MASKED_SELF, PACKED_MHA, call

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")
helper = onnx.helper
ort_errors = pytest.importorskip("onnxruntime.capi.onnxruntime_pybind11_state")

pytestmark = pytest.mark.skipif(
    not onnxruntime.__version__.startswith("1.32."), reason="the facts are those of 1.32"
)

INT32 = onnx.TensorProto.INT32
ONNX_TYPES = {
    ElementType.FLOAT32: onnx.TensorProto.FLOAT,
    ElementType.FLOAT16: onnx.TensorProto.FLOAT16,
    ElementType.BFLOAT16: onnx.TensorProto.BFLOAT16,
}
QKV = (("q", (1, 4, 16)), ("k", (1, 4, 16)), ("v", (1, 4, 16)))
GROWN = (
    ("q", (1, 1, 32)),
    ("k", (1, 1, 16)),
    ("v", (1, 1, 16)),
    ("past_key", (1, 1, 8, 16)),
    ("past_value", (1, 1, 8, 16)),
    ("int32 lengths", (1,)),
    ("int32 total", (1,)),
)
CROSS = (("q", (1, 1, 32)), ("k", (1, 2, 4, 16)), ("v", (1, 2, 4, 16)))
PROJECTED = (("x", (1, 4, 16)), ("w", (16, 48)), ("b", (48,)))
SELF = (
    ("x", (1, 1, 16)),
    ("w", (16, 48)),
    ("b", (48,)),
    ("int32 mask", (1, 8)),
    ("past", (2, 1, 2, 8, 8)),
    ("", ()),
    ("int32 past length", (1,)),
)
TOKENS = (
    ("q", (8, 32)),
    ("k", (8, 32)),
    ("v", (8, 32)),
    ("", ()),
    ("int32 offsets", (1, 8)),
    ("int32 lengths", (2,)),
)
HEADS = {"num_heads": 2}
ONNX_HEADS = {"q_num_heads": 2, "kv_num_heads": 2}

Shapes = tuple[tuple[str, tuple[int, ...]], ...]
"""Names and shapes; an empty name is an absent input, "int32" in front of one is its type."""
NODES: tuple[tuple[AttentionInput, Shapes, dict[str, int], int], ...] = (
    (call(Operator.MULTI_HEAD_ATTENTION, 4, 4), QKV, HEADS, 1),
    (call(Operator.ATTENTION, 4, 4), PROJECTED, HEADS, 1),
    (GQA, GROWN, {"num_heads": 2, "kv_num_heads": 1}, 3),
    (MASKED_MHA, CROSS, HEADS, 1),
    (MASKED_SELF, SELF, {**HEADS, "past_present_share_buffer": 1}, 2),
    (PACKED_MHA, TOKENS, HEADS, 1),
    (call(Operator.ONNX_ATTENTION_23, 4, 4), QKV, ONNX_HEADS, 1),
    (call(Operator.ONNX_ATTENTION_24, 4, 4), QKV, ONNX_HEADS, 1),
    (call(Operator.ONNX_ATTENTION_25, 4, 4), QKV, ONNX_HEADS, 1),
)


def session_starts(
    attention: AttentionInput, shapes: Shapes, attributes: dict[str, int], outputs: int
) -> bool:
    element = ONNX_TYPES[attention.dtype]
    inputs = [
        helper.make_tensor_value_info(name, INT32 if name.startswith("int32") else element, shape)
        for name, shape in shapes
        if name
    ]
    results = [f"y{index}" for index in range(outputs)]
    domain, _, name = attention.operator.value.rpartition(".")
    opset = 21
    if domain == "Attention":
        domain, opset, name = "", int(name), "Attention"
    node = helper.make_node(
        name, [name for name, _ in shapes], results, domain=domain, **attributes
    )
    graph = helper.make_graph(
        [node],
        "one node",
        inputs,
        [helper.make_tensor_value_info(result, element, None) for result in results],
    )
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
    except (ort_errors.NotImplemented, ort_errors.InvalidGraph):
        return False
    return True


@pytest.mark.parametrize("dtype", ONNX_TYPES, ids=lambda dtype: dtype.value)
@pytest.mark.parametrize(
    ("attention", "shapes", "attributes", "outputs"),
    NODES,
    ids=[node[0].operator.value for node in NODES],
)
def test_a_session_starts_exactly_where_the_node_is_placed(
    attention: AttentionInput,
    shapes: Shapes,
    attributes: dict[str, int],
    outputs: int,
    dtype: ElementType,
) -> None:
    typed = evolve(attention, dtype=dtype, cache_dtype=dtype)
    placed = place(typed, PRESETS["x86_avx512"], CPU_WHEEL_1_32)
    assert (placed is not Provider.NOWHERE) == session_starts(typed, shapes, attributes, outputs)
