"""Attention, normalisation and activation fused into ONNX Runtime's own operators.

onnxscript's rules know more of the ways in which exporters write these than ONNX Runtime's
optimizer, and work ahead of time.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError, take_census

if TYPE_CHECKING:
    import onnx_ir as ir

FUSED: Final = (
    "com.microsoft::",
    "SimplifiedLayerNormalization",
    "SkipSimplifiedLayerNormalization",
)
"""What names of fused operators start with."""


def fuse(model: "ir.Model") -> "ir.Model":
    """Return the model with every pattern fused that onnxscript knows for ONNX Runtime."""
    from onnxscript.rewriter.ort_fusions import optimize_for_ort

    before = take_census(model)
    try:
        with _quiet("onnx_ir"), _quiet("onnxscript"):
            fused, counts = optimize_for_ort(model)
    except Exception as error:  # its rules meet graphs that their author never saw
        reason = f"onnxscript failed: {error!r}"
        raise NotApplicableError(reason) from error
    if not any(counts.values()) and not _more_fused(before, take_census(fused)):
        raise NotApplicableError("nothing to fuse")
    return fused


def ensures_fused(before: Census, after: Census) -> str:
    """Fused operators were added."""
    return "" if _more_fused(before, after) else "nothing was fused"


@contextmanager
def _quiet(logger: str) -> Iterator[None]:
    """Keep a package's warnings to itself: one per initialiser, none of use to anybody here."""
    named = logging.getLogger(logger)
    level = named.level
    named.setLevel(logging.ERROR)
    try:
        yield
    finally:
        named.setLevel(level)


def _more_fused(before: Census, after: Census) -> bool:
    return any(count > before[name] for name, count in after.items() if name.startswith(FUSED))


ORT_FUSIONS: Final = GraphVariant(
    "ort-fusions",
    "attention, normalisation and activation fused by onnxscript's rules for ONNX Runtime",
    ("onnxscript",),
    fuse,
    ensures_fused,
)
