"""Reading the chain product, softmax, product as an attention problem.

Only what is sure to be elementwise on the scores may stand between, and nothing else may use what
stands there. Whatever else is found is refused: half a chain is no attention.
"""

from typing import TYPE_CHECKING, Final

from ortsel.graph_variants.attention_problem import (
    Added,
    AttentionProblem,
    Chosen,
    Elementwise,
    Layout,
    Step,
    Tensor,
)
from ortsel.graph_variants.node_writer import NodeWriter
from ortsel.graph_variants.variant import NotApplicableError, operator

if TYPE_CHECKING:
    import onnx_ir as ir

FUSED_PRODUCT: Final = "com.microsoft::FusedMatMul"
PRODUCTS: Final = frozenset({"MatMul", FUSED_PRODUCT})
ELEMENTWISE: Final = frozenset({"Add", "Sub", "Mul", "Div", "Where", "Tanh", "Max", "Min", "Clip"})
RANKS: Final = (3, 4)
ROWS_FIRST: Final = (0, 1, 3, 2)
TOKENS_FIRST: Final = (0, 2, 3, 1)
LONGEST: Final = 12
"""Operators between product and softmax."""


def read_unfused(softmax: "ir.Node", opset: int) -> AttentionProblem:
    """Return the problem around a softmax. Raises `NotApplicableError` with the reason."""
    import onnx_ir as ir

    guarded = _without_nan(softmax.outputs[0])
    values = _value_product(softmax, softmax.outputs[0] if guarded is None else guarded)
    scores, steps, factor, between = _score_product(softmax)
    query, query_factor = _without_factor(scores.inputs[0])
    key, key_factor = _key(scores)
    value = _tensor(values.inputs[1], "value")
    if query.rank != key.rank or query.rank != value.rank:
        raise NotApplicableError("query, key and value differ in rank")
    if any(one.value.dtype != ir.DataType.FLOAT for one in (query, key, value)):
        reason = f"got operands of type {query.value.dtype}, need FLOAT"
        raise NotApplicableError(reason)
    writer = NodeWriter(values.outputs[0].name or "", opset)
    return AttentionProblem(
        "unfused",
        values,
        writer,
        query,
        key,
        value,
        factor * query_factor * key_factor * _alpha(scores) * _alpha(values),
        steps,
        masked_rows_are_zero=guarded is not None,
        result=Tensor(values.outputs[0], Layout.HEADS_FIRST, _heads(values.outputs[0]), query.rank),
        chain=(scores, *between, softmax, *_guards(softmax, guarded), values),
    )


def _guards(softmax: "ir.Node", guarded: "ir.Value | None") -> "tuple[ir.Node, ...]":
    """Return the nodes that put 0 in the place of NaN, where there are any."""
    if guarded is None:
        return ()
    return tuple(use.node for use in softmax.outputs[0].uses())


def _without_nan(probabilities: "ir.Value") -> "ir.Value | None":
    """Return probabilities with 0 for NaN, which exporters write for rows that see no key."""
    users = {operator(use.node): use.node for use in probabilities.uses()}
    test, choice = users.get("IsNaN"), users.get("Where")
    if probabilities.is_graph_output() or test is None or choice is None:
        return None
    if len(list(probabilities.uses())) != len(users) or users.keys() != {"IsNaN", "Where"}:
        return None
    condition, zero, kept = choice.inputs
    if condition is not test.outputs[0] or kept is not probabilities or zero is None:
        return None
    alone = len(list(test.outputs[0].uses())) == 1 and not test.outputs[0].is_graph_output()
    return choice.outputs[0] if alone and _scalar(zero) == 0.0 else None


def _value_product(softmax: "ir.Node", probabilities: "ir.Value") -> "ir.Node":
    uses = list(probabilities.uses())
    if len(uses) != 1 or probabilities.is_graph_output():
        raise NotApplicableError("its probabilities are used elsewhere")
    product, position = uses[0].node, uses[0].idx
    if operator(product) not in PRODUCTS or position != 0:
        reason = f"its probabilities go into {operator(product)}, not a product"
        raise NotApplicableError(reason)
    if operator(product) == FUSED_PRODUCT and (
        any(product.attributes.get_int(name, 0) for name in (*_OTHER_TRANSPOSITIONS, "transB"))
        or _alpha(product) != 1.0
    ):
        raise NotApplicableError("its product with values is transposed or scaled")
    if product.graph is not softmax.graph:
        raise NotApplicableError("it spans subgraphs")
    return product


_OTHER_TRANSPOSITIONS: Final = ("transA", "transBatchA", "transBatchB")


def _alpha(product: "ir.Node") -> float:
    return product.attributes.get_float("alpha", 1.0) if product.domain else 1.0


def _score_product(
    softmax: "ir.Node",
) -> "tuple[ir.Node, tuple[Step, ...], float, tuple[ir.Node, ...]]":
    """Return the product before a softmax, what is done to it, and the factor right after it.

    The last are the nodes between the two.
    """
    value, steps = softmax.inputs[0], list[Step]()
    between: list[ir.Node] = []
    rank = _rank(softmax.outputs[0]) or _rank(softmax.inputs[0])
    axis = softmax.attributes.get_int("axis", -1)
    if rank not in RANKS or axis not in {-1, rank - 1}:
        raise NotApplicableError("its softmax is over another axis than the last of 3 or 4")
    while value is not None and len(steps) < LONGEST:
        node = value.producer()
        if node is None or node.graph is not softmax.graph:
            break
        if len(list(value.uses())) > 1 or value.is_graph_output():
            raise NotApplicableError("its scores are used elsewhere")
        if operator(node) in PRODUCTS:
            if any(node.attributes.get_int(name, 0) for name in _OTHER_TRANSPOSITIONS):
                break
            factor, steps = _leading_factor(list(reversed(steps)))
            return node, tuple(steps), factor, tuple(reversed(between))
        position = _scores_of(node, rank)
        if position is None:
            break
        steps.append(_step(node, position))
        between.append(node)
        value = node.inputs[position]
    raise NotApplicableError("its scores are no product of query and keys, as far as can be seen")


def _step(node: "ir.Node", position: int) -> Step:
    if operator(node) == "Add":
        return Added(_other(node, position))
    if operator(node) == "Where" and position > 0:
        condition, hidden = node.inputs[0], node.inputs[3 - position]
        if condition is not None and hidden is not None and _scalar(hidden) == float("-inf"):
            return Chosen(condition, scores_if=position == 1)
    return Elementwise(node, position)


def _scores_of(node: "ir.Node", rank: int) -> int | None:
    """Return which input of an elementwise operator the scores are: the one made by a product."""
    if operator(node) not in ELEMENTWISE:
        return None
    for position, value in enumerate(node.inputs):
        if value is not None and _rank(value) == rank and _leads_to_product(value):
            others = [one for index, one in enumerate(node.inputs) if index != position]
            known = all(one is None or (_rank(one) or 0) <= rank for one in others)
            return position if known and all(map(_has_rank, others)) else None
    return None


def _leads_to_product(value: "ir.Value") -> bool:
    for _ in range(LONGEST):
        node = value.producer()
        if node is None:
            return False
        if operator(node) in PRODUCTS:
            return True
        if operator(node) not in ELEMENTWISE:
            return False
        following = [
            one
            for one in node.inputs
            if one is not None and one.producer() is not None and _rank(one) == _rank(value)
        ]
        products = [one for one in following if _leads_to_product(one)]
        if not products:
            return False
        value = products[0]
    return False


def _leading_factor(steps: list[Step]) -> tuple[float, list[Step]]:
    """Return the product of the constants that come first, and what follows them."""
    factor = 1.0
    while steps and isinstance(steps[0], Elementwise):
        one = _factor(steps[0].node, steps[0].position)
        if one is None:
            break
        factor *= one
        steps = steps[1:]
    return factor, steps


def _factor(node: "ir.Node", position: int) -> float | None:
    """Return what a multiplication or division by a constant multiplies with."""
    if operator(node) == "Mul":
        return _scalar(_other(node, position))
    if operator(node) == "Div" and position == 0:
        divisor = _scalar(_other(node, position))
        return 1 / divisor if divisor else None
    return None


def _other(node: "ir.Node", position: int) -> "ir.Value":
    other = node.inputs[1 - position]
    assert other is not None, "an operator of two operands"
    return other


def _without_factor(value: "ir.Value | None") -> tuple[Tensor, float]:
    """Return an operand without the constants that it is multiplied with, and their product."""
    factor = 1.0
    while value is not None and (node := value.producer()) is not None:
        found = None
        for position in range(2):
            if operator(node) in {"Mul", "Div"}:
                found = found or ((position, one) if (one := _factor(node, position)) else None)
        if found is None:
            break
        factor *= found[1]
        value = node.inputs[found[0]]
    return _tensor(value, "operand"), factor


def _key(scores: "ir.Node") -> tuple[Tensor, float]:
    """Return the keys of a product, before they were transposed and scaled."""
    tensor, factor = _without_factor(scores.inputs[1])
    transposed = scores.attributes.get_int("transB", 0)
    if scores.domain and transposed:
        return tensor, factor
    node = tensor.value.producer()
    if node is not None and operator(node) == "Transpose" and node.inputs[0] is not None:
        permutation = tuple(node.attributes.get_ints("perm", ()))
        rows_first = permutation == (*range(tensor.rank - 2), tensor.rank - 1, tensor.rank - 2)
        if rows_first or permutation == TOKENS_FIRST:
            inner, inner_factor = _without_factor(node.inputs[0])
            layout = Layout.HEADS_FIRST if rows_first else Layout.TOKENS_FIRST
            heads = _axis(inner.value, 1 if rows_first else 2)
            return Tensor(inner.value, layout, heads, tensor.rank), factor * inner_factor
    return Tensor(tensor.value, Layout.KEYS_LAST, tensor.heads, tensor.rank), factor


def _tensor(value: "ir.Value | None", name: str) -> Tensor:
    rank = None if value is None else _rank(value)
    if value is None or rank not in RANKS or rank is None:
        reason = f"got a {name} of rank {rank or '?'}, need 3 or 4"
        raise NotApplicableError(reason)
    return Tensor(value, Layout.HEADS_FIRST, _heads(value), rank)


def _heads(value: "ir.Value") -> int | None:
    return _axis(value, 1) if _rank(value) == max(RANKS) else None


def _axis(value: "ir.Value", axis: int) -> int | None:
    size = None if value.shape is None else value.shape[axis]
    return size if isinstance(size, int) else None


def _rank(value: "ir.Value | None") -> int | None:
    return None if value is None or value.shape is None else len(value.shape)


def _has_rank(value: "ir.Value | None") -> bool:
    return value is None or value.shape is not None


def _scalar(value: "ir.Value") -> float | None:
    """Return the number that a constant of one element holds."""
    import onnx_ir as ir

    tensor = ir.convenience.get_const_tensor(value)
    if tensor is None or tensor.size != 1 or tensor.dtype != ir.DataType.FLOAT:
        return None
    if len(tensor.shape) > min(RANKS) or value.is_graph_input():
        return None
    return float(tensor.numpy().reshape(()))
