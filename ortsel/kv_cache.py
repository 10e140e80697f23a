"""A key-value cache that grows in place: one buffer bound as past and as present.

An operator that returns past and new keys together copies the whole cache at every token. Where it
can write new keys behind the past ones in one buffer, nothing is copied: 2 to 4 times faster over
1024 to 8192 keys on a CPU. Not every operator can, and with one that can't the buffer would be read
while it is overwritten: so this looks before it binds.
"""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime
from attrs import frozen

from ortsel.errors import OrtselError

if TYPE_CHECKING:
    import onnx

SHARING: Final = {
    ("com.microsoft", "GroupQueryAttention"): ((3, 1), (4, 2)),
    ("", "TensorScatter"): ((0, 0),),
}
"""Operators that write into the buffer that they read: positions of past among the inputs and of
present among the outputs. Found with ONNX Runtime 1.32 on the CPU."""
PROVIDERS: Final = frozenset({"CPUExecutionProvider", "CUDAExecutionProvider"})
"""Providers whose kernels of these operators do."""
LENGTH_AXIS: Final = 2
RANK: Final = 4
ELEMENT_TYPES: Final = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
}

Array = np.ndarray[Any, np.dtype[Any]]


@frozen
class CacheNotShareableError(OrtselError):
    """The model or its session can't keep past and present in one buffer."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"in-place cache: got {self.got}, need {self.need}"


@frozen
class CacheFullError(OrtselError):
    """The buffer has no room for the new tokens."""

    length: int
    new_tokens: int
    max_length: int

    def __str__(self) -> str:
        return (
            f"in-place cache: got {self.new_tokens} tokens after {self.length}, "
            f"need at most {self.max_length} together"
        )


def shareable_caches(model: str | os.PathLike[str] | bytes) -> tuple[tuple[str, str], ...]:
    """Return the pairs of graph input and output that may be one buffer, in order of the inputs.

    A pair is the past and the present of an operator that writes in place, and nothing else may use
    the past. Weights are not read.
    """
    import onnx

    proto = (
        onnx.load_model_from_string(model)
        if isinstance(model, bytes)
        else onnx.load_model(os.fspath(model), load_external_data=False)
    )
    graph = proto.graph
    uses: dict[str, int] = {}
    for node in _all_nodes(graph.node):
        for name in node.input:
            uses[name] = uses.get(name, 0) + 1
    outputs = {value.name for value in graph.output}
    found: dict[str, str] = {}
    for node in graph.node:
        domain = "" if node.domain == "ai.onnx" else node.domain
        pairs = [
            (node.input[past], node.output[present])
            for past, present in SHARING.get((domain, node.op_type), ())
            if past < len(node.input) and present < len(node.output)
        ]
        if all(uses.get(source) == 1 and target in outputs for source, target in pairs):
            found |= dict(pairs)  # keys alone in place would leave the values to another rule
    return tuple((value.name, found[value.name]) for value in graph.input if value.name in found)


class InPlaceCache:
    """The caches of one sequence, or batch of sequences, of a session.

    What it returns is what the copying loop returns, whose past grows by the new tokens; only its
    shape of present differs, which is of `max_length` from the start. The model must take lengths
    by inputs of its own, as `GroupQueryAttention` does.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        model: str | os.PathLike[str] | bytes,
        *,
        batch: int,
        max_length: int,
    ) -> None:
        """Allocate buffers for `batch` sequences of at most `max_length` tokens, on the CPU.

        Raises `CacheNotShareableError` where the preconditions don't hold: a provider and an
        operator that are known to write in place, and a shape that leaves the length open or is
        `max_length` already.
        """
        if batch < 1 or max_length < 1:
            got = f"a batch of {batch} and a length of {max_length}"
            raise CacheNotShareableError(got, "at least 1 of both")
        others = sorted(set(session.get_providers()) - PROVIDERS)
        if others:
            need = f"none but {', '.join(sorted(PROVIDERS))}"
            got = f"the providers {', '.join(others)}"
            raise CacheNotShareableError(got, need)
        pairs = shareable_caches(model)
        if not pairs:
            operators = " or ".join(name for _, name in SHARING)
            got = "no graph input that is the past, and output that is the present, of one node"
            raise CacheNotShareableError(got, f"both at a {operators}")
        inputs = {value.name: value for value in session.get_inputs()}
        self._session = session
        self._pairs = pairs
        self._max_length = max_length
        self._length = 0
        self._buffers = {
            past: onnxruntime.OrtValue.ortvalue_from_numpy(_buffer(inputs[past], batch, max_length))
            for past, _ in pairs
        }

    @property
    def length(self) -> int:
        """Tokens that are in the cache."""
        return self._length

    @property
    def buffers(self) -> Mapping[str, onnxruntime.OrtValue]:
        """The buffers by the name of the graph input. Only the first `length` tokens count."""
        return dict(self._buffers)

    def run(
        self, output_names: Sequence[str] | None, feed: Mapping[str, Array], *, new_tokens: int
    ) -> list[Array]:
        """Run on a feed without the caches, and return the outputs without them.

        `new_tokens` are those that the feed adds. Raises `CacheFullError` before running where they
        have no room. After a run that failed, the cache is as long as before, but its tokens from
        there on may have been written.
        """
        if new_tokens < 0 or self._length + new_tokens > self._max_length:
            raise CacheFullError(self._length, new_tokens, self._max_length)
        presents = {present for _, present in self._pairs}
        names = [value.name for value in self._session.get_outputs()]
        wanted = [
            name
            for name in (names if output_names is None else output_names)
            if name not in presents
        ]
        binding = self._session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        for past, present in self._pairs:
            binding.bind_ortvalue_input(past, self._buffers[past])
            binding.bind_ortvalue_output(present, self._buffers[past])
        for name in wanted:
            binding.bind_output(name)
        self._session.run_with_iobinding(binding)
        self._length += new_tokens
        order = [*(present for _, present in self._pairs), *wanted]
        by_name = dict(zip(order, binding.get_outputs(), strict=True))
        return [np.asarray(by_name[name].numpy()) for name in wanted]

    def reset(self) -> None:
        """Forget all tokens; the buffers stay."""
        self._length = 0


def _buffer(value: Any, batch: int, max_length: int) -> Array:
    kind = ELEMENT_TYPES.get(value.type)
    if kind is None:
        need = f"one of {', '.join(ELEMENT_TYPES)}"
        got = f"{value.name} of type {value.type}"
        raise CacheNotShareableError(got, need)
    shape = list(value.shape)
    if len(shape) != RANK:
        got = f"{value.name} of rank {len(shape)}"
        raise CacheNotShareableError(got, "batch, heads, tokens, head size")
    for axis, size in ((0, batch), (LENGTH_AXIS, max_length)):
        if isinstance(shape[axis], int) and shape[axis] != size:
            need = f"{size} or an open dimension at axis {axis}"
            got = f"{value.name} of shape {shape}"
            raise CacheNotShareableError(got, need)
        shape[axis] = size
    if not all(isinstance(size, int) for size in shape):
        need = "known numbers of heads and head size"
        got = f"{value.name} of shape {value.shape}"
        raise CacheNotShareableError(got, need)
    return np.zeros(shape, kind)


def _all_nodes(nodes: "Sequence[onnx.NodeProto]") -> "list[onnx.NodeProto]":
    """Return nodes with those of their subgraphs."""
    found: list[onnx.NodeProto] = []
    for node in nodes:
        found.append(node)
        for attribute in node.attribute:
            for graph in (attribute.g, *attribute.graphs):
                found += _all_nodes(list(graph.node))
    return found
