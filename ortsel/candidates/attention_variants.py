"""Graph variants of attention operators, most of which gain with a single query token."""

from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

ANY_OPSET: Final = range(1, 10_000)

VARIANTS: Final = (
    (
        "onnx-attention",
        ("MultiHeadAttention",),
        range(23, 25),
        "MultiHeadAttention over 3-D keys as ONNX Attention, queries scaled before it",
    ),
    (
        "attention-24+prescaled-query",
        ("Attention",),
        range(25, 10_000),
        "ONNX Attention of a newer operator set as that of 24, queries scaled before it",
    ),
    (
        "attention-24",
        ("Attention",),
        range(25, 10_000),
        "ONNX Attention of a newer operator set as that of 24, which has a kernel",
    ),
    (
        "prescaled-query",
        ("MultiHeadAttention", "Attention"),
        ANY_OPSET,
        "queries scaled before the attention operator",
    ),
)
"""Name, operators of which the model must have one, operator sets that it may import, and what is
different."""


def attention_variant_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on the variants of its attention operators, where they can be built."""
    if reference.variant or not facts.has_onnxscript or facts.model.onnx_format is False:
        return ()
    return tuple(
        derive(reference, f"variant={variant}", variant=variant, notes=notes)
        for variant, operators, opsets, notes in VARIANTS
        if facts.model.may_contain(*operators)
        and (facts.model.opset is None or facts.model.opset in opsets)
    )
