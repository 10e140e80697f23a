"""Lists of sizes with an ellipsis: `[16, 32, 64, ..., 512]`.

The numbers before the ellipsis begin a progression, arithmetic (equal differences) or geometric
(equal ratios). The one number after it ends the list and must be reached exactly. Two numbers begin
one of each: the one that reaches the end is meant, and where both do, a third number must say.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Final

from attrs import frozen

from ortsel.errors import OrtselError

ELLIPSIS: Final = "..."
MOST_SIZES: Final = 4096
"""Sizes that one list may stand for."""
_BEGINNING: Final = 2
"""Numbers that a progression needs at least; two of them begin one of either kind."""


@frozen
class ProgressionError(OrtselError):
    """A list with an ellipsis stands for nothing, or for more than one thing."""

    got: str
    need: str

    def __str__(self) -> str:
        return f"got {self.got}, need {self.need}"


def expand(items: Sequence[int | str]) -> tuple[int, ...]:
    """Return the sizes that a list of numbers and at most one `ELLIPSIS` stands for.

    Raises `ProgressionError`.
    """
    shown = f"[{', '.join(str(item) for item in items)}]"
    numbers = [item for item in items if isinstance(item, int)]
    if len(numbers) == len(items):
        return tuple(numbers)
    if len(items) - len(numbers) > 1:
        raise ProgressionError(shown, "one ellipsis at most")
    if items[-1] == ELLIPSIS or items[-2] != ELLIPSIS:
        raise ProgressionError(shown, "exactly one number after the ellipsis, which ends the list")
    *start, end = numbers
    if len(start) < _BEGINNING:
        raise ProgressionError(shown, "two numbers or more before the ellipsis")
    return _continued(start, end, shown)


def _continued(start: Sequence[int], end: int, shown: str) -> tuple[int, ...]:
    steps = {second - first for first, second in pairwise(start)}
    factors = (
        {Fraction(second, first) for first, second in pairwise(start)} if all(start) else set()
    )
    if 0 in steps:
        raise ProgressionError(shown, "numbers before the ellipsis that differ")
    meant: dict[str, Callable[[int], Fraction]] = {}
    if len(steps) == 1:
        step = steps.pop()
        meant[f"in steps of {step}"] = lambda size: Fraction(size + step)
    if len(factors) == 1:
        factor = factors.pop()
        meant[f"by a factor of {factor}"] = lambda size: size * factor
    if not meant:
        need = "equal differences or equal ratios between the numbers before the ellipsis"
        raise ProgressionError(shown, need)
    reached = [sizes for follow in meant.values() if (sizes := _reach(start, end, follow, shown))]
    if not reached:
        raise ProgressionError(shown, f"an end beyond {start[-1]} reached {' or '.join(meant)}")
    if len(reached) > 1:
        third = " or ".join(str(sizes[len(start)]) for sizes in reached)
        raise ProgressionError(shown, f"a third number, {third}: {end} is reached {_both(meant)}")
    return reached[0]


def _both(meant: Iterable[str]) -> str:
    return " and ".join(meant)


def _reach(
    start: Sequence[int], end: int, follow: Callable[[int], Fraction], shown: str
) -> tuple[int, ...]:
    """Return the numbers from the first to the end; nothing where the end is not among them."""
    sizes = list(start)
    rises = start[1] > start[0]
    while sizes[-1] != end and (sizes[-1] < end) == rises:
        following = follow(sizes[-1])
        if following.denominator != 1:
            return ()
        if len(sizes) >= MOST_SIZES:
            raise ProgressionError(shown, f"at most {MOST_SIZES} sizes")
        sizes.append(int(following))
    return tuple(sizes) if sizes[-1] == end and len(sizes) > len(start) else ()
