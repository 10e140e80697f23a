"""Models whose weights exceed what one file can hold, and attention in other operators' bodies."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ortsel.graph_variants import VariantRefusedError, build_variant, variant_names
from tests.ortsel.graph_variants.attention_models import Attention, onnx_attention
from tests.ortsel.graph_variants.test_attention_rewrites import assert_close, built, run
from tests.ortsel.graph_variants.test_float_types import half_model

ROWS, WIDTH = 8400, 65536
"""Float32 weights of 2.2 GB."""
ONE_FILE = ("dynamic-int8", "ort-optimizer")
"""Tools that read one file."""


def add_large_weights(model: onnx.ModelProto, folder: Path) -> None:
    """Give a model an output that depends on weights of over 2 GiB, in a sparse file beside it."""
    tensor = TensorProto(name="large", data_type=TensorProto.FLOAT, dims=[ROWS, WIDTH])
    tensor.data_location = TensorProto.EXTERNAL
    size = 4 * ROWS * WIDTH
    for key, text in (("location", "large.bin"), ("offset", "0"), ("length", str(size))):
        entry = tensor.external_data.add()
        entry.key, entry.value = key, text
    with (folder / "large.bin").open("wb") as file:
        file.truncate(size)
        file.seek(4 * WIDTH * (ROWS - 1))
        file.write(np.float32(7).tobytes())
    model.graph.initializer.append(tensor)
    model.graph.input.append(helper.make_tensor_value_info("row", TensorProto.INT64, [1]))
    model.graph.node.append(helper.make_node("Gather", ["large", "row"], ["taken"], axis=0))
    model.graph.output.append(helper.make_tensor_value_info("taken", TensorProto.FLOAT, [1, WIDTH]))


@pytest.mark.deep
@pytest.mark.parametrize("name", [*variant_names(), *variant_names(lossy=True)])
def test_every_variant_takes_weights_over_two_gigabytes_or_says_why_not(
    name: str, tmp_path: Path
) -> None:
    problem = Attention(with_heads=True, queries=5)
    model = onnx_attention(problem, is_causal=1, opset=25 if name == "attention-24" else 23)
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[2].dim_param = "tokens"
    if name == "onnx-attention":
        model = layer("com.microsoft")
    elif name == "float32":
        model = half_model()
    elif name == "ort-fusions":
        model = fusable()
    add_large_weights(model, tmp_path)
    source, target = tmp_path / "model.onnx", tmp_path / "variant.onnx"
    onnx.save(model, source)
    if name in ONE_FILE:
        with pytest.raises(VariantRefusedError, match=r"got 2\d+ bytes of weights, need at most"):
            build_variant(name, source, target)
        return
    build_variant(name, source, target)
    assert target.stat().st_size < 10**6
    assert (tmp_path / "variant.onnx.data").stat().st_size >= 4 * ROWS * WIDTH
    for path in (source, tmp_path / "large.bin"):
        path.unlink()
    session = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"])
    feed: dict[str, Any] = {"row": np.array([ROWS - 1])}
    for value in session.get_inputs():
        if value.name != "row":
            shape = [size if isinstance(size, int) else 2 for size in value.shape]
            kind = {"tensor(float16)": np.float16, "tensor(int64)": np.int64}
            feed[value.name] = np.ones(shape, kind.get(value.type, np.float32))
    assert session.run(["taken"], feed)[0][0, 0] == 7


def layer(domain: str) -> onnx.ModelProto:
    """One attention on flat operands, by ONNX's operator or by ONNX Runtime's."""
    value = helper.make_tensor_value_info
    attributes: dict[str, Any] = (
        {"num_heads": 2} if domain else {"q_num_heads": 2, "kv_num_heads": 2}
    )
    kind = "MultiHeadAttention" if domain else "Attention"
    graph = helper.make_graph(
        [helper.make_node(kind, ["q", "k", "v"], ["y"], domain=domain, **attributes)],
        "layer",
        [value(name, TensorProto.FLOAT, [1, f"{name}_tokens", 16]) for name in "qkv"],
        [value("y", TensorProto.FLOAT, [1, "q_tokens", 16])],
    )
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def fusable() -> onnx.ModelProto:
    """A layer normalisation before a sum, which onnxscript's rules join."""
    from tests.ortsel.graph_variants.test_building import gelu_model

    return gelu_model()


def in_body(kind: str, domain: str) -> onnx.ModelProto:
    """Return attention in a Scan or Loop that goes over two queries, on keys from outside."""
    value = helper.make_tensor_value_info
    attributes: dict[str, Any] = (
        {"num_heads": 2} if domain else {"q_num_heads": 2, "kv_num_heads": 2}
    )
    operator = "MultiHeadAttention" if domain else "Attention"
    attention = helper.make_node(operator, ["one", "k", "v"], ["y"], domain=domain, **attributes)
    one, result = (value(name, TensorProto.FLOAT, [1, "tokens", 16]) for name in ("one", "y"))
    if kind == "Scan":
        body = helper.make_graph([attention], "body", [one], [result])
        node = helper.make_node("Scan", ["q"], ["ys"], body=body, num_scan_inputs=1)
    else:
        going_on = helper.make_node("Identity", ["going"], ["on"])
        part = helper.make_node("Gather", ["q", "number"], ["one"], axis=0)
        body = helper.make_graph(
            [going_on, part, attention],
            "body",
            [value("number", TensorProto.INT64, []), value("going", TensorProto.BOOL, [])],
            [value("on", TensorProto.BOOL, []), result],
        )
        node = helper.make_node("Loop", ["two", ""], ["ys"], body=body)
    two = onnx.numpy_helper.from_array(np.array(2), "two")
    graph = helper.make_graph(
        [node],
        "outer",
        [value("q", TensorProto.FLOAT, [2, 1, "tokens", 16])]
        + [value(name, TensorProto.FLOAT, [1, "keys", 16]) for name in "kv"],
        [value("ys", TensorProto.FLOAT, [2, 1, "tokens", 16])],
        [two] if kind == "Loop" else [],
    )
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


@pytest.mark.parametrize("kind", ["Scan", "Loop"])
@pytest.mark.parametrize("domain", ["", "com.microsoft"])
@pytest.mark.parametrize("name", ["math", "memory-efficient", "flash-decode", "prescaled-query"])
def test_attention_in_the_body_of_a_loop_is_written_anew(kind: str, domain: str, name: str) -> None:
    model = in_body(kind, domain)
    variant = built(name, model)
    assert variant is not None
    assert variant != model
    generator = np.random.default_rng(0)
    shapes = {"q": (2, 1, 3, 16), "k": (1, 5, 16), "v": (1, 5, 16)}
    feed = {n: generator.standard_normal(shape).astype(np.float32) for n, shape in shapes.items()}
    assert_close(run(variant, feed)[0], run(model, feed)[0])


@pytest.mark.parametrize("name", ["math", "memory-efficient", "multi-head-attention"])
def test_attention_in_a_local_function_is_refused_with_the_reason(
    name: str, tmp_path: Path
) -> None:
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("own", 1)]
    node = helper.make_node("Attention", ["q", "q", "q"], ["y"], q_num_heads=2, kv_num_heads=2)
    function = helper.make_function("own", "Layer", ["q"], ["y"], [node], opsets[:1])
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Layer", ["x"], ["z"], domain="own")],
        "g",
        [value("x", TensorProto.FLOAT, [1, "tokens", 16])],
        [value("z", TensorProto.FLOAT, [1, "tokens", 16])],
    )
    model = helper.make_model(graph, functions=[function], opset_imports=opsets, ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(VariantRefusedError, match="it is in a local function"):
        build_variant(name, tmp_path / "model.onnx", tmp_path / "v.onnx")
