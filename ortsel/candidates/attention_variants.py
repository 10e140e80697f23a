"""Graph variants of attention operators that gain with a single query token, as in decoding."""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

VARIANTS: Final = (
    (
        "onnx-attention",
        ("MultiHeadAttention",),
        "MultiHeadAttention over 3-D keys as ONNX Attention, queries scaled before it",
    ),
    (
        "prescaled-query",
        ("MultiHeadAttention", "Attention"),
        "queries scaled before the attention operator",
    ),
)
"""Name, operators of which the model must have one, and what is different."""


def attention_variant_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on the variants of its attention operators, where they can be built."""
    if reference.variant or not facts.has_onnxscript or facts.model.onnx_format is False:
        return ()
    return tuple(
        derive(reference, f"variant={variant}", variant=variant, notes=notes)
        for variant, operators, notes in VARIANTS
        if facts.model.may_contain(*operators)
    )
