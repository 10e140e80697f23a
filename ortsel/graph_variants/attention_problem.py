"""One place where a model computes attention, in the terms that every rewrite shares.

Readers make it out of an operator or a chain of operators; rewrites make other operators out of it.
So a rewrite knows no source, and a source no rewrite.
"""

from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from attrs import frozen

from ortsel.graph_variants.node_writer import NodeWriter

if TYPE_CHECKING:
    import onnx_ir as ir


RANK_WITH_HEADS: Final = 4


class Layout(Enum):
    """How an operand lies in memory."""

    FLAT = "batch, tokens, heads * size"
    HEADS_FIRST = "batch, heads, tokens, size"
    """Also what has any other axes before the tokens."""
    TOKENS_FIRST = "batch, tokens, heads, size"
    KEYS_LAST = "batch, heads, size, tokens"


@frozen(eq=False)
class Tensor:
    """An operand or the result of attention."""

    value: "ir.Value"
    layout: Layout
    heads: int | None
    """None where the layout has them as an axis of a size that need not be known."""
    rank: int

    @property
    def tokens_axis(self) -> int:
        """The axis of tokens, from the front."""
        if self.layout in {Layout.FLAT, Layout.TOKENS_FIRST}:
            return 1
        return self.rank - (1 if self.layout is Layout.KEYS_LAST else 2)

    @property
    def tokens(self) -> int | None:
        """How many tokens, None where the graph leaves it open."""
        shape = self.value.shape
        size = None if shape is None else shape[self.tokens_axis]
        return size if isinstance(size, int) else None


@frozen(eq=False)
class Capped:
    """limit * tanh(scores / limit)."""

    limit: float


@frozen(eq=False)
class Added:
    """scores + value, broadcast from the right."""

    value: "ir.Value"


@frozen(eq=False)
class Chosen:
    """Scores where a condition has one value, and minus infinity elsewhere."""

    condition: "ir.Value"
    scores_if: bool


@frozen(eq=False)
class Causal:
    """Minus infinity for keys after the query; a query is at its row plus the offset."""

    offset: "ir.Value | None"
    """Of shape (1,) or (batch, 1, 1, 1), 64-bit integers; None is 0."""


@frozen(eq=False)
class Lengths:
    """Minus infinity for keys from a length on: 64-bit integers, (batch, 1, 1, 1)."""

    value: "ir.Value"


@frozen(eq=False)
class Elementwise:
    """Any other operator on the scores whose other inputs are broadcast from the right."""

    node: "ir.Node"
    position: int
    """Of the scores among the inputs."""


Step: TypeAlias = Capped | Added | Chosen | Causal | Lengths | Elementwise


@frozen(eq=False)
class AttentionProblem:
    """softmax(steps(scale * query key')) value, over float32."""

    source: str
    """The operator that it was read from, or "unfused"."""
    node: "ir.Node"
    """The node whose outputs are replaced."""
    writer: NodeWriter
    """Has written what the operands need; rewrites go on with it."""
    query: Tensor
    key: Tensor
    """With the cache, where there is one."""
    value: Tensor
    scale: float
    steps: tuple[Step, ...]
    masked_rows_are_zero: bool
    """Whether a row without any visible key gives 0; otherwise NaN, as softmax does."""
    result: Tensor
    past: "tuple[ir.Value, ir.Value] | None" = None
    """Cached keys and values, heads first, that `key` and `value` begin with."""
    new: tuple[Tensor, Tensor] | None = None
    """Keys and values without the cache."""
    presents: "tuple[ir.Value, ...]" = ()
    """What stands for the node's outputs after the result: keys and values with the cache."""
    chain: "tuple[ir.Node, ...]" = ()
    """Of a chain of operators, all of them: product of query and keys, to product with values."""

    @property
    def group(self) -> int:
        """How many heads of the query share one of the keys."""
        return (self.query.heads or 1) // (self.key.heads or 1)

    @property
    def rank(self) -> int:
        """Of operands with their heads first, and of scores."""
        return self.query.rank if self.query.layout is Layout.HEADS_FIRST else RANK_WITH_HEADS

    @property
    def graph(self) -> "ir.Graph | ir.Function":
        """The graph that it is in."""
        assert self.node.graph is not None, "read from a graph"
        return self.node.graph


def same_tokens(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors are sure to have as many tokens, by a number or a name in the graph."""
    sizes = [
        None if one.value.shape is None else one.value.shape[one.tokens_axis]
        for one in (first, second)
    ]
    if any(size is None or (not isinstance(size, int) and size.value is None) for size in sizes):
        return False
    return sizes[0] == sizes[1]
