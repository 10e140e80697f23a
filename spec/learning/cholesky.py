"""Symmetric positive definite systems, in plain Python (rule L3).

Inner products are summed exactly and rounded once (`math.fsum`), so the result depends neither on
the Python version's way of summing nor on a linear algebra library.
"""

from collections.abc import Sequence
from math import fsum, sqrt
from operator import mul

from attrs import frozen

from spec.errors import SpecError

Vector = tuple[float, ...]
Matrix = tuple[Vector, ...]


@frozen
class NotPositiveDefiniteError(SpecError):
    """A matrix cannot be factored: the penalty is too small for the rounding of its entries."""

    position: int
    pivot: float

    def __str__(self) -> str:
        return f"pivot {self.position}: got {self.pivot}, need above 0 (a larger penalty) (L3)"


def dot(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the inner product, summed exactly and rounded once."""
    return fsum(map(mul, left, right))


def factor(matrix: Sequence[Sequence[float]]) -> Matrix:
    """Return the lower triangular L with L Lt = matrix; row i has i + 1 entries.

    Raises `NotPositiveDefiniteError` if a pivot is not positive.
    """
    rows: list[Vector] = []
    for position, source in enumerate(matrix):
        row: list[float] = []
        for column in range(position):
            above = rows[column]
            row.append((source[column] - dot(row, above[:column])) / above[column])
        pivot = source[position] - dot(row, row)
        if not pivot > 0.0:
            raise NotPositiveDefiniteError(position, pivot)
        rows.append((*row, sqrt(pivot)))
    return tuple(rows)


def solve(lower: Matrix, right: Sequence[float]) -> Vector:
    """Return x with L Lt x = right, given the factor L."""
    forward: list[float] = []
    for row, value in zip(lower, right, strict=True):
        forward.append((value - dot(row[:-1], forward)) / row[-1])
    size = len(lower)
    result = [0.0] * size
    for position in reversed(range(size)):
        below = [lower[later][position] for later in range(position + 1, size)]
        rest = forward[position] - dot(below, result[position + 1 :])
        result[position] = rest / lower[position][position]
    return tuple(result)


def inverse_factor_columns(lower: Matrix) -> Matrix:
    """Return the columns of the inverse of L; column j starts at row j.

    The inverse of L Lt then has at (i, j) the inner product of the two columns' common part.
    """
    size = len(lower)
    columns: list[Vector] = []
    for start in range(size):
        column = [1.0 / lower[start][start]]
        for row in range(start + 1, size):
            column.append(-dot(lower[row][start:row], column) / lower[row][row])
        columns.append(tuple(column))
    return tuple(columns)


def inverse_entry(columns: Matrix, row: int, column: int) -> float:
    """Return one entry of the inverse of L Lt from the columns of the inverse of L."""
    first, last = min(row, column), max(row, column)
    return dot(columns[first][last - first :], columns[last])
