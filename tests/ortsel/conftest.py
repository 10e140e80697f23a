"""What tests of any part of the shell share."""

from collections.abc import Callable

import pytest

from ortsel.background.snapshots import SNAPSHOTS, Snapshot


@pytest.fixture
def newly_held_bytes() -> Callable[[], int]:
    """Return what copies made since the test began take.

    Older ones belong to sessions of other tests, which the collector ends whenever it likes.
    """
    older = living_snapshots()  # kept alive, so that no new one can be taken for one of them

    def held_bytes() -> int:
        new = [one for one in living_snapshots() if all(one is not other for other in older)]
        return sum(one.size_bytes for one in new)

    return held_bytes


def living_snapshots() -> list[Snapshot]:
    """Return the snapshots of this process."""
    found = [reference() for reference in list(SNAPSHOTS._alive.values())]
    return [snapshot for snapshot in found if snapshot is not None]
