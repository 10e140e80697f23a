"""Writing new nodes of a rewrite, with names that are unique in every graph around."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import onnx_ir as ir

AXES_OF_MAXIMA_AS_INPUT = 18
"""The operator set from which ReduceMax takes its axes as an input."""
RESHAPE_TO_EMPTY = 14
"""The operator set from which Reshape can take 0 for a size rather than for "as it was"."""


class NodeWriter:
    """Collects nodes in order. Inside a body of a loop, another writer on the same prefix."""

    def __init__(self, prefix: str, opset: int) -> None:
        """`prefix` must be the name of a value that is unique in the model."""
        self._prefix = prefix
        self._opset = opset
        self._serial = 0
        self.nodes: list[ir.Node] = []

    def body(self, name: str) -> "NodeWriter":
        """Return a writer for a subgraph."""
        return NodeWriter(f"{self._prefix}__{name}", self._opset)

    def op(
        self,
        op_type: str,
        *inputs: "ir.Value | None",
        domain: str = "",
        **attributes: "int | float | str | Sequence[int] | ir.Graph | ir.TensorProtocol",
    ) -> "ir.Value":
        """Write a node with one output, and return that."""
        return self.node(op_type, *inputs, domain=domain, outputs=1, **attributes)[0]

    def node(
        self,
        op_type: str,
        *inputs: "ir.Value | None",
        outputs: int,
        domain: str = "",
        **attributes: "int | float | str | Sequence[int] | ir.Graph | ir.TensorProtocol",
    ) -> "tuple[ir.Value, ...]":
        """Write a node, and return its outputs."""
        import onnx_ir as ir

        node = ir.node(op_type, inputs, attributes, domain=domain, num_outputs=outputs)
        for value in node.outputs:
            value.name = self.fresh_name(op_type.lower())
        self.nodes.append(node)
        return tuple(node.outputs)

    def fresh_name(self, stem: str) -> str:
        """Return a name that no other value has."""
        self._serial += 1
        return f"{self._prefix}__{stem}_{self._serial}"

    def constant(self, array: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> "ir.Value":
        """Write a constant tensor."""
        import onnx_ir as ir

        return self.op("Constant", value=ir.tensor(array))

    def integers(self, *values: int) -> "ir.Value":
        """Write a vector of 64-bit integers."""
        import numpy as np

        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> "ir.Value":
        """Write a 32-bit floating-point scalar."""
        import numpy as np

        return self.constant(np.array(value, np.float32))

    def reshape(self, value: "ir.Value", shape: "ir.Value") -> "ir.Value":
        """Write a tensor in a shape that was computed, in which 0 is a size."""
        if self._opset >= RESHAPE_TO_EMPTY:
            return self.op("Reshape", value, shape, allowzero=1)
        return self.op("Reshape", value, shape)

    def dimension(self, value: "ir.Value", axis: int) -> "ir.Value":
        """Write the size of an axis that counts from the front, as a vector of one integer."""
        return self.op("Gather", self.op("Shape", value), self.integers(axis), axis=0)

    def leading_dimensions(self, value: "ir.Value", rank: int, dropped: int) -> "ir.Value":
        """Write the sizes of all but the last `dropped` axes."""
        return self.op(
            "Slice", self.op("Shape", value), self.integers(0), self.integers(rank - dropped)
        )

    def join(self, *sizes: "ir.Value") -> "ir.Value":
        """Write a shape out of vectors of integers."""
        return self.op("Concat", *sizes, axis=0)

    def maximum_of_last_axis(self, value: "ir.Value") -> "ir.Value":
        """Write the largest element along the last axis, which stays with size 1."""
        if self._opset >= AXES_OF_MAXIMA_AS_INPUT:
            return self.op("ReduceMax", value, self.integers(-1), keepdims=1)
        return self.op("ReduceMax", value, axes=[-1], keepdims=1)
