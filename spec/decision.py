"""The answer to a selection request."""

from enum import Enum
from fractions import Fraction

from attrs import frozen


class Source(Enum):
    """Which rule answered (S2). Everything but the first three answers with the reference."""

    TUNED = "tuned"
    """Measured for this request just now."""
    MEMORY = "memory"
    """Decided earlier in this process."""
    STORED = "stored"
    """Decided elsewhere or earlier, validated once in this process."""
    DISABLED = "disabled"
    BYPASSED = "bypassed"
    """The reference could not be measured or verified, or the search ended without evidence."""
    NESTED = "nested"
    """Asked from inside a trial."""
    BUSY = "busy"
    CACHE_MISS = "cache-miss"
    """Mode cache-only, and no usable record."""


@frozen
class Decision:
    """Which candidate to use, and why it may be trusted."""

    index: int
    reference_index: int
    name: str
    source: Source
    verified: bool
    """True only after a validator passed it; a successful launch proves nothing."""
    ratio: Fraction | None
    """Winner over reference as measured; None where nothing was measured."""
    key: str
    reason: str = ""
