"""How far outputs may be, as a spec and a task write it: a word, or a metric and its number."""

from typing import Final

from ortsel.errors import UsageError
from ortsel.verification.metrics import Cosine, RelativeL2, TopOne
from ortsel.verification.tolerance import Tolerance, as_tolerance

BY_TYPE: Final = "by-type"
WORDS: Final = (BY_TYPE, "exact", "close")
METRICS: Final = ("cosine", "top_one", "relative_l2")
NEED: Final = "by-type, exact, close, or one of cosine, top_one, relative_l2 with a number"


def tolerance_of(text: str) -> Tolerance:
    """Return the tolerance that a word, or `METRIC=NUMBER`, stands for. Raises `UsageError`."""
    metric, equals, number = text.partition("=")
    if not equals:
        if text in WORDS:
            return as_tolerance(text)
        raise UsageError("tolerance", repr(text), NEED)
    try:
        limit = float(number)
    except ValueError as error:
        raise UsageError("tolerance", repr(number), "a number from 0 to 1") from error
    match metric:
        case "cosine":
            return as_tolerance(Cosine(limit))
        case "top_one":
            return as_tolerance(TopOne(limit))
        case "relative_l2":
            return as_tolerance(RelativeL2(limit))
        case _:
            raise UsageError("tolerance", repr(metric), NEED)
