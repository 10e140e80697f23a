"""Rewrites of the graph that change its results on purpose, for who asked for them by a metric."""

from collections.abc import Iterator
from typing import Final

from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.graph_variants import variant_names
from ortsel.plan import Plan

PRODUCT: Final = "MatMul"
"""What they replace."""


def lossy_variant_candidates(reference: Plan, facts: CandidateFacts) -> Iterator[Plan | LeftOut]:
    """Yield the reference on lossy graphs; without a metric only that they are left out."""
    if (
        reference.variant
        or facts.model.onnx_format is False
        or not facts.model.may_contain(PRODUCT)
    ):
        return
    for variant in variant_names(lossy=True):
        name = f"variant={variant}"
        if not facts.lossy:
            yield LeftOut(name, "not-exact", "the tolerance has no metric that could accept it")
            continue
        yield derive(
            reference,
            name,
            variant=variant,
            notes="weights of products in 8 bits: not exact, judged by the metric",
        )
