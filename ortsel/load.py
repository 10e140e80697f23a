"""How calls follow each other. What wins back to back may lose where threads sleep in between."""

from typing import Final

from attrs import frozen

from ortsel.errors import UsageError

BACK_TO_BACK: Final = "back-to-back"
MOST_GAP_MS: Final = 10_000
"""A measurement has at least one gap, and a decision some thirty measurements for each plan."""
_NS: Final = 1_000_000


@frozen
class Load:
    """A load regime: part of the workload, and so of the key."""

    gap_ns: int = 0
    """From the end of a call to the begin of the next; 0 is back to back."""

    def part(self) -> str:
        """Return the regime as a part of a key: one call at a time, or with so long between."""
        return f"gap {self._length()}" if self.gap_ns else "alone"

    def words(self) -> str:
        """Return the regime for people; nothing for the ordinary one."""
        return f"a call {self._length()} after the other" if self.gap_ns else ""

    def _length(self) -> str:
        whole = self.gap_ns % _NS == 0
        return f"{self.gap_ns // _NS}ms" if whole else f"{self.gap_ns}ns"


def as_load(value: object) -> Load:
    """Return the regime that "back-to-back" or a gap in milliseconds stands for.

    Raises `UsageError` for anything else.
    """
    if isinstance(value, Load):
        return value
    if value == BACK_TO_BACK:
        return Load()
    if isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= MOST_GAP_MS:
        return Load(round(value * _NS))
    need = f'"{BACK_TO_BACK}" or a gap in milliseconds from 1 to {MOST_GAP_MS}'
    raise UsageError("load", repr(value), need)


ONE_AFTER_ANOTHER: Final = Load()
"""Back to back: the regime unless told otherwise."""
