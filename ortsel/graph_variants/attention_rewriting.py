"""What every rewrite of attention problems does: find them, replace them, say why not."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from ortsel.graph_variants.attention_problem import AttentionProblem
from ortsel.graph_variants.attention_site import ONNX_ATTENTION, fused_attention
from ortsel.graph_variants.fused_problems import read_fused
from ortsel.graph_variants.group_query_problems import read_group_query
from ortsel.graph_variants.packed_problems import read_packed
from ortsel.graph_variants.shape_inference import (
    GROUP_QUERY_ATTENTION,
    MULTI_HEAD_ATTENTION,
    PACKED_ATTENTION,
    infer_shapes,
)
from ortsel.graph_variants.unfused_problems import read_unfused
from ortsel.graph_variants.variant import Census, NotApplicableError, operator

if TYPE_CHECKING:
    import onnx_ir as ir

Emit: TypeAlias = "Callable[[AttentionProblem], tuple[ir.Value, ...]]"
"""Writes the result of a problem, in the layout of the problem's own result, and what else its node
has for outputs. Raises `NotApplicableError` where it can't be done or would not pay."""

MICROSOFT: Final = "com.microsoft"
OLDEST_OPSET: Final = 13
"""Softmax has one axis, and sums take theirs as an input, from this operator set on."""

FUSED: Final = (
    MULTI_HEAD_ATTENTION,
    ONNX_ATTENTION,
    PACKED_ATTENTION,
    GROUP_QUERY_ATTENTION,
)


def rewrite_attention(
    model: "ir.Model", emit: Emit, *, fused: bool = True, unfused: bool = True
) -> "ir.Model":
    """Return the model with each attention written anew, where that can be done.

    Raises `NotApplicableError` with the most frequent reason where none could be.
    """
    model.opset_imports.setdefault(MICROSOFT, 1)
    reasons: Counter[str] = Counter()
    replaced = 0
    for read in list(_readers(model, fused=fused, unfused=unfused)):
        try:
            problem = read()
            _replace(problem, list(emit(problem)))
            replaced += 1
        except NotApplicableError as error:
            reasons[str(error)] += 1
    if not replaced:
        ((reason, _),) = reasons.most_common(1) or [(_absence(model), 0)]
        refusal = f"no attention that can be rewritten: {reason}"
        raise NotApplicableError(refusal)
    return model


def _absence(model: "ir.Model") -> str:
    """Return why no attention was read at all."""
    in_functions = {operator(node) for body in model.functions.values() for node in body}
    if in_functions & {*FUSED, "Softmax"}:
        return "it is in a local function, whose types depend on who calls it"
    return "there is no attention on float32"


def fewer_of(before: Census, after: Census, names: tuple[str, ...]) -> bool:
    """Whether there are fewer nodes of these operators than before."""
    return sum(after[name] for name in names) < sum(before[name] for name in names)


def _readers(
    model: "ir.Model", *, fused: bool, unfused: bool
) -> "Iterator[Callable[[], AttentionProblem]]":
    import onnx_ir as ir

    opset = model.opset_imports.get("", 0)
    if opset < OLDEST_OPSET:
        reason = f"got operator set {opset}, need {OLDEST_OPSET} or newer"
        raise NotApplicableError(reason)
    for site in list(fused_attention(model)) if fused else ():
        yield partial(read_fused, site, opset)
    infer_shapes(model)
    for node in list(ir.traversal.RecursiveGraphIterator(model.graph)):
        name = operator(node)
        if fused and name == PACKED_ATTENTION:
            yield partial(read_packed, node, opset)
        elif fused and name == GROUP_QUERY_ATTENTION:
            yield partial(read_group_query, node, opset)
        elif unfused and name == "Softmax":
            yield partial(read_unfused, node, opset)


def _replace(problem: AttentionProblem, outputs: "list[ir.Value]") -> None:
    import onnx_ir as ir

    node, graph = problem.node, problem.graph
    pairs = [
        # An operand may itself be an output: a value can't have two names.
        (before, problem.writer.op("Identity", after) if _is_outside(problem, after) else after)
        for before, after in zip(node.outputs, outputs[: len(node.outputs)], strict=True)
        if before.name
    ]
    old, new = [one for one, _ in pairs], [one for _, one in pairs]
    nodes = _needed(problem.writer.nodes, new)
    operands = [value for value in node.inputs if value is not None]
    ir.convenience.replace_nodes_and_values(graph, node, [node], nodes, old, new)
    _remove_unused(operands)


def _is_outside(problem: AttentionProblem, value: "ir.Value") -> bool:
    return value.producer() not in problem.writer.nodes


def _needed(nodes: "list[ir.Node]", results: "list[ir.Value]") -> "list[ir.Node]":
    """Return the nodes that results depend on, in their order, by subgraphs too."""
    import onnx_ir as ir

    needed = {id(value.producer()) for value in results}
    for node in reversed(nodes):
        if id(node) not in needed:
            continue
        inner = [node]
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                inner += list(ir.traversal.RecursiveGraphIterator(attribute.as_graph()))
                needed |= {id(one.producer()) for one in attribute.as_graph().outputs}
        needed |= {id(one.producer()) for each in inner for one in each.inputs if one is not None}
    unneeded = [node for node in nodes if id(node) not in needed]
    for node in reversed(unneeded):  # so that their inputs count as unused
        for index in range(len(node.inputs)):
            node.replace_input_with(index, None)
    return [node for node in nodes if id(node) in needed]


def _remove_unused(values: "list[ir.Value]") -> None:
    """Remove what made these values, where nothing uses them any more."""
    for value in values:
        node = value.producer()
        if value.is_initializer() and not (list(value.uses()) or value.is_graph_output()):
            if not value.is_graph_input() and value.graph is not None:
                value.graph.initializers.pop(value.name or "", None)
            continue
        if node is None or node.graph is None:
            continue
        if any(list(one.uses()) or one.is_graph_output() for one in node.outputs):
            continue
        inputs = [one for one in node.inputs if one is not None]
        node.graph.remove(node, safe=True)
        _remove_unused(inputs)
