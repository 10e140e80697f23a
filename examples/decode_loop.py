"""Decode token by token with a key-value cache that grows in place.

    python examples/decode_loop.py

A decoder of one layer stands for a real one: what matters is that its attention takes the past and
the lengths as inputs and returns the present. `InPlaceCache` binds one buffer as both, and checks
that the model and the session can do that.
"""

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from ortsel.kv_cache import InPlaceCache

HEADS, KEY_HEADS, HEAD_SIZE = 4, 2, 16
HIDDEN, KEY_HIDDEN = HEADS * HEAD_SIZE, KEY_HEADS * HEAD_SIZE


def decoder() -> bytes:
    """Return a model with one attention over a cache."""
    node = helper.make_node(
        "GroupQueryAttention",
        ["query", "key", "value", "past_key", "past_value", "last_index", "total_length"],
        ["output", "present_key", "present_value"],
        domain="com.microsoft",
        num_heads=HEADS,
        kv_num_heads=KEY_HEADS,
    )
    cache: list[str | int] = ["batch", KEY_HEADS, "past", HEAD_SIZE]
    present: list[str | int] = ["batch", KEY_HEADS, "total", HEAD_SIZE]
    hidden: list[str | int] = ["batch", "new", HIDDEN]
    key_hidden: list[str | int] = ["batch", "new", KEY_HIDDEN]
    value, single = helper.make_tensor_value_info, TensorProto.FLOAT
    graph = helper.make_graph(
        [node],
        "decoder",
        [
            value("query", single, hidden),
            value("key", single, key_hidden),
            value("value", single, key_hidden),
            value("past_key", single, cache),
            value("past_value", single, cache),
            value("last_index", TensorProto.INT32, ["batch"]),
            value("total_length", TensorProto.INT32, []),
        ],
        [
            value("output", single, hidden),
            value("present_key", single, present),
            value("present_value", single, present),
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model: onnx.ModelProto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    return bytes(model.SerializeToString())


def tokens(count: int, past: int, seed: int) -> dict[str, np.ndarray]:
    """Return the inputs of so many new tokens after so many others."""
    generator = np.random.default_rng(seed)

    def hidden(size: int) -> np.ndarray:
        return generator.standard_normal((1, count, size)).astype(np.float32)

    return {
        "query": hidden(HIDDEN),
        "key": hidden(KEY_HIDDEN),
        "value": hidden(KEY_HIDDEN),
        "last_index": np.array([past + count - 1], np.int32),
        "total_length": np.array(past + count, np.int32),
    }


def decode(prompt: int, steps: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return the outputs of a prompt and its steps: from the in-place cache, from copies."""
    model = decoder()
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])

    cache = InPlaceCache(session, model, batch=1, max_length=prompt + steps)
    in_place = [cache.run(["output"], tokens(prompt, 0, 0), new_tokens=prompt)[0]]
    for step in range(steps):
        feed = tokens(1, cache.length, step + 1)
        in_place.append(cache.run(["output"], feed, new_tokens=1)[0])

    empty = np.zeros((1, KEY_HEADS, 0, HEAD_SIZE), np.float32)
    past = {"past_key": empty, "past_value": empty}
    copied: list[np.ndarray] = []
    for step in range(steps + 1):
        length = past["past_key"].shape[2]
        feed = tokens(prompt if step == 0 else 1, length, step)
        output, key, value = session.run(None, feed | past)
        past = {"past_key": np.asarray(key), "past_value": np.asarray(value)}
        copied.append(np.asarray(output))
    return in_place, copied


def main() -> None:
    """Print how far the two loops are apart."""
    in_place, copied = decode(prompt=5, steps=20)
    worst = max(np.abs(a - b).max() for a, b in zip(in_place, copied, strict=True))
    sys.stdout.write(f"{len(in_place)} calls, largest difference {worst}\n")


if __name__ == "__main__":
    main()
