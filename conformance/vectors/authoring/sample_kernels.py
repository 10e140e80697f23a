"""Kernels, inputs and histories that the ranking vectors start from."""

from typing import Final

from spec.ranking import (
    Characteristics,
    Constraints,
    HistoryPolicy,
    Kernel,
    KernelInputs,
    TensorInput,
    Variant,
    VariantKind,
)

DAY: Final = 24 * 3600 * 10**9
HISTORY: Final = HistoryPolicy(half_life_ns=1000, retention_ns=8000, max_entries=4)
INPUTS: Final = KernelInputs((TensorInput((8, 16), "float32"),), alignment_bytes=64)
"""512 bytes."""
UNSAID: Final = Characteristics()
ANYTHING: Final = Constraints(frozenset({"float32", "float16"}))


def kernel(
    name: str,
    constraints: Constraints = ANYTHING,
    characteristics: Characteristics = UNSAID,
    backend: str = "cpu",
) -> Kernel:
    """Return a kernel of the operation "softmax"."""
    variant = Variant(VariantKind.OPTIMIZED)
    return Kernel(name, name, "softmax", backend, variant, constraints, characteristics)


A, B, C = kernel("a"), kernel("b"), kernel("c")
