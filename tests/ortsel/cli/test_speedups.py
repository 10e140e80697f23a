"""The least speed-up on the command line."""

from fractions import Fraction

import pytest

from ortsel.cli.speedups import parse_speedup


@pytest.mark.parametrize(
    ("text", "exact"), [("1", (1, 1)), ("1.03", (103, 100)), ("1000", (1000, 1))]
)
def test_a_speedup_is_read_exactly(text: str, exact: tuple[int, int]) -> None:
    assert parse_speedup(text) == Fraction(*exact)


@pytest.mark.parametrize("text", ["", "0.99", "1000.1", "-2", "nan", "1e2", "3/2", "x", "1_0"])
def test_a_speedup_outside_of_the_policy_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="number from 1 to 1000"):
        parse_speedup(text)
