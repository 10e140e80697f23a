"""Graph variants of attention operators, most of which gain with a single query token."""

from typing import Final, TypeAlias

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.plan import Plan

Variant: TypeAlias = tuple[str, tuple[tuple[str, ...], ...], range, str]

PRODUCTS_OPSET: Final = range(13, 10_000)
CHAIN: Final = ("MatMul", "Softmax")
FUSED_CHAIN: Final = ("FusedMatMul", "Softmax")
MULTI_HEAD: Final = ("MultiHeadAttention",)
ONNX: Final = ("Attention",)
GROUPED: Final = ("GroupQueryAttention",)
ANY: Final = (MULTI_HEAD, ONNX, CHAIN, FUSED_CHAIN)

VARIANTS: Final[tuple[Variant, ...]] = (
    (
        "onnx-attention",
        (MULTI_HEAD,),
        range(23, 25),
        "MultiHeadAttention over 3-D keys as ONNX Attention, queries scaled before it",
    ),
    (
        "attention-24+prescaled-query",
        (ONNX,),
        range(25, 10_000),
        "ONNX Attention of a newer operator set as that of 24, queries scaled before it",
    ),
    (
        "attention-24",
        (ONNX,),
        range(25, 10_000),
        "ONNX Attention of a newer operator set as that of 24, which has a kernel",
    ),
    (
        "prescaled-query",
        ANY,
        range(1, 10_000),
        "queries scaled before attention",
    ),
    (
        "group-query-attention",
        (MULTI_HEAD, ONNX),
        PRODUCTS_OPSET,
        "causal attention with a cache as GroupQueryAttention, which has a kernel for one token",
    ),
    (
        "memory-efficient",
        (*ANY, GROUPED),
        PRODUCTS_OPSET,
        "attention over some query tokens at a time, with bounded memory for scores",
    ),
    (
        "multi-head-attention",
        (ONNX, CHAIN, FUSED_CHAIN),
        PRODUCTS_OPSET,
        "attention as MultiHeadAttention over flat keys, which has a tiled kernel",
    ),
)
"""Name, sets of operators of which the model must have one whole, operator sets that it may import,
and what is different."""

RARE_VARIANTS: Final[tuple[Variant, ...]] = (
    (
        "multi-head-attention-4d",
        (ONNX, CHAIN, FUSED_CHAIN),
        PRODUCTS_OPSET,
        "attention as MultiHeadAttention over keys with heads first",
    ),
    (
        "math",
        (MULTI_HEAD, ONNX, GROUPED),
        PRODUCTS_OPSET,
        "fused attention as products and a softmax",
    ),
    (
        "flash-decode",
        ANY,
        PRODUCTS_OPSET,
        "attention of few query tokens by splits of the keys",
    ),
    (
        "ort-optimizer",
        (CHAIN,),
        range(1, 10_000),
        "encoder fused by ONNX Runtime's optimizer for transformers",
    ),
)
"""The same, for what gains on few machines or against few operators."""

MORE_THAN_ATTENTION: Final = frozenset({"ort-optimizer"})
"""Of these, rewrites that change what is around attention as well."""
ATTENTION_REWRITES: Final = (
    frozenset(variant for variant, *_ in (*VARIANTS, *RARE_VARIANTS)) - MORE_THAN_ATTENTION
)
"""Rewrites of attention alone: how they fare does not depend on the rest of a model."""


def attention_variant_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on the variants of its attention, where they can be built."""
    return _candidates(VARIANTS, reference, facts)


def rare_attention_variant_candidates(reference: Plan, facts: CandidateFacts) -> tuple[Plan, ...]:
    """Return the reference on those variants that are rarely the best."""
    return _candidates(RARE_VARIANTS, reference, facts)


def _candidates(
    variants: tuple[Variant, ...], reference: Plan, facts: CandidateFacts
) -> tuple[Plan, ...]:
    if reference.variant or not facts.has_onnxscript or facts.model.onnx_format is False:
        return ()
    return tuple(
        derive(reference, f"variant={variant}", variant=variant, notes=notes)
        for variant, patterns, opsets, notes in variants
        if any(all(map(facts.model.may_contain, pattern)) for pattern in patterns)
        and (facts.model.opset is None or facts.model.opset in opsets)
    )
