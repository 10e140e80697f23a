"""A cache that grows in place returns what the copying loop returns, or refuses."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper

from ortsel.kv_cache import (
    CacheFullError,
    CacheNotShareableError,
    InPlaceCache,
    shareable_caches,
)
from tests.ortsel.graph_variants.attention_models import Attention, onnx_attention

EXAMPLE = Path(__file__).parents[2] / "examples" / "decode_loop.py"
CPU = ["CPUExecutionProvider"]


def load_example() -> ModuleType:
    specification = importlib.util.spec_from_file_location("decode_loop", EXAMPLE)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules["decode_loop"] = module
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def example() -> ModuleType:
    return load_example()


def session_of(model: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(model, providers=CPU)


@pytest.mark.parametrize(("prompt", "steps"), [(1, 0), (1, 12), (7, 30), (64, 3)])
def test_the_decode_loop_of_the_example_is_identical_in_place(
    example: ModuleType, prompt: int, steps: int
) -> None:
    in_place, copied = example.decode(prompt, steps)
    assert len(in_place) == steps + 1
    for got, expected in zip(in_place, copied, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_full_cache_says_so_before_it_runs(example: ModuleType) -> None:
    model = example.decoder()
    cache = InPlaceCache(session_of(model), model, batch=1, max_length=3)
    cache.run(None, example.tokens(3, 0, 0), new_tokens=3)
    with pytest.raises(CacheFullError, match="got 1 tokens after 3, need at most 3 together"):
        cache.run(None, example.tokens(1, 3, 1), new_tokens=1)
    assert cache.length == 3
    cache.reset()
    cache.run(None, example.tokens(1, 0, 1), new_tokens=1)
    assert cache.length == 1


def test_the_buffer_holds_what_the_copying_loop_would_return(example: ModuleType) -> None:
    model = example.decoder()
    session = session_of(model)
    cache = InPlaceCache(session, model, batch=1, max_length=8)
    feed = example.tokens(5, 0, 0)
    cache.run(["output"], feed, new_tokens=5)
    empty = np.zeros((1, 2, 0, 16), np.float32)
    present = session.run(["present_key"], feed | {"past_key": empty, "past_value": empty})[0]
    np.testing.assert_array_equal(cache.buffers["past_key"].numpy()[:, :, :5], present)


def test_an_operator_that_copies_its_past_is_refused() -> None:
    model = onnx_attention(Attention(past=2, with_heads=True)).SerializeToString()
    assert shareable_caches(model) == ()
    with pytest.raises(CacheNotShareableError, match="need both at a GroupQueryAttention"):
        InPlaceCache(session_of(model), model, batch=1, max_length=8)


def test_a_past_that_something_else_reads_is_refused(example: ModuleType) -> None:
    model = onnx.load_model_from_string(example.decoder())
    model.graph.node.append(helper.make_node("Identity", ["past_key"], ["copy"]))
    model.graph.output.append(helper.make_tensor_value_info("copy", onnx.TensorProto.FLOAT, None))
    assert shareable_caches(example.decoder()) == (
        ("past_key", "present_key"),
        ("past_value", "present_value"),
    )
    assert shareable_caches(model.SerializeToString()) == ()


@pytest.mark.parametrize(("batch", "length"), [(0, 4), (1, 0)])
def test_empty_buffers_are_refused(example: ModuleType, batch: int, length: int) -> None:
    model = example.decoder()
    with pytest.raises(CacheNotShareableError, match="need at least 1 of both"):
        InPlaceCache(session_of(model), model, batch=batch, max_length=length)


def test_a_cache_of_another_fixed_length_is_refused(example: ModuleType) -> None:
    proto = onnx.load_model_from_string(example.decoder())
    for value in proto.graph.input:
        if value.name == "past_key":
            value.type.tensor_type.shape.dim[2].dim_value = 16
    model = proto.SerializeToString()
    with pytest.raises(CacheNotShareableError, match="need 8 or an open dimension at axis 2"):
        InPlaceCache(session_of(model), model, batch=1, max_length=8)
    InPlaceCache(session_of(model), model, batch=1, max_length=16)


def test_a_scattered_cache_is_identical_in_place() -> None:
    value, single = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    operand: list[str | int] = ["batch", 2, "new", 8]
    cache_shape: list[str | int] = ["batch", 2, "room", 8]
    graph = helper.make_graph(
        [
            helper.make_node("TensorScatter", ["past_k", "k", "at"], ["present_k"]),
            helper.make_node("TensorScatter", ["past_v", "v", "at"], ["present_v"]),
            helper.make_node("Attention", ["q", "present_k", "present_v", "", "", "", "n"], ["y"]),
        ],
        "scattered",
        [value(name, single, operand) for name in "qkv"]
        + [value(name, single, cache_shape) for name in ("past_k", "past_v")]
        + [value(name, onnx.TensorProto.INT64, ["batch"]) for name in ("at", "n")],
        [value("y", single, None)]
        + [value(name, single, cache_shape) for name in ("present_k", "present_v")],
    )
    opset = [helper.make_opsetid("", 24)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=10).SerializeToString()
    session = session_of(model)
    cache = InPlaceCache(session, model, batch=2, max_length=16)
    past = {name: np.zeros((2, 2, 16, 8), np.float32) for name in ("past_k", "past_v")}
    generator = np.random.default_rng(0)
    for step in range(4):
        feed = {n: generator.standard_normal((2, 2, 1, 8)).astype(np.float32) for n in "qkv"}
        lengths = {"at": np.array([step] * 2), "n": np.array([step + 1] * 2)}
        (got,) = cache.run(["y"], feed | lengths, new_tokens=1)
        expected, key, val = session.run(None, feed | lengths | past)
        past = {"past_k": np.asarray(key), "past_v": np.asarray(val)}
        np.testing.assert_array_equal(got, expected)
