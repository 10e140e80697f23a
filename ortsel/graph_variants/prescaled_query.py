"""The query multiplied by the scale before attention, whose own scale becomes 1.

On x86, ONNX Runtime's fast product for a single row needs a factor of 1. With one query token, as
in each step of a decoder, the scale inside the operator makes it pack all keys again at each call:
1.5 to 2.6 times slower over keys with heads first. With more tokens there is nothing to gain.
A chain of operators has the same cost, once the optimizer has put its scale into the product.
Source: core/mlas/lib/sgemm.cpp; measured with ONNX Runtime 1.32.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import AttentionProblem
from ortsel.graph_variants.attention_rewriting import rewrite_attention
from ortsel.graph_variants.attention_site import FusedAttention, fused_attention
from ortsel.graph_variants.math_attention import emit_math
from ortsel.graph_variants.products import head_size
from ortsel.graph_variants.shape_inference import MULTI_HEAD_ATTENTION
from ortsel.graph_variants.unfused_problems import FUSED_PRODUCT
from ortsel.graph_variants.variant import Census, GraphVariant, NotApplicableError

if TYPE_CHECKING:
    import onnx_ir as ir

BIAS_INPUT: Final = 3
"""Input of `MultiHeadAttention` with biases that are added to the query before it is scaled."""


def prescale(model: "ir.Model") -> "ir.Model":
    """Return the model with scales taken out of attention operators, wherever they can be."""
    sites = [site for site in fused_attention(model) if _gains(site)]
    for site in sites:
        scale_query(site)
    try:
        return rewrite_attention(model, _emit_prescaled, fused=False)
    except NotApplicableError as error:
        if sites:
            return model
        reason = f"no attention operator on float32 with a scale to take out; {error}"
        raise NotApplicableError(reason) from error


def _emit_prescaled(problem: AttentionProblem) -> "tuple[ir.Value, ...]":
    """Write a chain of operators with its scale on the query."""
    if problem.scale == 1.0 or problem.query.tokens not in {None, 1}:
        raise NotApplicableError("its scale can't be taken out, or it has several query tokens")
    if head_size(problem.query) in {None, 1}:
        raise NotApplicableError("ONNX Runtime would put its scale back into the product")
    return emit_math(problem)


def scale_query(site: FusedAttention) -> None:
    """Multiply a site's query by its scale, and set the operator's scale to 1."""
    import numpy as np
    import onnx_ir as ir

    query, graph, output = site.input(0), site.node.graph, site.node.outputs[0].name
    assert query is not None, "a site has a query"
    assert graph is not None, "a site is in a graph"
    factor = ir.node(
        "Constant", [], attributes={"value": ir.tensor(np.array(site.scale, dtype=np.float32))}
    )
    scaled = ir.node("Mul", [query, factor.outputs[0]])
    for value, name in ((factor.outputs[0], "query_scale"), (scaled.outputs[0], "scaled_query")):
        value.type = query.type
        value.name = f"{output}__{name}"  # unique in every graph around, as the output's is
    scaled.outputs[0].shape = query.shape
    graph.insert_before(site.node, [factor, scaled])
    site.node.replace_input_with(0, scaled.outputs[0])
    site.node.attributes["scale"] = ir.AttrFloat32("scale", 1.0)


def ensures_prescaled(before: Census, after: Census) -> str:
    """Multiplications were added, and attention stayed."""
    # A chain may have had as many multiplications before: by a scalar.
    if not after["Mul"] or (after["Mul"] <= before["Mul"] and not after["Softmax"]):
        return "no query was scaled"
    products = [census["MatMul"] + census[FUSED_PRODUCT] for census in (before, after)]
    if products[0] != products[1]:
        return f"{products[0]} products became {products[1]}"
    for name in (MULTI_HEAD_ATTENTION, "Attention", "Softmax"):
        if after[name] != before[name]:
            return f"{before[name]} nodes of {name} became {after[name]}"
    return ""


def _gains(site: FusedAttention) -> bool:
    biased = not site.is_onnx and site.input(BIAS_INPUT) is not None
    return site.scale != 1.0 and site.query_length in {None, 1} and not biased


PRESCALED_QUERY: Final = GraphVariant(
    "prescaled-query",
    "queries multiplied by the scale before attention, for single-token decoding on x86",
    (),
    prescale,
    ensures_prescaled,
)
