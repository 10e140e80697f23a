"""Single graph optimizations that are better left out.

`MatMulScaleFusion` folds the scale of attention scores into the matrix product. On x86 the fast
path for a single row needs a product without a scale, so a decode step packs all keys again at
each call: 1.7 to 2.9 times slower (ONNX Runtime 1.32, 1 query, 8 heads of 64, 1024 to 8192 keys).
With more than one query there is nothing to gain. Outputs differ by about 1e-7 (order of rounding).
"""

from typing import Final

from ortsel.candidates.cpu_settings import DISABLED_OPTIMIZERS, Level, level
from ortsel.candidates.derivation import derive
from ortsel.candidates.facts import CandidateFacts
from ortsel.candidates.search_space import LeftOut
from ortsel.plan import Plan

MATMUL_SCALE_FUSION: Final = "MatMulScaleFusion"


def disabled_by(plan: Plan) -> frozenset[str]:
    """Return the optimizations that a plan leaves out, by keyword or by configuration entry."""
    entry = dict(plan.settings.config).get(DISABLED_OPTIMIZERS, "")
    return frozenset(plan.disabled_optimizers) | frozenset(filter(None, entry.split(";")))


def disabled_optimizer_candidates(
    reference: Plan, facts: CandidateFacts
) -> tuple[Plan | LeftOut, ...]:
    """Return the reference without `MatMulScaleFusion`, where that fusion could happen at all."""
    disabled = disabled_by(reference)
    scaled_product = facts.model.may_contain("MatMul") and facts.model.may_contain("Mul", "Div")
    name = f"cpu:without={MATMUL_SCALE_FUSION}"
    if MATMUL_SCALE_FUSION in disabled:
        return (LeftOut(name, "same-as-reference", "it is left out already"),)
    if level(reference) < Level.EXTENDED:
        return (LeftOut(name, "same-as-reference", "the session's level does not fuse"),)
    if not scaled_product:
        return (LeftOut(name, "no-gain", "the model scales no matrix product"),)
    return (
        derive(
            reference,
            name,
            disabled_optimizers=tuple(sorted(disabled | {MATMUL_SCALE_FUSION})),
            notes="scales stay outside of matrix products",
        ),
    )
