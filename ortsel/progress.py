"""What a search reports while it runs, for progress bars and logs."""

from enum import Enum

from attrs import frozen


class Stage(Enum):
    """What is going on with a candidate."""

    SCREENING = "looking at"
    VALIDATING = "validating"
    WARMING = "warming up"
    MEASURING = "measuring"
    CHECKING = "checking before serving"


@frozen
class Progress:
    """One step of a search."""

    stage: Stage
    candidate: str
    position: int
    """Index of the candidate in the order in which they are tried."""
    total: int
    """Number of candidates, the reference included."""
    measurements: int
    """Measurements made so far in this search."""
    elapsed_ns: int
    budget_ns: int
