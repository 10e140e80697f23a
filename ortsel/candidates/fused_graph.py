"""The graph with attention and normalisation fused ahead of time, by onnxscript's rules.

ONNX Runtime fuses less by itself: its own patterns know fewer of the ways in which exporters write
attention.
"""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

VARIANT: Final = "ort-fusions"
FUSED_OPERATORS: Final = ("MatMul", "Gemm", "Softmax", "Erf", "LayerNormalization", "Pow")
"""Operators of which every fused pattern holds at least one."""


def fused_graph_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on the fused graph, where the variant can be built."""
    if (
        reference.variant
        or not facts.has_onnxscript
        or facts.model.onnx_format is False
        or not facts.model.may_contain(*FUSED_OPERATORS)
    ):
        return ()
    notes = "attention, normalisation and activation fused before loading"
    return (derive(reference, f"variant={VARIANT}", variant=VARIANT, notes=notes),)
