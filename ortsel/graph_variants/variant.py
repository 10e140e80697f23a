"""A graph variant: a rewrite of a model, with what it needs and what it must have done."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from attrs import frozen

if TYPE_CHECKING:
    import onnx_ir as ir

Census: TypeAlias = Counter[str]
"""How many nodes there are of each operator, subgraphs and local functions included. Operators are
named `MatMul` or `com.microsoft::Attention`."""

Rewrite: TypeAlias = "Callable[[ir.Model], ir.Model]"
"""Changes a model that was loaded for it alone, and returns it or a new one. Raises
`NotApplicableError` where there is nothing to do or where equality can't be kept."""


class NotApplicableError(Exception):
    """The variant does not apply or broke a condition; callers see `VariantRefusedError`."""


@frozen
class GraphVariant:
    """One rewrite under a stable name."""

    name: str
    summary: str
    packages: tuple[str, ...]
    """Packages that the rewrite imports, beyond ortsel's own dependencies."""
    rewrite: Rewrite
    ensures: Callable[[Census, Census], str]
    """Given the census before and after, what the rewrite failed to do; empty if nothing. Rewriters
    report success by a flag that nobody checks: this is the check."""
    lossy: bool = False
    """Whether results are near the original's rather than equal; never offered unasked."""


def all_nodes(model: "ir.Model") -> "Iterator[ir.Node]":
    """Yield every node of a model, subgraphs and local functions included."""
    import onnx_ir as ir

    bodies: tuple[ir.Graph | ir.Function, ...] = (model.graph, *model.functions.values())
    for body in bodies:
        yield from ir.traversal.RecursiveGraphIterator(body)


def operator(node: "ir.Node") -> str:
    """Return an operator's name with its domain, as a census has it."""
    return node.op_type if node.domain in {"", "ai.onnx"} else f"{node.domain}::{node.op_type}"


def take_census(model: "ir.Model") -> Census:
    """Return how many nodes there are of each operator."""
    return Counter(operator(node) for node in all_nodes(model))
