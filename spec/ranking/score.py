"""The five weighted terms of a score, each an exact share from 0 to 1 (rules R4 to R10)."""

from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Final

from attrs import field, frozen

from spec.errors import InvalidValue
from spec.ranking.bounds import unit_interval
from spec.ranking.history import Usage
from spec.ranking.kernel import SizeRange

ZERO = Fraction(0)
ONE = Fraction(1)
NEUTRAL = Fraction(1, 2)
"""What stands where nothing is known: neither praise nor blame."""


@frozen
class Weights:
    """How much each term counts. They sum to 1, so that the score lies in [0, 1] (R10)."""

    execution_time: Fraction = field(default=Fraction(2, 5), validator=unit_interval("R10"))
    memory: Fraction = field(default=Fraction(1, 5), validator=unit_interval("R10"))
    cache_efficiency: Fraction = field(default=Fraction(1, 5), validator=unit_interval("R10"))
    history: Fraction = field(default=Fraction(3, 20), validator=unit_interval("R10"))
    switching: Fraction = field(default=Fraction(1, 20), validator=unit_interval("R10"))

    @cached_property
    def in_parts(self) -> tuple[int, tuple[int, ...]]:
        """A common denominator, and each weight's numerator over it, in the order of `Terms`."""
        weights = (
            self.execution_time,
            self.memory,
            self.cache_efficiency,
            self.history,
            self.switching,
        )
        whole = lcm(*(weight.denominator for weight in weights))
        return whole, tuple(int(weight * whole) for weight in weights)

    def __attrs_post_init__(self) -> None:
        total = (
            self.execution_time
            + self.memory
            + self.cache_efficiency
            + self.history
            + self.switching
        )
        if total != 1:
            raise InvalidValue("weights", f"a sum of {total}", "a sum of 1", "R10")


@frozen
class Terms:
    """The five terms of one kernel, each from 0 (bad) to 1 (good)."""

    execution_time: Fraction
    memory: Fraction
    cache_efficiency: Fraction
    history: Fraction
    switching: Fraction

    def __attrs_post_init__(self) -> None:
        # One look at all five, since a ranking makes many; the rule is named where it breaks.
        for name, rule in _RULES:
            value = getattr(self, name)
            if type(value) is not Fraction or not 0 <= value.numerator <= value.denominator:
                raise InvalidValue(name, repr(value), "a Fraction from 0 to 1", rule)


_RULES: Final = (
    ("execution_time", "R4"),
    ("memory", "R5"),
    ("cache_efficiency", "R6"),
    ("history", "R7"),
    ("switching", "R9"),
)


def score(terms: Terms, weights: Weights) -> Fraction:
    """Return the weighted sum of the terms, from 0 to 1 (R10)."""
    whole, shares = weights.in_parts
    values = (
        terms.execution_time,
        terms.memory,
        terms.cache_efficiency,
        terms.history,
        terms.switching,
    )
    numerator, denominator = 0, 1
    for share, value in zip(shares, values, strict=True):
        times, parts = value.as_integer_ratio()
        numerator = numerator * parts + share * times * denominator
        denominator *= parts
    return Fraction(numerator, denominator * whole)


def priority(total: Fraction, tries: int, exploration: Fraction) -> Fraction:
    """Return (1 - f) * score + f / (1 + tries), f the share of exploration (R11).

    Reduced once at the end, which is most of the cost; so is `score`.
    """
    part, whole = exploration.as_integer_ratio()
    over, under = total.as_integer_ratio()
    turns = 1 + tries
    return Fraction((whole - part) * over * turns + part * under, whole * under * turns)


def share_of_unit(amount: Fraction | int, unit: Fraction | int) -> Fraction:
    """Return unit / (unit + amount): 1 for nothing, 1/2 for one unit, towards 0 (R4, R5).

    Raises `InvalidValue` (R4) for a negative amount or a unit of 0 or less.
    """
    # The sign of a fraction is its numerator's, and whole numbers compare faster.
    if amount.numerator < 0 or unit.numerator <= 0:
        raise InvalidValue("amount", f"{amount} of {unit}", "amount >= 0 and unit > 0", "R4")
    part = unit.numerator * amount.denominator
    return Fraction(part, part + amount.numerator * unit.denominator)


def cache_term(cache_efficiency: Fraction, optimal: SizeRange, size_bytes: int) -> Fraction:
    """Return the stated efficiency, reduced by how far the size is out of the optimal range (R6).

    Inside the range it is the efficiency itself; below, times size / lower end; above, times upper
    end / size. An upper end of 0 leaves 0 for every size above it.
    """
    if size_bytes < optimal.at_least_bytes:
        return cache_efficiency * Fraction(size_bytes, optimal.at_least_bytes)
    if optimal.at_most_bytes is not None and size_bytes > optimal.at_most_bytes:
        return cache_efficiency * Fraction(optimal.at_most_bytes, size_bytes)
    return cache_efficiency


def history_term(usage: Usage | None, recency: Fraction) -> Fraction:
    """Return 1/2 + (success rate - 1/2) * recency; 1/2 for a kernel never tried here (R7).

    Forgetting leads back to not knowing: an old success is worth no less than no trial, and an old
    failure no more than that.
    """
    if usage is None:
        return NEUTRAL
    surplus = 2 * usage.latency.count - usage.trials
    whole = usage.trials * recency.denominator
    return Fraction(whole + surplus * recency.numerator, 2 * whole)


def confidence(usage: Usage | None, recency: Fraction) -> Fraction:
    """Return s*r / (n*r + 1) for s successes in n tries of recency r; 0 for no try (R13).

    One imagined undecided try stands against the real ones: four fresh successes give 4/5.
    """
    if usage is None:
        return ZERO
    return Fraction(
        usage.latency.count * recency.numerator,
        usage.trials * recency.numerator + recency.denominator,
    )


def switching_term(kernel_id: str, served: str | None) -> Fraction:
    """Return 0 if serving this kernel would replace the served plan, else 1 (R9)."""
    return ONE if served is None or served == kernel_id else ZERO
