"""Fused attention as plain products and a softmax, the query scaled before them.

A product that ONNX Runtime knows how to run may beat a fused kernel that packs keys at each call,
and providers without such a kernel get something that they can take.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import AttentionProblem
from ortsel.graph_variants.attention_rewriting import FUSED, fewer_of, rewrite_attention
from ortsel.graph_variants.layouts import heads_first, keys_last
from ortsel.graph_variants.products import (
    in_result_layout,
    scaled_query,
    write_result,
    write_scores,
)
from ortsel.graph_variants.score_steps import write_probabilities, write_steps
from ortsel.graph_variants.variant import Census, GraphVariant

if TYPE_CHECKING:
    import onnx_ir as ir


def emit_math(problem: AttentionProblem) -> "tuple[ir.Value, ...]":
    """Write a problem as two products around a softmax."""
    writer = problem.writer
    query = scaled_query(writer, problem, problem.query)
    scores = write_scores(writer, problem, query, keys_last(writer, problem.key))
    scores = write_steps(writer, problem, scores, None)
    probabilities = write_probabilities(writer, problem, scores)
    result = write_result(writer, problem, probabilities, heads_first(writer, problem.value))
    return in_result_layout(writer, problem, result), *problem.presents


def decompose(model: "ir.Model") -> "ir.Model":
    """Return the model with fused attention taken apart."""
    return rewrite_attention(model, emit_math, unfused=False)


def ensures_decomposed(before: Census, after: Census) -> str:
    """Fused operators went, and a softmax came for each."""
    gone = sum(before[name] - after[name] for name in FUSED)
    came = after["Softmax"] - before["Softmax"]
    kept = fewer_of(before, after, FUSED) and gone == came
    return "" if kept else f"{gone} attention operators went, {came} softmax came"


MATH: Final = GraphVariant(
    "math",
    "fused attention as products and a softmax",
    (),
    decompose,
    ensures_decomposed,
)
