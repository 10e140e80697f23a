"""The graph with attention and normalisation fused ahead of time, by onnxscript's rules.

ONNX Runtime fuses less by itself: its own patterns know fewer of the ways in which exporters write
attention.
"""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

VARIANT: Final = "ort-fusions"
PATTERNS: Final = (
    ("MatMul", "Softmax"),
    ("MatMul", "Pow", "ReduceMean"),
    ("Erf",),
    ("InstanceNormalization",),
    ("LayerNormalization",),
    ("RMSNormalization",),
    ("SimplifiedLayerNormalization",),
)
"""Operators that a fused pattern needs, all of one line: attention, normalisation, activation. A
product of a transposed matrix is left out, since ONNX Runtime fuses that one by itself."""


def fused_graph_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on the fused graph, where the variant can be built."""
    if (
        reference.variant
        or not facts.has_onnxscript
        or facts.model.onnx_format is False
        or not any(all(map(facts.model.may_contain, pattern)) for pattern in PATTERNS)
    ):
        return ()
    notes = "attention, normalisation and activation fused before loading"
    return (derive(reference, f"variant={VARIANT}", variant=VARIANT, notes=notes),)
